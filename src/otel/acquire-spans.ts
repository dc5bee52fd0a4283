import { type Attributes, context, SpanKind, SpanStatusCode, type TracerProvider } from "@opentelemetry/api";
import { type AcquireEvent, events } from "../events.js";
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
import type { OtelSettings } from "./config.js";
import type { EventListening } from "./listening.js";
import { tracerOf } from "./tracers.js";

/** A call, as its final event describes it. */
type Ended = AcquireEvent & { readonly error?: unknown };

/**
 * Makes a span of a call after its end: only then is it known whether the call deserves a span. The span is in the context of the caller,
 * beside the spans of the call's commands.
 */
export function traceAcquisitions(
  listening: EventListening,
  { spans, clock }: OtelSettings,
  provider: TracerProvider | undefined,
): void {
  if (spans === "off") return;
  const tracer = tracerOf(provider);
  // A call reports contention only while the event has a subscriber.
  listening.to(events.contended, () => undefined);
  listening.toTrace(events.acquire, {
    ended(event: Ended) {
      if (spans === "contended" && event.contended === undefined && event.outcome === "acquired") return;
      const endMs = clock.wallMs();
      const span = tracer.startSpan(
        "holdfast acquire",
        {
          kind: SpanKind.INTERNAL,
          startTime: endMs - (event.waitedMs ?? 0),
          attributes: attributesOf(event),
        },
        context.active(),
      );
      if (event.outcome === "failed")
        span.setStatus({ code: SpanStatusCode.ERROR, message: errorMessage(event.error) });
      span.end(endMs);
    },
  });
}

function attributesOf(event: Ended): Attributes {
  const { outcome, via, holder, holdCount, token, permits, note, contended, error } = event;
  // Set one by one: a literal with computed keys takes several times as long.
  const attributes: Attributes = {};
  attributes[LOCK_NAME] = event.name;
  attributes[LOCK_KIND] = event.kind;
  attributes[OUTCOME] = outcome ?? "failed";
  attributes[WAITED_MS] = event.waitedMs ?? 0;
  attributes[ATTEMPTS] = event.attempts ?? 0;
  attributes[CLIENT_ID] = event.clientId;
  attributes[SERVER] = event.server;
  if (via !== undefined) attributes[VIA] = via;
  if (holder !== undefined) attributes[HOLDER] = holder;
  if (holdCount !== undefined) attributes[HOLD_COUNT] = holdCount;
  if (token !== undefined) attributes[TOKEN] = String(token);
  if (permits !== undefined) attributes[PERMITS] = permits;
  if (note !== undefined) attributes[NOTE] = note;
  if (outcome === "failed") attributes[ERROR_TYPE] = errorType(error);
  if (contended === undefined) return attributes;
  attributes[BEHIND] = contended.behind;
  if (contended.holder !== "") attributes[SEEN_HOLDER] = contended.holder;
  return attributes;
}
