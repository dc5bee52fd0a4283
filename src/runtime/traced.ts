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

/** What an acquisition has brought. */
export type Acquired = Pick<AcquireEvent, "holder" | "holdCount" | "token" | "permits">;

/** What is to be acquired, and on which terms. */
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

/** Runs an acquisition inside its tracing channel. To be called where that has subscribers. */
export function traced<T>(
  { client, name, kind, terms }: Begun,
  wish: TracedAcquire,
  acquire: () => Promise<T | undefined>,
  describe: (acquired: T) => Acquired,
): Promise<T | undefined> {
  const { leaseMs, renewed, note } = terms;
  const about = { ...client.about, name, kind, leaseMs, renewed, waitMs: wish.waiter.waitMs };
  const event: AcquireEvent = note === undefined ? about : { ...about, note };
  return tracedOn(events.acquire, event, wish, acquire, (acquired) => {
    if (acquired === undefined) return { outcome: wish.waits ? "timeout" : "refused" };
    return { outcome: "acquired", via: wish.waitEndedBy, ...describe(acquired) };
  });
}

/**
 * Runs a call inside a tracing channel. As TracingChannel.tracePromise, but a rejection takes the same number of microtasks on all releases
 * of Node.
 * @param come what the event says of a call that has come to this
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
  event: E & { error?: unknown },
  wish: { readonly waiter: Waiter; readonly attempts?: number },
  call: () => Promise<T>,
  come: (result: T) => Partial<E>,
): Promise<T> {
  const { asyncStart, asyncEnd, error: failed } = channel;
  let ended: Partial<E> = {};
  let hasFailed = true;
  wish.waiter.context = presentContext();
  try {
    const result = await call();
    ended = come(result);
    hasFailed = false;
    return result;
  } catch (error) {
    const isCancelled = error instanceof ClientClosedError || wish.waiter.isReasonOfSignal(error);
    event.outcome = isCancelled ? "cancelled" : "failed";
    event.error = error;
    throw error;
  } finally {
    const waitedMs = Math.round(wish.waiter.waitedMs);
    const { attempts, waiter } = wish;
    if (waiter.contended !== undefined) Object.assign(event, { contended: waiter.contended });
    Object.assign(event, ended, attempts === undefined ? { waitedMs } : { waitedMs, attempts });
    if (hasFailed) failed.publish(event);
    asyncStart.publish(event);
    asyncEnd.publish(event);
  }
}

/** Whether a tracing channel has subscribers. As TracingChannel.hasSubscribers, which Node 20.19 does not have. */
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
