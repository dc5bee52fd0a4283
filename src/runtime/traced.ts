import { ClientClosedError } from "../errors.js";
import {
  type AboutClient,
  type AcquireEvent,
  events,
  type LatchAwaitEvent,
  type TraceChannel,
} from "../events.js";
import { presentContext } from "../root-context.js";
import type { Waiter } from "./waiter.js";

/** The result of an acquisition. */
export type Acquired = Pick<AcquireEvent, "holder" | "holdCount" | "token" | "permits">;

/** The subject and the terms of an acquisition. */
interface Begun {
  readonly client: { readonly about: AboutClient };
  readonly name: string;
  readonly kind: string;
  readonly terms: Pick<AcquireEvent, "leaseMs" | "renewed"> & { readonly note?: string | undefined };
}

interface TracedAcquire {
  readonly waiter: Waiter;
  readonly waits: boolean;
  readonly attempts: number;
  readonly waitEndedBy: NonNullable<AcquireEvent["via"]>;
}

/** Runs an acquisition inside its tracing channel. Only for a channel with subscribers. */
export function traced<T>(
  { client, name, kind, terms }: Begun,
  wish: TracedAcquire,
  acquire: () => Promise<T | undefined>,
  describe: (acquired: T) => Acquired,
): Promise<T | undefined> {
  const event = eventOf({ client, name, kind, terms }, wish);
  return tracedOn(events.acquire, event, wish, acquire, (acquired) => comeTo(wish, acquired, describe));
}

/** Reports the end of a traced call. Exactly one of the two methods is called, once. */
interface TellEnd<T> {
  /** The call has ended with a result. @param come makes the caller's result from it, in the async context of the caller */
  ended<R>(acquired: T | undefined, come: () => R): R;
  failed(error: unknown): void;
}

/**
 * As {@link traced}, for a call that reports its end itself, without promises in between: an uncontended call takes hardly longer than
 * without tracing.
 * @param begin begins the call
 */
export function tracedCall<T, R>(
  begun: Begun,
  wish: TracedAcquire,
  describe: (acquired: T) => Acquired,
  begin: (tell: TellEnd<T>) => Promise<R>,
): Promise<R> {
  const channel = events.acquire;
  const event = eventOf(begun, wish);
  const callers = presentContext();
  const tell: TellEnd<T> = {
    ended(acquired, come) {
      tellEnd(channel, event, wish, comeTo(wish, acquired, describe));
      return callers.runInAsyncScope(come);
    },
    failed: (error) => tellEnd(channel, event, wish, failure(wish, error), true),
  };
  return channel.start.runStores(event, () => {
    wish.waiter.context = presentContext();
    const called = begin(tell);
    channel.end.publish(event);
    return called;
  });
}

function eventOf({ client, name, kind, terms }: Begun, wish: TracedAcquire): AcquireEvent {
  const { leaseMs, renewed, note } = terms;
  const { clientId, server } = client.about;
  const { waitMs } = wish.waiter;
  const event: AcquireEvent & { note?: string } = { clientId, server, name, kind, leaseMs, renewed, waitMs };
  if (note !== undefined) event.note = note;
  return event;
}

function comeTo<T>(
  wish: TracedAcquire,
  acquired: T | undefined,
  describe: (acquired: T) => Acquired,
): Partial<AcquireEvent> {
  if (acquired === undefined) return { outcome: wish.waits ? "timeout" : "refused" };
  return { outcome: "acquired", via: wish.waitEndedBy, ...describe(acquired) };
}

/**
 * Runs a call inside a tracing channel. Like TracingChannel.tracePromise, but a rejection takes the same number of microtasks on all
 * releases of Node.
 * @param come what the event says about a call with this result
 */
export function tracedOn<E extends AcquireEvent | LatchAwaitEvent, T>(
  channel: TraceChannel<E>,
  event: E,
  wish: { readonly waiter: Waiter; readonly attempts?: number },
  call: () => Promise<T>,
  come: (result: T) => Partial<E>,
): Promise<T> {
  return channel.start.runStores(event, () => {
    const called = tell(channel, event, wish, call, come);
    channel.end.publish(event);
    return called;
  });
}

async function tell<E extends AcquireEvent | LatchAwaitEvent, T>(
  channel: TraceChannel<E>,
  event: E,
  wish: { readonly waiter: Waiter; readonly attempts?: number },
  call: () => Promise<T>,
  come: (result: T) => Partial<E>,
): Promise<T> {
  wish.waiter.context = presentContext();
  let result: T;
  try {
    result = await call();
  } catch (error) {
    tellEnd(channel, event, wish, failure(wish, error), true);
    throw error;
  }
  tellEnd(channel, event, wish, come(result));
  return result;
}

function failure({ waiter }: { readonly waiter: Waiter }, error: unknown) {
  const isCancelled = error instanceof ClientClosedError || waiter.isReasonOfSignal(error);
  return { outcome: isCancelled ? ("cancelled" as const) : ("failed" as const), error };
}

/** Must run in the async context of the call, with the stores that were bound at its start. */
function tellEnd<E extends AcquireEvent | LatchAwaitEvent>(
  { asyncStart, asyncEnd, error: failed }: TraceChannel<E>,
  event: E,
  { waiter, attempts }: { readonly waiter: Waiter; readonly attempts?: number },
  ended: object,
  hasFailed = false,
): void {
  Object.assign(event, ended);
  event.waitedMs = Math.round(waiter.waitedMs);
  if (attempts !== undefined) (event as AcquireEvent).attempts = attempts;
  if (waiter.contended !== undefined) (event as AcquireEvent).contended = waiter.contended;
  if (hasFailed) failed.publish(event);
  asyncStart.publish(event);
  asyncEnd.publish(event);
}

/** Whether a tracing channel has subscribers. Like TracingChannel.hasSubscribers, which Node 20.19 lacks. */
export function isTraced<E extends object>({
  start,
  end,
  asyncStart,
  asyncEnd,
  error,
}: TraceChannel<E>): boolean {
  const ends = end.hasSubscribers || asyncEnd.hasSubscribers || error.hasSubscribers;
  return ends || start.hasSubscribers || asyncStart.hasSubscribers;
}
