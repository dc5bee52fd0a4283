import type { Clock, Timer } from "../../../src/clock.js";
import type { Instant } from "../../../src/runtime/instant.js";
import type { Stream } from "../chooser/chooser.js";
import { Gate } from "./gate.js";
import type { About, VirtualTime } from "./virtual-time.js";

/** Not 0, so that mixed-up or missing readings show. */
const MONOTONIC_START_MS = 60_000;
const US = 1_000;

/** What the clocks of one process show. */
export interface ClockSettings {
  /** What the wall clock shows when the run begins, in milliseconds since the Unix epoch. */
  readonly epochMs: number;
  /** How fast both clocks go: 1 is right. */
  readonly rate: number;
}

/**
 * One process of a run: its clocks, its timers, and the gate that all passes which reaches it. It can be stopped and continued
 * (SIGSTOP, a blocked event loop), suspended with its machine, stopped in the midst of synchronous code, and killed.
 */
export class SimProcess {
  readonly name: string;
  readonly gate: Gate;
  readonly clock: Clock;
  /** How many timers of the library, but those that are due at once, have neither run nor been cancelled. */
  pendingTimers = 0;
  /** When its wall clock was last set back. */
  setBackUs = Number.NEGATIVE_INFINITY;
  readonly #time: VirtualTime;
  readonly #settings: ClockSettings;
  readonly #lateness: Stream;
  /** How long its machine was asleep, and since when it is. */
  #asleepUs = 0;
  #asleepSinceUs: number | undefined;
  /** When it last woke up, and since when it had slept. */
  #woke = { atUs: Number.NEGATIVE_INFINITY, sinceUs: Number.NEGATIVE_INFINITY };
  #wallShiftMs = 0;
  #mayNotGoBack = false;
  #mayNotSleep = false;
  #isCalm = false;
  /** Until when its own code was stopped between two of its statements: nothing reaches it before the run has caught up. */
  #caughtUpUs = 0;
  #stall: { reads: number; readonly forUs: number; readonly begins: (lastsUs: number) => void } | undefined;

