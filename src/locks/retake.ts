import { guard } from "../lease.js";
import type { LockOptions } from "../options.js";
import { newWish } from "./acquire.js";
import { fulfil } from "./fulfil.js";
import type { JointHold } from "./joint-hold.js";
import { giveBack } from "./joint-lock.js";
import type { LeaseLock } from "./lease-lock.js";

/** A red lease that is held, and what it was asked for with. */
export interface Retaking {
  readonly locks: readonly LeaseLock[];
  /** How long to wait for the answer of one server. */
  readonly timeoutMs: number;
  readonly options: LockOptions;
  readonly hold: JointHold;
  readonly lease: WeakRef<object>;
}

/** Missing servers are asked again so often within a lease, but not more often than each tenth of a second. */
const TRIES_PER_LEASE = 20;
const SHORTEST_PAUSE_MS = 100;

/**
 * Takes the locks of servers that did not answer, or have lost their data, for as long as the lease is held by a majority:
 * so that the failure of the next server does not end it.
 */
export function retake(retaking: Retaking): void {
  const [first] = retaking.locks;
  if (first === undefined) return;
  const { client } = first.identity;
  const leaseMs = retaking.options.leaseMs ?? client.settings.watchdogMs;
  client.after(Math.max(SHORTEST_PAUSE_MS, leaseMs / TRIES_PER_LEASE), () => {
    const { hold, lease } = retaking;
    // What was taken again lies on no path, and so is not released by an unlock in Redisson's style.
    if (hold.state === "released") giveBack(hold.members.filter((member) => member.hold.state === "held"));
    if (hold.state !== "held" || lease.deref() === undefined) return;
    const missing = retaking.locks.filter((lock) => !retaking.hold.has(lock));
    client.inBackground(async () => {
      await Promise.all(missing.map((lock) => retakeOne(lock, retaking).catch(() => undefined)));
      retake(retaking);
    });
  });
}

async function retakeOne(lock: LeaseLock, { options, hold, timeoutMs, lease }: Retaking): Promise<void> {
  const { client } = lock.identity;
  const waiter = client.newWaiter(0, undefined);
  try {
    const rest = { ...options, ...restOf(options, hold) };
    const wish = newWish(client, rest, { form: "using", waits: false, waiter, timeoutMs });
    const taken = await fulfil(lock.identity, wish, options.threadId);
    if (taken === undefined) return;
    const keeper = lease.deref();
    if (hold.state === "held" && keeper !== undefined) {
      guard(keeper, taken);
      hold.put({ lock, hold: taken });
    } else {
      giveBack([{ lock, hold: taken }]);
    }
  } finally {
    client.dismiss(waiter);
  }
}

/** What has a fixed end keeps it. */
function restOf({ leaseMs, maxHoldMs }: LockOptions, hold: JointHold): LockOptions {
  if (leaseMs !== undefined) return { leaseMs: Math.max(1, Math.floor(hold.checkMs())) };
  if (maxHoldMs !== undefined) return { maxHoldMs: Math.max(1, maxHoldMs - Math.ceil(hold.heldMs)) };
  return {};
}
