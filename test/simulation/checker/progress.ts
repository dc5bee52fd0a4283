import { type ClientPlan, longestWatchdogMs } from "../workload/plan.js";
import type { VirtualTime } from "../world/virtual-time.js";
import type { Calls, PendingCall } from "./calls.js";
import type { Checker } from "./checker.js";
import type { Trouble } from "./trouble.js";

const MS = 1_000;
/** What dead waiters of a fair queue, pauses of joint locks and late timers may cost on top. */
const SLACK_MS = 10_000;
/** Pauses between attempts, and late timers. */
const LATE_MS = 2_000;
const STANDSTILLS = ["stop", "suspend", "stall"];
/** Tasks hold for one and a half times their lease at most; that of a dead process lasts as long as its lease. */
const LEASES = 3;
/** So long tasks may have to wait until another one adds permits or counts a latch down. */
const LONGEST_COUNT_MS = 120_000;
/** A JVM's waiter that has missed its message sleeps in a fair queue for up to so long. */
const JVM_MS = 60_000;
/** A place of a JVM's that nobody waits in: its own wait, from half a minute on, and another half for its clock. */
const DEAD_PLACE_MS = 65_000;
/** What leaves such places: the thread has gone on, or is there no more. */
const LEAVES_PLACES = ["server-older", "jvm killed"];
/** An attempt, its repetition, clean-up before the next one, and that. */
const COMMANDS = 4;

/** Sees to it that nobody waits for longer than is promised. */
export class Progress {
  /** How long a call has waited at most after all faults were over. */
  longestWaitMs = 0;
  readonly #time: VirtualTime;
  readonly #checker: Checker;
  readonly #trouble: Trouble;
  readonly #isCounted: (name: string) => boolean;
  #boundMs = 0;
  #commandTimeoutMs = 0;
  #jvmMs = 0;
  #places = 0;
  #queued: readonly string[] = [];

  /** @param isCounted whether a name stands for a number that nobody owns: those who wait may do so until somebody changes it */
  constructor(time: VirtualTime, checker: Checker, trouble: Trouble, isCounted: (name: string) => boolean) {
    this.#isCounted = isCounted;
    this.#time = time;
    this.#checker = checker;
    this.#trouble = trouble;
  }

  /** A client that others may have to wait for. */
  takesPart(plan: ClientPlan): void {
    const watchdogMs = longestWatchdogMs(plan);
    const { fleetWatchdogMs = watchdogMs, safetyPeriodMs, commandTimeoutMs } = plan.options;
    const leaseMs = Math.max(watchdogMs, fleetWatchdogMs, 2 * commandTimeoutMs);
    const boundMs = LEASES * leaseMs + safetyPeriodMs + COMMANDS * commandTimeoutMs + SLACK_MS;
    this.#boundMs = Math.max(this.#boundMs, boundMs);
    this.#commandTimeoutMs = Math.max(this.#commandTimeoutMs, commandTimeoutMs);
  }

  /**
   * Others may have to wait for a JVM.
   * @param threads of which each may stand in a queue
   * @param queued the names that have queues
   */
  jvmTakesPart(threads: number, queued: readonly string[]): void {
    this.#jvmMs = JVM_MS;
    this.#places = threads - 1;
    this.#queued = queued;
  }

  /** Each place falls only after the one before it; for one of them there is time in any case. */
  #placesMs({ names }: PendingCall): number {
    const mayBeThere = this.#trouble.happened(...LEAVES_PLACES);
    return mayBeThere && names.some((name) => this.#queued.includes(name)) ? this.#places * DEAD_PLACE_MS : 0;
  }

  glance(calls: Calls): void {
    const { nowUs } = this.#time;
    for (const call of calls.pending) {
      if (call.isDead()) continue;
      const quietUs = Math.max(call.startUs, this.#trouble.endsUs);
      this.longestWaitMs = Math.max(this.longestWaitMs, (nowUs - quietUs) / MS);
      const changedUs = Math.max(quietUs, ...call.names.map((name) => calls.changedUs(name)));
      const lockMs = this.#boundMs + this.#jvmMs + this.#placesMs(call);
      const boundMs = call.names.some(this.#isCounted) ? LONGEST_COUNT_MS : lockMs;
      if (nowUs - changedUs > boundMs * MS) this.#complain(call, "nothing happens");
      else this.#seesEnd(call);
    }
  }

  /**
   * Whatever becomes of servers and connections, commands end, and a call with them: only its own process may keep it up, and a server
   * by whose clock, which has gone back, its commands may still arrive.
   */
  #seesEnd(call: PendingCall): void {
    const { mostMs } = call;
    if (mostMs === Number.POSITIVE_INFINITY) return;
    const standstills = this.#trouble.spellsOf(call.process, STANDSTILLS);
    const spells = [...standstills, ...this.#trouble.allOf("server behind takes over")];
    const awakeUs = Math.max(call.startUs, ...spells.map(({ untilUs }) => untilUs));
    if (this.#time.nowUs - awakeUs <= (mostMs + COMMANDS * this.#commandTimeoutMs + LATE_MS) * MS) return;
    this.#complain(call, `was to wait for ${mostMs} ms at most`);
  }

  #complain({ what, startUs }: PendingCall, why: string): void {
    this.#checker.fail("progress", `${what} is under way since ${startUs / MS} ms, and ${why}`);
  }
}