  constructor(name: string, time: VirtualTime, settings: ClockSettings, lateness: Stream) {
    this.name = name;
    this.#time = time;
    this.#settings = settings;
    this.#lateness = lateness;
    this.gate = new Gate(time);
    this.clock = {
      monotonicMs: () => this.#read((atUs) => this.#monotonicMs(atUs)),
      wallMs: () => this.#read((atUs) => this.#wallMs(atUs)),
      schedule: (delayMs, callback) => {
        const counts = delayMs > 0 ? 1 : 0;
        this.pendingTimers += counts;
        return this.#schedule(delayMs, callback, () => {
          this.pendingTimers -= counts;
        });
      },
    };
  }

  /** A timer of a task, which has none of the library. */
  after(delayMs: number, callback: () => void): void {
    this.#schedule(delayMs, callback, () => undefined);
  }

  /** When what the process does now happens. */
  get nowUs(): number {
    return Math.max(this.#time.nowUs, this.#caughtUpUs);
  }

  get isDead(): boolean {
    return this.gate.isGone;
  }

  /** Since when its monotonic clock shows what it shows now: in the moment in which its machine wakes up, since that fell asleep. */
  get clockSinceUs(): number {
    const { nowUs } = this.#time;
    return this.#woke.atUs === nowUs ? this.#woke.sinceUs : nowUs;
  }

  /** What its clocks show at this moment of the run, whether or not it is in a state to look at them. */
  get instant(): Instant {
    const { nowUs } = this.#time;
    return { monotonicMs: this.#monotonicMs(nowUs), wallMs: this.#wallMs(nowUs) };
  }

  #monotonicMs(atUs: number): number {
    return MONOTONIC_START_MS + ((atUs - this.#asleepUs - this.#asleepNowUs) * this.#settings.rate) / US;
  }

  /** For how long its machine has been asleep by now, if it is. */
  get #asleepNowUs(): number {
    return this.#asleepSinceUs === undefined ? 0 : Math.max(0, this.#time.nowUs - this.#asleepSinceUs);
  }

  #wallMs(atUs: number): number {
    return this.#settings.epochMs + this.#wallShiftMs + (atUs * this.#settings.rate) / US;
  }

  /**
   * Somebody sets its wall clock. Back only on a machine that never sleeps: where both clocks have lost time nothing is left to know by
   * when a lease ends.
   */
  stepWall(ms: number): void {
    if (ms < 0 && this.#mayNotGoBack) return;
    if (ms < 0) {
      this.#mayNotSleep = true;
      this.setBackUs = this.#time.nowUs;
    }
    this.#wallShiftMs += ms;
  }

  stop(): void {
    this.gate.shut();
  }

  /** What fell due meanwhile runs first, then what has arrived. */
  continue(): void {
    this.gate.open();
    if (this.gate.isShut || this.#asleepSinceUs === undefined) return;
    this.#asleepUs += this.#asleepNowUs;
    this.#woke = { atUs: this.#time.nowUs, sinceUs: this.#asleepSinceUs };
    this.#asleepSinceUs = undefined;
  }

  /** Its machine sleeps until it is continued: the wall clock goes on, the monotonic one does not. */
  suspend(): void {
    this.#mayNotGoBack = true;
    // What its clocks have shown already, in a stall, was no sleep: the monotonic one would go back.
    if (!this.#mayNotSleep) this.#asleepSinceUs ??= this.nowUs;
    this.gate.shut();
  }

  /**
   * Its own code is stopped for a while just before it reads a clock for the `reads`-th time from now.
   * @param begins told for how long from then on nothing reaches it: longer where an earlier stall is not over yet
   */
  stallAt(reads: number, forUs: number, begins: (lastsUs: number) => void): void {
    if (!this.#isCalm) this.#stall = { reads, forUs, begins };
  }

  kill(): void {
    this.gate.close();
  }

  /** A stall that has not hit yet does not come any more, and no other one does. */
  calm(): void {
    this.#isCalm = true;
    this.#stall = undefined;
  }

  #read(show: (atUs: number) => number): number {
    const stall = this.#stall;
    if (stall !== undefined && --stall.reads <= 0) {
      this.#stall = undefined;
      this.#fallBehind(stall.forUs);
      stall.begins(this.#caughtUpUs - this.#time.nowUs);
    }
    return show(this.nowUs);
  }

  #fallBehind(us: number): void {
    this.#caughtUpUs = this.nowUs + us;
    this.gate.shut();
    this.#time.at(this.#caughtUpUs, () => this.continue());
  }

  #schedule(delayMs: number, callback: () => void, ended: () => void): Timer {
    if (Number.isNaN(delayMs)) throw new RangeError("delayMs is not a number");
    let isOpen = true;
    const end = () => {
      if (isOpen) ended();
      isOpen = false;
    };
    const run = () => {
      if (!isOpen) return;
      end();
      callback();
    };
    if (delayMs <= 0) {
      const about = { actor: this.name, queue: `${this.name} soon`, isLive: () => isOpen };
      this.#time.at(this.nowUs, () => this.gate.pass(run), about);
    } else {
      const dueMs = this.#monotonicMs(this.nowUs) + delayMs;
      const about = { actor: this.name, isLive: () => isOpen };
      this.#runAt(dueMs, this.#latenessUs(), () => isOpen && this.gate.passDue(run), about);
    }
    return { cancel: end };
  }

  /** Calls back once the monotonic clock has come so far, and then a little later, as timers do. */
  #runAt(dueMs: number, lateUs: number, run: () => void, about: About): void {
    // From the same moment as is looked at below: a difference in the last digit would never be over.
    const { nowUs } = this.#time;
    const leftUs = ((dueMs - this.#monotonicMs(nowUs)) * US) / this.#settings.rate;
    const due = () => {
      // The machine has slept meanwhile.
      if (this.#asleepSinceUs !== undefined) this.gate.passDue(() => this.#runAt(dueMs, 0, run, about));
      else if (this.#monotonicMs(this.#time.nowUs) < dueMs) this.#runAt(dueMs, 0, run, about);
      else run();
    };
    this.#time.at(nowUs + Math.ceil(leftUs) + lateUs, due, about);
  }

  /** Most timers are a fraction of a millisecond late, one in sixteen a few. */
  #latenessUs(): number {
    const late = this.#lateness.choose(16);
    return late === 15 ? 5_000 : late * 60;
  }
}
