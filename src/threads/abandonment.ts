import { Forgotten } from "../environment.js";
import { events } from "../events.js";
import type { HoldState, Subject } from "./held.js";

/** A hold, as far as it has to be known here. */
export interface Forgettable {
  readonly state: HoldState;
  /** The lock or semaphore and the holder, for messages and events. */
  readonly about: Subject;
  /** Milliseconds since the acquisition was sent. */
  readonly heldMs: number;
  /** Whether it can be released without its lease. */
  readonly isReachable: boolean;
  /** Its index among the young leases; "registered" once a collection has met its lease; undefined when it has none, or is over. */
  cradle: number | "registered" | undefined;
  /** Its lease object was garbage collected: no code can release it any more. */
  forget(): void;
}

/**
 * Forgets a hold when its lease object is garbage collected, as no code can release it then. The registry keeps the hold, which must not
 * refer to its lease: that would never be collected. Once it is over it may: the frames of what has found its loss have the lease, and so
 * may listeners of its signal. So it is unregistered then.
 */
const forgotten = new Forgotten((hold: Forgettable) => {
  if (hold.state !== "held") return;
  hold.forget();
  if (!events.leaseAbandoned.hasSubscribers) return;
  events.leaseAbandoned.publish({ ...hold.about, heldMs: Math.round(hold.heldMs) });
});

/**
 * Leases that have not survived a garbage collection yet, each with its hold at the same index. Only survivors are registered: most leases
 * are released before the next collection, and that would have to look at each registered one, and could free nothing of it before.
 */
const leases: object[] = [];
const holds: Forgettable[] = [];

let awaitsCollection = false;
const collected = new Forgotten<undefined>(() => {
  awaitsCollection = false;
  leases.forEach((lease, at) => {
    const hold = holds[at];
    if (hold?.cradle !== undefined) register(lease, hold);
  });
  leases.length = 0;
  holds.length = 0;
});

/**
 * Watches the lease object that a hold is released through. The hold is forgotten with it: as a rule two full garbage collections after its
 * last use.
 */
export function guard(lease: object, hold: Forgettable): void {
  if (hold.isReachable) return;
  if (hold.cradle !== undefined) {
    guardOld(lease, hold);
    return;
  }
  hold.cradle = holds.length;
  leases.push(lease);
  holds.push(hold);
  if (awaitsCollection) return;
  awaitsCollection = true;
  collected.register({}, undefined);
}

/** As {@link guard}, for a lease that may be garbage already: it is registered at once, as the list above would keep it alive. */
export function guardOld(lease: object, hold: Forgettable): void {
  if (!hold.isReachable) register(lease, hold);
}

function register(lease: object, hold: Forgettable): void {
  forgotten.register(lease, hold, hold);
  hold.cradle = "registered";
}

/** The hold is over. */
export function unguard(hold: Forgettable): void {
  const at = hold.cradle;
  if (at === undefined) return;
  hold.cradle = undefined;
  if (at === "registered") {
    forgotten.unregister(hold);
    return;
  }
  const lease = leases.pop();
  const last = holds.pop();
  if (last === undefined || lease === undefined || last === hold) return;
  leases[at] = lease;
  holds[at] = last;
  last.cradle = at;
}
