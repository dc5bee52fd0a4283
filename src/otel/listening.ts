import { diag } from "@opentelemetry/api";
import type { EventChannel, TraceChannel } from "../events.js";

/**
 * Listens to events until it is stopped. Handlers never throw, because a listener that throws ends the process. `diag` reports the first
 * failure with the name of the channel; further failures of that channel are dropped.
 */
export class EventListening {
  readonly #ends: (() => void)[] = [];

  /** @param handle gets each event of the channel */
  to<Event>(channel: EventChannel<Event>, handle: (event: Event) => void): void {
    const safe = neverThrowing(String(channel.name), handle);
    channel.subscribe(safe);
    this.#ends.push(() => channel.unsubscribe(safe));
  }

  /** @param begun gets each event when it begins, and `ended` when it ends */
  toTrace<Event extends object>(
    channel: TraceChannel<Event>,
    handlers: { readonly begun?: (event: Event) => void; readonly ended: (event: Event) => void },
  ): void {
    const { begun, ended } = handlers;
    const asyncEnd = neverThrowing(String(channel.asyncEnd.name), ended);
    const start = begun && neverThrowing(String(channel.start.name), begun);
    const safe = start === undefined ? { asyncEnd } : { start, asyncEnd };
    channel.subscribe(safe);
    this.#ends.push(() => channel.unsubscribe(safe));
  }

  /** Registers a function that is called when the listening stops. */
  atEnd(end: () => void): void {
    this.#ends.push(end);
  }

  stop(): void {
    for (const end of this.#ends.splice(0)) neverThrowing("disable", end)(undefined);
  }
}

/** @param what names the handler in the report of a failure */
export function neverThrowing<T>(what: string, handle: (value: T) => void): (value: T) => void {
  let hasFailed = false;
  return (value) => {
    try {
      handle(value);
    } catch (error) {
      if (!hasFailed) tellFailure(what, error);
      hasFailed = true;
    }
  };
}

/** Never throws, although a logger of the program may. */
export function tellFailure(what: string, error: unknown): void {
  try {
    diag.error(`holdfast/otel: ${what} failed; this is reported only once`, error);
  } catch {
    // There is no other way to report it.
  }
}
