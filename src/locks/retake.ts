import type { Client } from "../client.js";
import type { Weak } from "../environment.js";
import type { LockOptions } from "../options.js";
import { guardOld } from "../threads/abandonment.js";
import type { Scope } from "../threads/scope.js";
import { acquire } from "./acquisition.js";
import type { JointHold } from "./joint-hold.js";
import { giveBack } from "./joint-lock.js";
import type { SingleLock } from "./single-lock.js";
import { Wish } from "./wish.js";

/** The held lease of a red lock, and the options of its acquisition. */
export interface Retaking {
  /** How long to wait for the answer of one server. */
  readonly timeoutMs: number;
  readonly options: LockOptions;
  readonly form: Wish["form"];
  /** The thread id that acquires a lock; undefined: the scopes around the call decide. */
  threadIdFor(lock: SingleLock): number | undefined;
  readonly hold: JointHold;
  readonly lease: Weak<object>;
}

/** Missing servers are asked this many times within a lease, but at most every 100 ms. */
const TRIES_PER_LEASE = 20;
const SHORTEST_PAUSE_MS = 100;

/**
 * Acquires locks again whose servers did not answer or have lost their data, as long as the lease has a majority. Without these locks, the
 * next server failure could end the lease. Call it in the async context of the call that acquired the lease, so that each lock acquired
 * again belongs to the same scopes.
 */
export function retake(retaking: Retaking): void {
  const { locks } = retaking.hold;
  for (const client of new Set(locks.map(({ identity }) => identity.client))) {
    const own = locks.filter(({ identity }) => identity.client === client);
    lookAfter(client, own, client.threads.current, retaking);
  }
}

/** @param scope the scope in which the lease was taken */
function lookAfter(
  client: Client,
  locks: readonly SingleLock[],
  scope: Scope | undefined,
  retaking: Retaking,
): void {
  const { hold, lease } = retaking;
  // The pace follows the current lease, which an extension may have changed.
  let leaseMs = 0;
  for (const member of hold.members) leaseMs = Math.max(leaseMs, member.hold.terms.leaseMs);
  client.after(Math.max(SHORTEST_PAUSE_MS, leaseMs / TRIES_PER_LEASE), () => {
    // A member that was acquired while the lease was being released is still held: gives it back.
    if (hold.state === "released") giveBack(hold.members.filter((member) => member.hold.state === "held"));
    if (hold.state !== "held" || lease.deref() === undefined) return;
    const missing = locks.filter((lock) => hold.of(lock)?.state !== "held");
    client.inBackground(async () => {
      const takes = missing.map((lock) => client.threads.within(scope, () => retakeOne(lock, retaking)));
      await Promise.allSettled(takes);
      lookAfter(client, locks, scope, retaking);
    });
  });
}

async function retakeOne(lock: SingleLock, retaking: Retaking): Promise<void> {
  const { options, form, hold, timeoutMs, lease } = retaking;
  const { client } = lock.identity;
  client.assertOpen();
  const replaced = hold.of(lock);
  const waiter = client.newWaiter(0, undefined, lock.identity);
  try {
    const rest = { ...options, ...restOf(options, hold) };
    const asked = { form, waits: false, waiter, timeoutMs, replaced, isPart: true, isAskedAgain: true };
    const wish = new Wish(client, rest, asked);
    const taken = await acquire(
      lock.identity,
      wish,
      { threadId: retaking.threadIdFor(lock) },
      (hold) => hold,
    );
    if (taken === undefined) return;
    const keeper = lease.deref();
    // The lease may have been shortened meanwhile. Then the hold is given back, and the next try takes a hold that ends with the lease.
    const outlives = options.leaseMs !== undefined && taken.checkMs() > hold.checkMs();
    if (hold.state === "held" && keeper !== undefined && !outlives) {
      guardOld(keeper, taken);
      lock.keep(taken, keeper);
      hold.put({ lock, hold: taken });
      if (replaced !== undefined) replaced.dismissed = true;
    } else {
      giveBack([{ lock, hold: taken }]);
    }
  } finally {
    client.dismiss(waiter);
  }
}

/** The options for a lock acquired again: a lease with a fixed end keeps that end. */
function restOf({ leaseMs, maxHoldMs }: LockOptions, hold: JointHold): LockOptions {
  if (leaseMs !== undefined) return { leaseMs: Math.max(1, Math.floor(hold.checkMs())) };
  if (maxHoldMs !== undefined) return { maxHoldMs: Math.max(1, maxHoldMs - Math.ceil(hold.heldMs)) };
  return {};
}
