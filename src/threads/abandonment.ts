import { Forgotten } from "../environment.js";
import { events } from "../events.js";
import type { HoldState, Subject } from "./held.js";

/** The part of a hold that this module needs. */
export interface Forgettable {
  readonly state: HoldState;
  /** The lock or semaphore and the holder, for messages and events. */
  readonly about: Subject;
  /** Milliseconds since the acquisition was sent. */
  readonly heldMs: number;
  /** Whether the hold can be released without its lease object. */
  readonly isReachable: boolean;
  /**
   * The index of the hold's lease in `leases`; "registered" after this lease has survived a collection; undefined if the hold has no lease,
   * or has ended.
   */
  cradle: number | "registered" | undefined;
  /** Its lease object was garbage collected: no code can release it any more. */
  forget(): void;
}

/**
 * Forgets a hold when its lease object is garbage collected, because no code can release it then. The registry references the hold, so the
 * hold must not reference its lease: the lease would never be collected. An ended hold may reference its lease, through the stack frames of
 * its loss or through listeners of its signal. So a hold is unregistered at its end.
 */
const forgotten = new Forgotten((hold: Forgettable) => {
  if (hold.state !== "held") return;
  hold.forget();
  if (!events.leaseAbandoned.hasSubscribers) return;
  events.leaseAbandoned.publish({ ...hold.about, heldMs: Math.round(hold.heldMs) });
});

/**
 * Leases that have not survived a garbage collection yet, each with its hold at the same index. Only survivors are registered, because most
 * leases are released before the next collection. If all were registered, that collection would have to visit each of them, and could free
 * none.
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
 * Watches the lease object through which a hold is released. The hold is forgotten when the lease is collected: usually two full garbage
 * collections after its last use.
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

/**
 * Like {@link guard}, for a lease that may already be garbage: registers the lease at once, because the list `leases` would keep it alive.
 */
export function guardOld(lease: object, hold: Forgettable): void {
  if (!hold.isReachable) register(lease, hold);
}

function register(lease: object, hold: Forgettable): void {
  forgotten.register(lease, hold, hold);
  hold.cradle = "registered";
}

/** Stops watching the lease of a hold that has ended. */
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
