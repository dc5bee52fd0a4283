import {
  type Attributes,
  context,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import { checkObject, known, refuseUnknown } from "../checks.js";
import type { Around, AroundHold } from "../index.js";
import {
  ERROR_TYPE,
  errorMessage,
  errorType,
  HOLDER,
  LOCK_KIND,
  LOCK_NAME,
  NOTE,
  TOKEN,
} from "./attributes.js";
import { neverThrowing, tellFailure } from "./listening.js";
import { openSpans } from "./open-spans.js";
import { tracerOf } from "./tracers.js";

/** How to make spans around bodies. */
export interface AroundHoldsOptions {
  /** Default: the global provider. */
  readonly tracerProvider?: TracerProvider;
}

const AROUND_OPTIONS = known<AroundHoldsOptions>("option", "aroundHolds", { tracerProvider: true });

/**
 * A span `holdfast hold` around each body of `using`, `tryUsing` and `run`, for the option `around` of a client: spans of the body are its
 * children. The span reports the loss of the lease. Errors of the SDK do not reach the body.
 *
 * @example
 * const holdfast = new Holdfast(driver, { around: aroundHolds() });
 * @throws TypeError
 */
export function aroundHolds(options: AroundHoldsOptions = {}): Around {
  checkObject("options", options);
  const { tracerProvider, ...unknown } = options;
  refuseUnknown(AROUND_OPTIONS, unknown);
  openSpans.listen();
  return (hold, body) => {
    const span = spanOf(hold, tracerProvider);
    if (span === undefined) return body();
    openSpans.add(hold, span);
    let result: ReturnType<typeof body>;
    try {
      result = inSpan(span, body);
    } catch (error) {
      end(hold, span, { error });
      throw error;
    }
    if (isThenable(result)) {
      result.then(
        () => end(hold, span),
        (error: unknown) => end(hold, span, { error }),
      );
    } else end(hold, span);
    return result;
  };
}

function spanOf(hold: AroundHold, provider: TracerProvider | undefined): Span | undefined {
  try {
    const attributes = attributesOf(hold);
    return tracerOf(provider).startSpan("holdfast hold", { kind: SpanKind.INTERNAL, attributes });
  } catch (error) {
    tellFailure("the span of a hold", error);
    return undefined;
  }
}

function attributesOf({ name, kind, holder, token, note }: AroundHold): Attributes {
  const attributes: Attributes = {};
  attributes[LOCK_NAME] = name;
  attributes[LOCK_KIND] = kind;
  attributes[HOLDER] = holder;
  if (token !== undefined) attributes[TOKEN] = String(token);
  if (note !== undefined) attributes[NOTE] = note;
  return attributes;
}

/** If the context manager fails before it calls the body, the body runs without it. */
function inSpan<T>(span: Span, body: () => T): T {
  let hasBegun = false;
  try {
    return context.with(trace.setSpan(context.active(), span), () => {
      hasBegun = true;
      return body();
    });
  } catch (error) {
    if (hasBegun) throw error;
    tellFailure("the context of a hold", error);
    return body();
  }
}

const end = (hold: AroundHold, span: Span, failed?: { readonly error: unknown }): void => {
  openSpans.delete(hold, span);
  endSafely({ span, failed });
};

const endSafely = neverThrowing<{ span: Span; failed: { readonly error: unknown } | undefined }>(
  "the end of a hold's span",
  ({ span, failed }) => {
    if (failed !== undefined) {
      const { error } = failed;
      span.setAttribute(ERROR_TYPE, errorType(error));
      span.setStatus({ code: SpanStatusCode.ERROR, message: errorMessage(error) });
    }
    span.end();
  },
);

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === "function";
}
