import { type AcquireEvent, events } from "../events.js";
import type { Hold } from "../threads/hold.js";
import type { Wish } from "./acquire.js";
import type { LockIdentity } from "./lock-kind.js";

/** Runs an acquisition inside the tracing channel, if anybody listens to it. */
export function traced(
  lock: LockIdentity,
  wish: Wish,
  acquire: () => Promise<Hold | undefined>,
): Promise<Hold | undefined> {
  if (!hasSubscribers()) return acquire();
  const event: AcquireEvent = { name: lock.name, kind: lock.kind.name };
  return events.acquire.tracePromise(async () => {
    event.outcome = "failed";
    try {
      const hold = await acquire();
      event.outcome = hold === undefined ? "refused" : "acquired";
      if (hold !== undefined) Object.assign(event, { holder: hold.holding.field, holdCount: hold.holdCount });
      return hold;
    } finally {
      event.waitedMs = wish.waiter.waitedMs;
      event.attempts = wish.attempts;
    }
  }, event);
}

/** As TracingChannel.hasSubscribers, which Node 20.19 does not have. */
function hasSubscribers(): boolean {
  const { start, end, asyncStart, asyncEnd, error } = events.acquire;
  return [start, end, asyncStart, asyncEnd, error].some((part) => part.hasSubscribers);
}
