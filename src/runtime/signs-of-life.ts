import { fairRefresh, type RefreshAnswer } from "../protocol/fair-scripts.js";
import { batches, inParts } from "./batches.js";
import type { Commands } from "./commands.js";
import type { HashedWheelTimer, Timeout } from "./hashed-wheel-timer.js";
import type { Instant } from "./instant.js";

/** One who stands in the queue of a fair lock. */
export interface Queued {
  readonly key: string;
  readonly channel: string;
  /** The field that stands for it. */
  readonly holder: string;
  refreshed(answer: RefreshAnswer, seen: Sighted): void;
}

/** When something was seen in Redis. */
export interface Sighted {
  /** Just before the command that saw it was sent. */
  readonly sentAt: Instant;
  /** How often the connection had been lost by then. */
  readonly resets: number;
}

/** Redis believes a waiter alive for four times as long. */
const PERIOD_MS = 1_500;
/** As many waiters go into one call: more would hold up the server for others. */
const BATCH_SIZE = 500;

/**
 * Tells Redis each period who of this client still waits in a queue, all in one command, and brings back what became of
 * them: no message that is lost costs a place. Idle, with no timer, when nobody waits.
 */
export class SignsOfLife {
  readonly #commands: Commands;
  readonly #wheel: HashedWheelTimer;
  readonly #queued = new Set<Queued>();
  #beat: Timeout | undefined;

  constructor(commands: Commands, wheel: HashedWheelTimer) {
    this.#commands = commands;
    this.#wheel = wheel;
  }

  add(queued: Queued): void {
    this.#queued.add(queued);
    this.#schedule();
  }

  remove(queued: Queued): void {
    this.#queued.delete(queued);
  }

  stop(): void {
    this.#queued.clear();
    this.#beat?.cancel();
    this.#beat = undefined;
  }

  #schedule(): void {
    this.#beat ??= this.#wheel.schedule(PERIOD_MS, () => {
      this.#beat = undefined;
      if (this.#queued.size === 0) return;
      this.#schedule();
      for (const batch of batches(this.#commands, this.#queued, BATCH_SIZE)) {
        const queues = [...byKey(batch).values()];
        // What is not answered is asked again in the next period.
        inParts(queues, (part, divisible) => this.#refresh(part, divisible)).catch(() => undefined);
      }
    });
  }

  async #refresh(queues: readonly Queue[], divisible: boolean): Promise<void> {
    const input = () =>
      queues.map(({ key, channel, queued }) => ({
        key,
        channel,
        holders: queued.map(({ holder }) => holder),
      }));
    const [{ key = "" } = {}] = queues;
    const patience = { timeoutMs: PERIOD_MS, divisible };
    const seen = await this.#commands.exchange(fairRefresh, key, input, patience);
    queues.forEach(({ queued }, at) => {
      queued.forEach((one, place) => {
        const answer = seen.reply[at]?.[place];
        if (answer !== undefined && this.#queued.has(one)) one.refreshed(answer, seen);
      });
    });
  }
}

interface Queue {
  readonly key: string;
  readonly channel: string;
  readonly queued: Queued[];
}

function byKey(batch: readonly Queued[]): ReadonlyMap<string, Queue> {
  const queues = new Map<string, Queue>();
  for (const one of batch) {
    const queue = queues.get(one.key) ?? { key: one.key, channel: one.channel, queued: [] };
    queues.set(one.key, queue);
    queue.queued.push(one);
  }
  return queues;
}
