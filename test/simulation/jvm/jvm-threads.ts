import type { Clock } from "../../../src/clock.js";
import { JvmInterruptedError, JvmShutdownError } from "./jvm-errors.js";

/** Ends a wait; says whether it was the first to do so. */
type End = (error?: Error) => boolean;

/** Where the threads of a JVM wait, so that they can be interrupted. */
export class JvmThreads {
  readonly #clock: Clock;
  /** By the id of the thread: a thread waits for one thing at a time. */
  readonly #waits = new Map<number, End>();
  #isShutDown = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waits.size;
  }

  /** Whether a thread waits. */
  waits(threadId: number): boolean {
    return this.#waits.has(threadId);
  }

  /**
   * The thread waits until `begin`'s callback is called or the time is up.
   * @param ms undefined for a wait without limit
   * @param begin returns what is to be done when the time is up
   * @returns whether it was called
   */
  wait(
    threadId: number,
    ms: number | undefined,
    begin: (wake: () => boolean) => () => void,
  ): Promise<boolean> {
    if (this.#isShutDown) return Promise.reject(new JvmShutdownError("Redisson is shut down"));
    return new Promise((resolve, reject) => {
      let ended = false;
      const ends = (settle: () => void): boolean => {
        if (ended) return false;
        ended = true;
        timer?.cancel();
        this.#waits.delete(threadId);
        settle();
        return true;
      };
      const timer =
        ms === undefined
          ? undefined
          : this.#clock.schedule(ms, () => {
              if (ends(() => resolve(false))) leave();
            });
      this.#waits.set(threadId, (error) => {
        const isFirst = ends(() => reject(error));
        if (isFirst) leave();
        return isFirst;
      });
      const leave = begin(() => ends(() => resolve(true)));
    });
  }

  sleep(threadId: number, ms: number): Promise<unknown> {
    return this.wait(threadId, ms, () => () => undefined);
  }

  /** As `Thread.interrupt()` of a thread that waits. */
  interrupt(threadId: number): boolean {
    return (
      this.#waits.get(threadId)?.(new JvmInterruptedError(`thread ${threadId} was interrupted`)) ?? false
    );
  }

  shutDown(): void {
    this.#isShutDown = true;
    for (const end of [...this.#waits.values()]) end(new JvmShutdownError("Redisson is shut down"));
  }
}
