import { Forgotten } from "../environment.js";
import { events } from "../events.js";
import type { HoldState, Subject } from "./held.js";

/** A hold, as far as it has to be known here. */
export interface Forgettable {
  readonly state: HoldState;
  /** Whose it is, and of what. */
  readonly about: Subject;
  /** Whether it can be released without its lease. */
  readonly isReachable: boolean;
  /** Where it stands among the holds of young leases; undefined for none of these. */
  cradle: number | undefined;
  /** Nobody can release it any more. */
  forget(): void;
}

/** Tells which holds nobody can release any more. A hold must never refer to its lease. */
const forgotten = new Forgotten((hold: Forgettable) => {
  if (hold.state !== "held") return;
  hold.forget();
  if (events.leaseAbandoned.hasSubscribers) events.leaseAbandoned.publish(hold.about);
});

/**
 * Leases that no collection of garbage has seen, each with its hold at the same place. Most are released before the next one;
 * whatever is registered, that one would have to look at, and until then nothing of it could be freed.
 */
const leases: object[] = [];
const holds: Forgettable[] = [];

let awaitsCollection = false;
const collected = new Forgotten<undefined>(() => {
  awaitsCollection = false;
  leases.forEach((lease, at) => {
    const hold = holds[at];
    if (hold === undefined) return;
    hold.cradle = undefined;
    forgotten.register(lease, hold);
  });
  leases.length = 0;
  holds.length = 0;
});

/** What a hold is released through. When it is forgotten, so is the hold: as a rule two full collections of garbage later. */
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

/** As {@link guard}, for a lease that may have been forgotten already: it is kept by nothing meanwhile. */
export function guardOld(lease: object, hold: Forgettable): void {
  if (!hold.isReachable) forgotten.register(lease, hold);
}

/** The hold is over. */
export function unguard(hold: Forgettable): void {
  const at = hold.cradle;
  if (at === undefined) return;
  hold.cradle = undefined;
  const lease = leases.pop();
  const last = holds.pop();
  if (last === undefined || lease === undefined || last === hold) return;
  leases[at] = lease;
  holds[at] = last;
  last.cradle = at;
}
