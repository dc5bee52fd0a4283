import type { Clock } from "../../../src/clock.js";
import type { JvmCalls } from "./jvm-calls.js";
import type { JvmChannels } from "./jvm-channels.js";
import type { JvmThreads } from "./jvm-threads.js";
import type { JvmWatchdog } from "./jvm-watchdog.js";

/** What the locks, semaphores and latches of one client share. */
export interface JvmServices {
  /** The first half of its holders. */
  readonly id: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly watchdogMs: number;
  /** fairLockWaitTimeout: for how long a waiter counts as alive that waits without limit. */
  readonly fairWaitMs: number;
  readonly calls: JvmCalls;
  readonly channels: JvmChannels;
  readonly threads: JvmThreads;
  readonly mutexes: JvmWatchdog;
  readonly readers: JvmWatchdog;
}

/** What is left of a time to wait, on the wall clock as in Redisson, which may step. */
export class JvmWait {
  readonly #clock: Clock;
  readonly #endMs: number;

  constructor(clock: Clock, waitMs: number) {
    this.#clock = clock;
    this.#endMs = clock.wallMs() + waitMs;
  }

  get leftMs(): number {
    return this.#endMs - this.#clock.wallMs();
  }
}
