import { checkCount } from "../checks.js";
import { events, type LatchAwaitEvent } from "../events.js";
import { checkWaitOptions, type WaitOptions } from "../options.js";
import { showInLogs } from "../printed.js";
import { latchCountDown } from "../protocol/count-scripts.js";
import { LATCH_CLOSED, LATCH_OPENED } from "../protocol/messages.js";
import { reasonOf } from "../runtime/abort-signals.js";
import { tracedOn } from "../runtime/traced.js";
import type { Waiter } from "../runtime/waiter.js";
import { CallInLine } from "./call-in-line.js";
import { type Count, change, look } from "./count.js";

/**
 * Lets waiters continue once something has happened a number of times. Reusable after it has opened.
 *
 * All methods reject with `UnavailableError` when Redis does not answer or refuses: the change has then happened once or not at all. They
 * reject with `WrongTypeError` when the key holds something else, and with `ClientClosedError` once the client is closed. Wrong arguments
 * are a `TypeError` or a `RangeError`. Source: Redisson's RCountDownLatch.
 */
export interface CountDownLatch {
  /** The name that the program uses. */
  readonly name: string;

  /**
   * Closes the latch until it has been counted down `count` times (1 or more).
   * @returns false if it is already closed; its count stays
   * @example await latch.trySetCount(parts.length);
   */
  trySetCount(count: number): Promise<boolean>;

  /**
   * Counts down by one, and opens the latch at zero; no effect on an open latch. If Redis does not answer or refuses, the change is
   * repeated in the background.
   * @example await latch.countDown();
   */
  countDown(): Promise<void>;

  /**
   * How many times the latch must still be counted down; 0 when it is open.
   * @example const missing = await latch.getCount();
   */
  getCount(): Promise<number>;

  /**
   * Waits until the latch is open or deleted, at most `waitMs`, by default for ever.
   * @returns false when the time ran out
   * @throws the signal's reason when it aborts
   * @example const isOpen = await latch.await({ waitMs: 60_000 });
   */
  await(options?: WaitOptions): Promise<boolean>;

  /**
   * Opens the latch by removing it.
   * @returns false if it was open
   * @example await latch.delete();
   */
  delete(): Promise<boolean>;
}

/** The highest number that scripts count exactly. */
const HIGHEST_COUNT = Number.MAX_SAFE_INTEGER;

/** A latch in Redis. */
export class RemoteLatch implements CountDownLatch {
  readonly #count: Count;

  constructor(count: Count) {
    this.#count = count;
  }

  get name(): string {
    return this.#count.name;
  }

  toJSON(): object {
    const { name, kind } = this.#count;
    return { name, kind };
  }

  async trySetCount(count: number): Promise<boolean> {
    checkCount("count", count, 1, HIGHEST_COUNT);
    const { client, key, channel } = this.#count;
    client.assertOpen(this.#count);
    const setting = { count: key, value: count, ttlMs: 0, channel, message: LATCH_CLOSED };
    const { countTrySet } = await import("../protocol/later-count-scripts.js");
    const { status } = await change(this.#count, countTrySet, (request) => ({ ...setting, request }));
    return status === "set";
  }

  async countDown(): Promise<void> {
    const { key, channel } = this.#count;
    await change(this.#count, latchCountDown, (request) => ({ count: key, request, channel }), {
      goesOn: true,
    });
  }

  async getCount(): Promise<number> {
    return look(this.#count);
  }

  await(options: WaitOptions = {}): Promise<boolean> {
    try {
      checkWaitOptions(options);
      const { client } = this.#count;
      const { waitMs = client.settings.waitMs, signal } = options;
      client.assertOpen(this.#count);
      if (signal?.aborted) throw reasonOf(signal);
      const wait = new LatchWait(this.#count, client.newWaiter(waitMs, signal, this.#count));
      const { start, end, asyncStart, asyncEnd, error } = events.latchAwait;
      const endIsHeard = end.hasSubscribers || asyncEnd.hasSubscribers || error.hasSubscribers;
      const isHeard = endIsHeard || start.hasSubscribers || asyncStart.hasSubscribers;
      return isHeard ? traced(wait) : wait.run();
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async delete(): Promise<boolean> {
    const { client, key, channel } = this.#count;
    client.assertOpen(this.#count);
    const deletion = { count: key, others: [], channel, message: LATCH_OPENED };
    const { countDelete } = await import("../protocol/later-count-scripts.js");
    const { status } = await change(this.#count, countDelete, (request) => ({ ...deletion, request }));
    return status === "deleted";
  }
}

showInLogs(RemoteLatch, "CountDownLatch");

/** One call that waits until the latch is open. */
class LatchWait extends CallInLine<boolean> {
  run(): Promise<boolean> {
    const { kind, key, channel } = this.count;
    return this.begin({ id: `${kind}:${key}`, channel, tells: () => true });
  }

  protected ask(): void {
    const { line } = this;
    const waiters = line?.waiters ?? [];
    const askedMs = this.count.client.clock.monotonicMs();
    look(this.count)
      .then((count) => {
        if (count <= 0) this.#opened(waiters);
        else {
          line?.rest(-1);
          this.told(askedMs);
          this.refused();
        }
      })
      .catch((error: unknown) => this.failed(error));
  }

  /** One answer serves all calls that were waiting when the command was sent. */
  #opened(waiters: readonly Waiter[]): void {
    for (const waiter of waiters) waiter.serve();
    // Calls that came meanwhile ask at once.
    this.line?.wake();
    this.entered();
  }

  protected come(): boolean {
    return this.hasEntered;
  }
}

function traced(wait: LatchWait): Promise<boolean> {
  const { count, waiter } = wait;
  const { client, name, kind } = count;
  const event: LatchAwaitEvent = { ...client.about, name, kind, waitMs: waiter.waitMs };
  return tracedOn(
    events.latchAwait,
    event,
    { waiter },
    () => wait.run(),
    (isOpen) => {
      if (isOpen) return { outcome: "opened", via: wait.waitEndedBy };
      return { outcome: event.waitMs === 0 ? "refused" : "timeout" };
    },
  );
}
