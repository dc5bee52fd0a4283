import { ClientClosedError } from "../errors.js";
import { type AcquireEvent, events } from "../events.js";
import type { Waiter } from "./waiter.js";

/** What an acquisition has brought. */
export type Acquired = Pick<AcquireEvent, "holder" | "holdCount" | "permits">;

/** Runs an acquisition inside the tracing channel, if anybody listens to it. */
export function traced<T>(
  lock: { readonly name: string; readonly kind: { readonly name: string } },
  wish: { readonly waiter: Waiter; readonly waits: boolean; readonly attempts: number },
  acquire: () => Promise<T | undefined>,
  describe: (acquired: T) => Acquired,
): Promise<T | undefined> {
  return isTraced() ? trace(lock, wish, acquire, describe) : acquire();
}

async function trace<T>(
  ...[lock, wish, acquire, describe]: Parameters<typeof traced<T>>
): ReturnType<typeof traced<T>> {
  const event: AcquireEvent = { name: lock.name, kind: lock.kind.name };
  let acquired: T | undefined;
  // What it resolves with would be put into the event.
  const run = async (): Promise<void> => {
    let outcome: AcquireEvent["outcome"] = "failed";
    try {
      acquired = await acquire();
      if (acquired !== undefined) outcome = "acquired";
      else outcome = wish.waits ? "timeout" : "refused";
    } catch (error) {
      if (error instanceof ClientClosedError || wish.waiter.isReasonOfSignal(error)) outcome = "cancelled";
      throw error;
    } finally {
      const waitedMs = Math.round(wish.waiter.waitedMs);
      Object.assign(event, { outcome, waitedMs, attempts: wish.attempts });
      if (acquired !== undefined) Object.assign(event, describe(acquired));
    }
  };
  let running: Promise<void> | undefined;
  // How many microtasks the promise of tracePromise takes to reject depends on the release of Node: nobody waits for it.
  events.acquire.tracePromise(() => (running = run()), event).catch(() => {});
  await running;
  return acquired;
}

/** Whether anybody listens. As TracingChannel.hasSubscribers, which Node 20.19 does not have. */
export function isTraced(): boolean {
  const { start, end, asyncStart, asyncEnd, error } = events.acquire;
  const ends = end.hasSubscribers || asyncEnd.hasSubscribers || error.hasSubscribers;
  return ends || start.hasSubscribers || asyncStart.hasSubscribers;
}
