import { NotHeldError, UnavailableError } from "../errors.js";
import { forCaller } from "../runtime/for-caller.js";
import type { Shortfall } from "../runtime/replication.js";
import type { Hold } from "../threads/stay.js";
import type { LockIdentity } from "./lock-kind.js";
import { sendRelease } from "./lowering.js";
import { reconcile } from "./reconciler.js";

/**
 * Makes the fixed lease of a hold end `leaseMs` from now. Waits until no other command of the stay is under way. Sends a release that frees
 * no hold and sets the TTL that the holds need: such a command works for each kind of lock, has a deadline and may be repeated.
 * @throws TypeError for a lease that the watchdog renews; LeaseLostError, NotHeldError, UnavailableError
 * @see docs/internals/states.md#extending-a-lease
 */
export async function extend(lock: LockIdentity, hold: Hold, leaseMs: number): Promise<void> {
  if (hold.terms.renewed) throw watched(lock.name);
  const { stay } = hold;
  /** Whether Redis may have a different lease from the one that the holds need. */
  let isOpen = false;
  stay.unsettled();
  try {
    assertHeld(lock, hold);
    await stay.inRedis.inTurn(async () => {
      assertHeld(lock, hold);
      isOpen = true;
      await sendExtension(lock, hold, leaseMs);
    });
    assertHeld(lock, hold);
    isOpen = stay.inRedis.copiesUntilMs > 0;
  } catch (error) {
    throw forCaller(error, lock);
  } finally {
    if (isOpen) reconcile(lock, stay);
    stay.settled();
  }
}

export function watched(name: string): TypeError {
  return new TypeError(
    `the lease of lock "${name}" is renewed by the watchdog: only a lease that was taken with leaseMs can be extended`,
  );
}

/** Sends the command. No other command of the stay is under way. */
async function sendExtension(lock: LockIdentity, hold: Hold, leaseMs: number): Promise<void> {
  const { stay } = hold;
  const { inRedis } = stay;
  inRedis.extends(leaseMs);
  hold.extending(leaseMs);
  try {
    const { reply, sentAt, shortfall } = await sendRelease(lock, stay);
    if (reply.status !== "released") {
      stay.wasGone(0);
    } else if (shortfall === undefined) {
      hold.extended(leaseMs, sentAt, inRedis.copiesTtlMs);
      stay.renewed(sentAt);
    } else throw tooFewReplicas(lock, shortfall);
  } finally {
    hold.notExtended();
  }
}

function assertHeld({ name }: LockIdentity, { state, loss }: Hold): void {
  if (loss !== undefined) throw loss;
  if (state === "released") throw new NotHeldError(name, "the lease was released");
}

function tooFewReplicas({ client }: LockIdentity, shortfall: Shortfall): UnavailableError {
  const { acknowledged, wanted, timeoutMs } = shortfall;
  const why = `${acknowledged} of ${wanted} required replicas acknowledged the new lease within ${timeoutMs} ms`;
  return new UnavailableError(client.commands.server, why, true);
}
