import { type AcquireEvent, events } from "../events.js";
import type { Hold } from "../threads/hold.js";
import type { Wish } from "./acquire.js";
import type { LockIdentity } from "./lock-kind.js";

/** Runs an acquisition inside the tracing channel, if anybody listens to it. */
export async function traced(
  lock: LockIdentity,
  wish: Wish,
  acquire: () => Promise<Hold | undefined>,
): Promise<Hold | undefined> {
  if (!hasSubscribers()) return acquire();
  const event: AcquireEvent = { name: lock.name, kind: lock.kind.name };
  let hold: Hold | undefined;
  // What the traced function resolves with would be put into the event.
  await events.acquire.tracePromise(async () => {
    let outcome: AcquireEvent["outcome"] = "failed";
    try {
      hold = await acquire();
      outcome = hold === undefined ? "refused" : "acquired";
    } finally {
      Object.assign(event, { outcome, waitedMs: wish.waiter.waitedMs, attempts: wish.attempts });
      if (hold !== undefined) Object.assign(event, { holder: hold.holding.field, holdCount: hold.holdCount });
    }
  }, event);
  return hold;
}

/** As TracingChannel.hasSubscribers, which Node 20.19 does not have. */
function hasSubscribers(): boolean {
  const { start, end, asyncStart, asyncEnd, error } = events.acquire;
  return [start, end, asyncStart, asyncEnd, error].some((part) => part.hasSubscribers);
}
