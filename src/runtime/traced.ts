import { ClientClosedError } from "../errors.js";
import { type AcquireEvent, events } from "../events.js";
import type { Waiter } from "./waiter.js";

/** What an acquisition has brought. */
export type Acquired = Pick<AcquireEvent, "holder" | "holdCount" | "permits">;

interface Wanted {
  readonly waiter: Waiter;
  readonly waits: boolean;
  readonly attempts: number;
}

/**
 * Runs an acquisition inside the tracing channel, if that has subscribers. As TracingChannel.tracePromise, but a rejection takes the same
 * number of microtasks on all releases of Node.
 */
export function traced<T>(
  lock: { readonly name: string; readonly kind: { readonly name: string } },
  wish: Wanted,
  acquire: () => Promise<T | undefined>,
  describe: (acquired: T) => Acquired,
): Promise<T | undefined> {
  if (!isTraced()) return acquire();
  const { start, end } = events.acquire;
  const event: AcquireEvent = { name: lock.name, kind: lock.kind.name };
  return start.runStores(event, () => {
    const acquired = tell(event, wish, acquire, describe);
    end.publish(event);
    return acquired;
  });
}

async function tell<T>(
  event: AcquireEvent & { error?: unknown },
  wish: Wanted,
  acquire: () => Promise<T | undefined>,
  describe: (acquired: T) => Acquired,
): Promise<T | undefined> {
  const { asyncStart, asyncEnd, error: failed } = events.acquire;
  let acquired: T | undefined;
  let outcome: AcquireEvent["outcome"] = "failed";
  try {
    acquired = await acquire();
    if (acquired !== undefined) outcome = "acquired";
    else outcome = wish.waits ? "timeout" : "refused";
    return acquired;
  } catch (error) {
    if (error instanceof ClientClosedError || wish.waiter.isReasonOfSignal(error)) outcome = "cancelled";
    event.error = error;
    throw error;
  } finally {
    const waitedMs = Math.round(wish.waiter.waitedMs);
    Object.assign(event, { outcome, waitedMs, attempts: wish.attempts });
    if (acquired !== undefined) Object.assign(event, describe(acquired));
    if (outcome === "failed" || outcome === "cancelled") failed.publish(event);
    asyncStart.publish(event);
    asyncEnd.publish(event);
  }
}

/** Whether the channel has subscribers. As TracingChannel.hasSubscribers, which Node 20.19 does not have. */
export function isTraced(): boolean {
  const { start, end, asyncStart, asyncEnd, error } = events.acquire;
  const ends = end.hasSubscribers || asyncEnd.hasSubscribers || error.hasSubscribers;
  return ends || start.hasSubscribers || asyncStart.hasSubscribers;
}
