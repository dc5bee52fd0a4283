import type { Clock } from "../../../src/clock.js";
import type { Holdfast } from "../../../src/holdfast.js";

/** Tasks of several clients that take one lock again and again until they are told to stop. */
export class RivalTasks {
  readonly #clock: Clock;
  readonly #tasks: Promise<void>[] = [];
  #isOver = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * @param pauseMs between two visits
   * @returns how long the task has waited each time, in milliseconds; grows while it goes on
   */
  visits(holdfast: Holdfast, key: string, holdMs: number, pauseMs = 0): readonly number[] {
    const waits: number[] = [];
    const visit = async () => {
      const sinceMs = this.#clock.monotonicMs();
      const lease = await holdfast.getLock(key).lock();
      waits.push(this.#clock.monotonicMs() - sinceMs);
      await this.#sleep(holdMs);
      await lease.unlock();
      if (pauseMs > 0) await this.#sleep(pauseMs);
    };
    const goOn = async () => {
      while (!this.#isOver) await visit();
    };
    this.#tasks.push(goOn());
    return waits;
  }

  /** No task comes again. Resolves when all have left. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#tasks);
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.schedule(ms, resolve, true));
  }
}
