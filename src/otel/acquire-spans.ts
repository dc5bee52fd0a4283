import { AsyncLocalStorage } from "node:async_hooks";
import { type Attributes, context, SpanKind, SpanStatusCode, type TracerProvider } from "@opentelemetry/api";
import { type AcquireEvent, type ContendedEvent, events } from "../events.js";
import {
  ATTEMPTS,
  BEHIND,
  CLIENT_ID,
  ERROR_TYPE,
  errorMessage,
  errorType,
  HOLD_COUNT,
  HOLDER,
  LOCK_KIND,
  LOCK_NAME,
  NOTE,
  OUTCOME,
  PERMITS,
  SEEN_HOLDER,
  SERVER,
  TOKEN,
  VIA,
  WAITED_MS,
} from "./attributes.js";
import type { Settings } from "./config.js";
import type { Listening } from "./listening.js";
import { tracerOf } from "./tracers.js";

/** A call as its event tells it at its end. */
type Ended = AcquireEvent & { readonly error?: unknown };

/**
 * Makes a span of a call when it has ended, as only then it is known whether it is worth one. It lies in the context of its caller, beside
 * the spans of its commands.
 */
export function traceAcquisitions(
  listening: Listening,
  { spans, clock }: Settings,
  provider: TracerProvider | undefined,
): void {
  if (spans === "off") return;
  const tracer = tracerOf(provider);
  /** The call that the running code belongs to: a contention does not say of which one it is. */
  const calls = new AsyncLocalStorage<AcquireEvent>();
  const contentions = new WeakMap<AcquireEvent, ContendedEvent>();
  const { start } = events.acquire;
  start.bindStore(calls);
  listening.atEnd(() => start.unbindStore(calls));
  listening.to(events.contended, (contention) => {
    const call = calls.getStore();
    // Each lock of a joint lock tells its own: the first one stands for the call.
    if (call !== undefined && !contentions.has(call)) contentions.set(call, contention);
  });
  listening.toTrace(events.acquire, {
    ended(event: Ended) {
      const contention = contentions.get(event);
      if (spans === "contended" && contention === undefined && event.outcome === "acquired") return;
      const endMs = clock.wallMs();
      const span = tracer.startSpan(
        "holdfast acquire",
        {
          kind: SpanKind.INTERNAL,
          startTime: endMs - (event.waitedMs ?? 0),
          attributes: attributesOf(event, contention),
        },
        context.active(),
      );
      if (event.outcome === "failed")
        span.setStatus({ code: SpanStatusCode.ERROR, message: errorMessage(event.error) });
      span.end(endMs);
    },
  });
}

function attributesOf(event: Ended, contention: ContendedEvent | undefined): Attributes {
  const { outcome, via, holder, holdCount, token, permits, note, error } = event;
  const attributes: Attributes = {
    [LOCK_NAME]: event.name,
    [LOCK_KIND]: event.kind,
    [OUTCOME]: outcome ?? "failed",
    [WAITED_MS]: event.waitedMs ?? 0,
    [ATTEMPTS]: event.attempts ?? 0,
    [CLIENT_ID]: event.clientId,
    [SERVER]: event.server,
  };
  if (via !== undefined) attributes[VIA] = via;
  if (holder !== undefined) attributes[HOLDER] = holder;
  if (holdCount !== undefined) attributes[HOLD_COUNT] = holdCount;
  if (token !== undefined) attributes[TOKEN] = String(token);
  if (permits !== undefined) attributes[PERMITS] = permits;
  if (note !== undefined) attributes[NOTE] = note;
  if (outcome === "failed") attributes[ERROR_TYPE] = errorType(error);
  if (contention === undefined) return attributes;
  attributes[BEHIND] = contention.behind;
  if (contention.holder !== "") attributes[SEEN_HOLDER] = contention.holder;
  return attributes;
}
