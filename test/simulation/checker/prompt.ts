import { type ClientPlan, longestWatchdogMs } from "../workload/plan.js";
import type { VirtualTime } from "../world/virtual-time.js";
import type { PendingCall } from "./calls.js";
import type { Checker } from "./checker.js";
import type { Trouble } from "./trouble.js";

const US = 1_000;
/** A client that hands a lock on inside leaves it to others for so long at most (decision 029), and timers are late. */
const YIELD_MS = 400;
const TIMERS_MS = 100;
/** A release and its message, a question that comes too late, the next one, and what is cleaned up before it: one way each. */
const WAYS = 12;
/** So long after the last fault all have subscriptions again, and what the dead have left is gone. */
const ECHO_US = 20_000 * US;
const STANDSTILLS = ["stop", "suspend", "stall"];
/** So long after it a process has connected again to a server that was replaced meanwhile. */
const CONNECTS_US = 5_000 * US;

/** How soon those who wait for a lock are told of it. */
export interface Told {
  /** How much longer than usual that may take, once nobody has it; undefined: nothing is known about that. */
  readonly freeMs?: number;
  /** How long readers may have to wait beside readers once no writer waits; undefined: nobody shares it. */
  readonly sharedMs?: number;
  /** Whether a writer that waits keeps readers out. */
  readonly givesWay?: boolean;
}

/** What the rule has to know about the fleet. */
export interface Fleet {
  /** Whether a process has left something to its TTL: it was closed, or has forgotten a lease. */
  hasLeft(name: string): boolean;
  /** Whether a call waits for nothing but its lock. */
  mayEnter(call: PendingCall): boolean;
}

/** Since when a call could come in, and how much more time it has for that. */
interface Since {
  readonly us: number;
  readonly moreUs: number;
  /** Whether only those can who read. */
  readonly isShared: boolean;
}

/**
 * Where nothing has befallen the fleet for a while, whoever waits for a lock that nobody has is in as soon as he has heard of it: a
 * release tells him, and no timer is needed for that. So is a reader where all that have the lock read.
 */
export class Prompt {
  readonly #time: VirtualTime;
  readonly #checker: Checker;
  readonly #trouble: Trouble;
  readonly #names: ReadonlyMap<string, Told>;
  readonly #fleet: Fleet;
  #wayUs = 0;
  #leaseUs = 0;

  /** @param names the locks of which waiters are told by messages */
  constructor(
    time: VirtualTime,
    checker: Checker,
    trouble: Trouble,
    names: ReadonlyMap<string, Told>,
    fleet: Fleet,
  ) {
    this.#time = time;
    this.#checker = checker;
    this.#trouble = trouble;
    this.#names = names;
    this.#fleet = fleet;
  }

  takesPart(plan: ClientPlan): void {
    const { distance, options } = plan;
    const watchdogMs = longestWatchdogMs(plan);
    this.#wayUs = Math.max(this.#wayUs, distance.leastUs + distance.spreadUs);
    this.#leaseUs = Math.max(this.#leaseUs, watchdogMs * US, 2 * options.commandTimeoutMs * US);
  }

  glance(): void {
    const { nowUs } = this.#time;
    const { calls } = this.#checker;
    // Older data may have a hold, or a place in a queue, of which nobody knows any more.
    if (this.#trouble.happened("server-older")) return;
    const quietUs = this.#trouble.hasBegun ? this.#trouble.endsUs + ECHO_US : 0;
    const leastUs = (YIELD_MS + TIMERS_MS) * US + WAYS * this.#wayUs;
    if (nowUs < quietUs + leastUs) return;
    for (const [name, told] of this.#names) {
      if (this.#fleet.hasLeft(name)) continue;
      const since = this.#checker.isHad(name) ? this.#sharedSince(name, told) : this.#freeSince(name, told);
      if (since === undefined) continue;
      const lapsedUs = this.#checker.overUs(name);
      const fallenUs = lapsedUs === undefined ? 0 : lapsedUs + this.#leaseUs;
      const sinceUs = Math.max(quietUs, fallenUs, since.us);
      const waitsSinceUs = (call: PendingCall) =>
        Math.max(sinceUs, call.startUs, quietUs + this.#standstillUs(call));
      const late = [...calls.pending].find(
        (call) =>
          call.isAlone &&
          call.names.length === 1 &&
          call.names[0] === name &&
          (call.reads || !since.isShared) &&
          nowUs - waitsSinceUs(call) > leastUs + since.moreUs &&
          !call.isDead() &&
          this.#fleet.mayEnter(call),
      );
      if (late === undefined) continue;
      const ms = (nowUs - waitsSinceUs(late)) / US;
      const who = since.isShared ? "only readers have" : "nobody has";
      this.#checker.fail(
        "progress",
        `${late.what} waits, although ${who} "${name}" for ${ms} ms, and nothing has happened`,
      );
    }
  }

  #freeSince(name: string, { freeMs }: Told): Since | undefined {
    if (freeMs === undefined) return undefined;
    return { us: this.#checker.calls.changedUs(name), moreUs: freeMs * US, isShared: false };
  }

  /** Those of one client who wait to read come in one after the other, by a question each. */
  #sharedSince(name: string, { sharedMs, givesWay }: Told): Since | undefined {
    const { calls } = this.#checker;
    const { isWriting, us } = calls.written(name);
    if (sharedMs === undefined || (givesWay === true && isWriting)) return undefined;
    const readers = [...calls.pending].filter((call) => call.reads && call.names.includes(name)).length;
    const moreUs = sharedMs * US + 2 * readers * this.#wayUs;
    return { us: Math.max(us, this.#checker.sharedSinceUs(name)), moreUs, isShared: true };
  }

  /**
   * For how long its machine was suspended: what waits until no copy can come, as behind a server's clock, waits on where it was. Also for
   * how long its process stood still where such a server has come: until it has met that it makes deadlines by the clock before.
   */
  #standstillUs({ process, startUs }: PendingCall): number {
    const isBehind = this.#trouble.happened("server behind takes over");
    const [sorts, afterUs] = isBehind ? ([STANDSTILLS, CONNECTS_US] as const) : ([["suspend"], 0] as const);
    return this.#trouble
      .spellsOf(process, sorts)
      .filter(({ untilUs }) => untilUs + afterUs > startUs)
      .reduce((sum, { fromUs, untilUs }) => sum + untilUs - fromUs, 0);
  }
}
