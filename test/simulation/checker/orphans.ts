import { fairTimes } from "../../../src/protocol/fair-scripts.js";
import { fairAliveKey, fairQueueKey } from "../../../src/protocol/names.js";
import type { ClientPlan } from "../workload/plan.js";
import type { SimServer } from "../world/sim-server.js";
import type { VirtualTime } from "../world/virtual-time.js";
import type { Checker } from "./checker.js";
import type { Trouble } from "./trouble.js";

const US = 1_000;
/** What a call that has ended has under way is answered by then, and what it has got is given back. */
const GIVEN_BACK_MS = 500;
const WAYS = 6;
/** Pauses between two tries of a clean-up double from half a second to this. */
const LONGEST_PAUSE_MS = 10_000;
/** A waiter is silent for so long before its place is lost, and has the lock for so long if it was given it before. */
const GIVEN_UP_US = (fairTimes.aliveMs + fairTimes.grantMs) * US;

/** What the rule has to know about a process. */
export interface Owner {
  readonly name: string;
  readonly plan: ClientPlan;
}

export interface Owners {
  /** The process whose client has this field, if it lives, goes on, and has not been closed. */
  ownerOf(field: string): Owner | undefined;
  /** Whether it has dropped a lease of this name without giving it back. */
  hasForgotten(process: string, name: string): boolean;
}

/**
 * No field stays in a lock, or in its queue, of whom nobody knows: a process that has no call about a lock under way and no lease of it
 * has given back what it had, or goes on trying.
 */
export class Orphans {
  readonly #time: VirtualTime;
  readonly #checker: Checker;
  readonly #trouble: Trouble;
  readonly #names: readonly string[];
  readonly #owners: Owners;
  /** Since when a field is nobody's, by name and field. */
  readonly #sinceUs = new Map<string, number>();

  constructor(
    time: VirtualTime,
    checker: Checker,
    trouble: Trouble,
    names: readonly string[],
    owners: Owners,
  ) {
    this.#time = time;
    this.#checker = checker;
    this.#trouble = trouble;
    this.#names = names;
    this.#owners = owners;
  }

  glance(server: SimServer): void {
    for (const name of this.#names) {
      // Who is silent in a queue loses its place when somebody else looks for the next.
      const alive = list(server, "ZRANGE", fairAliveKey(name), Math.ceil(server.timeMs), "+inf", "BYSCORE");
      const queue = list(server, "LRANGE", fairQueueKey(name), 0, -1).filter((field) =>
        alive.includes(field),
      );
      for (const field of new Set([...list(server, "HKEYS", name), ...queue])) this.#look(name, field);
    }
  }

  #look(name: string, field: string): void {
    const { nowUs } = this.#time;
    const owner = this.#owners.ownerOf(field);
    const key = `${name} ${field}`;
    if (owner === undefined || this.#isKnown(owner.name, name)) {
      this.#sinceUs.delete(key);
      return;
    }
    const firstUs = this.#sinceUs.get(key) ?? nowUs;
    this.#sinceUs.set(key, firstUs);
    const sinceUs = Math.max(firstUs, this.#checker.calls.endedUs(owner.name, name));
    if (nowUs - Math.max(sinceUs, this.#quietUs(owner), this.#fallenUs(name, owner)) <= this.#boundUs(owner))
      return;
    this.#checker.fail(
      "leftovers",
      `"${name}" has ${field} of ${owner.name}, who has neither a lease nor a call since ${sinceUs / US} ms`,
    );
  }

  #isKnown(process: string, name: string): boolean {
    const { calls } = this.#checker;
    if (this.#owners.hasForgotten(process, name) || this.#checker.isHad(name, process)) return true;
    return [...calls.pending].some((call) => call.process === process && call.names.includes(name));
  }

  /** When the last fault that it felt was mended, and the pauses of its clean-ups, which are as long as that was, are over. */
  #quietUs(owner: Owner): number {
    const latest = this.#trouble.latestOf(owner.name);
    if (latest === undefined) return 0;
    // What is refused without a connection is not tried again: a place is lost by silence, what was given to it and a lease by their TTL.
    if (!owner.plan.rules.queues) return latest.endsUs + this.#leaseUs(owner) + GIVEN_UP_US;
    const pauseUs = Math.min(LONGEST_PAUSE_MS * US, 2 * latest.longestUs + 1_000 * US);
    return latest.endsUs + pauseUs + 2 * owner.plan.options.commandTimeoutMs * US;
  }

  /** When what was over by itself, and is not given back any more, has fallen by its TTL. */
  #fallenUs(name: string, owner: Owner): number {
    const lapsedUs = this.#checker.lapsedUs(name);
    return lapsedUs === undefined ? 0 : lapsedUs + this.#leaseUs(owner);
  }

  /** No lease of it is longer. */
  #leaseUs({ plan: { options } }: Owner): number {
    return Math.max(options.watchdogMs, 2 * options.commandTimeoutMs) * US;
  }

  #boundUs({ plan: { distance } }: Owner): number {
    return GIVEN_BACK_MS * US + WAYS * (distance.leastUs + distance.spreadUs);
  }
}

function list(server: SimServer, name: string, ...args: readonly (string | number)[]): readonly string[] {
  return (server.command(name, ...args) as readonly unknown[]).map(String);
}
