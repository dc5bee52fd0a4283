import { longestWatchdogMs } from "../workload/plan.js";
import type { VirtualTime } from "../world/virtual-time.js";
import type { Belief, Entered, Excuse } from "./checker.js";
import type { Departure, Holders } from "./holders.js";
import type { Trouble } from "./trouble.js";

/** Whatever a lease is told by its server, it is believed for no longer than that; in microseconds, with some slack. */
export const LONGEST_TRUST_US = 10_500_000;

const US = 1_000;
/** Renewals are timed by a wheel, whose ticks make each of them later by up to a tenth. */
const WHEEL = 1.12;
/** Timers may be late by that much, and a command may have to wait for the one before it. */
const LATE_MS = 30;
/** What befell a process so long before may still keep its renewals away. */
const ECHO_MS = 2_000;

/**
 * Who had a lock when another client freed it by force believes in it until the next renewal, or until the end of a fixed lease. The
 * client that has freed it knows when its call resolves, and another one when Redis gives it the lock for another of its calls.
 */
export class ForcedUnlocks implements Excuse {
  readonly name = "believed after forceUnlock";
  readonly again = "token again: believed after forceUnlock";
  readonly #time: VirtualTime;
  readonly #holders: Holders;
  readonly #trouble: Trouble;

  constructor(time: VirtualTime, holders: Holders, trouble: Trouble) {
    this.#time = time;
    this.#holders = holders;
    this.#trouble = trouble;
  }

  /** What was freed before its holder heard that he has it comes after what was given next. */
  mayRepeat(name: string, _: Entered, again: Entered): boolean {
    return ownersOf(again, name).some((owner) => this.#wasForced(name, owner, again).length > 0);
  }

  excuses(name: string, one: Entered, other: Entered): boolean {
    // Of the two the other one has entered later, unless it is the one that was freed: then it has heard late that it had been given.
    const isSeen =
      one.process === other.process && this.#wasAnswered(name, other) && !this.#isFreed(name, other);
    return !isSeen && (this.mayBelieve(name, one) || this.mayBelieve(name, other));
  }

  /** Whether its owner was freed by force, and may not know it yet. */
  mayBelieve(name: string, belief: Entered): boolean {
    return ownersOf(belief, name).some((owner) =>
      this.#wasForced(name, owner, belief).some((departure) => this.#mayNotKnow(departure, owner, belief)),
    );
  }

  /** A grant or a hand-off does not tell the client that those before have gone. */
  #wasAnswered(name: string, belief: Belief): boolean {
    return ownersOf(belief, name).some((owner) => this.#holders.wasAnswered(name, owner));
  }

  #isFreed(name: string, belief: Entered): boolean {
    return ownersOf(belief, name).some((owner) =>
      this.#wasForced(name, owner, belief).some(({ field }) => field.replace(/:write$/, "") === owner),
    );
  }

  #wasForced(name: string, owner: string, { sinceUs }: Entered): readonly Departure[] {
    return this.#holders.departures(name, owner, sinceUs).filter(({ how }) => how === "by force");
  }

  #mayNotKnow({ by, forcing, atUs }: Departure, owner: string, { process, isFixed }: Belief): boolean {
    if (forcing.size === 0 && by === process.name) return false;
    const member = this.#holders.memberOf(owner);
    if (isFixed === true || member === undefined) return true;
    const { options, distance } = member.plan;
    const { commandTimeoutMs } = options;
    const watchdogMs = longestWatchdogMs(member.plan);
    const wayMs = (2 * (distance.leastUs + distance.spreadUs)) / US;
    const untilUs = atUs + ((WHEEL * watchdogMs) / 3 + wayMs + LATE_MS) * US;
    const sinceUs = atUs - (commandTimeoutMs + ECHO_MS) * US;
    return this.#time.nowUs <= untilUs || this.#trouble.has(process.name, sinceUs);
  }
}

export function ownersOf({ parts }: Belief, name: string): readonly string[] {
  return parts.find((part) => part.name === name)?.owners ?? [];
}
