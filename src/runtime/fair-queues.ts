import type { Timer } from "../clock.js";
import { fairRefresh } from "../protocol/fair-scripts.js";
import { inRootContext } from "../root-context.js";
import { batches, inParts } from "./batches.js";
import type { Commands } from "./commands.js";
import { FairQueue, type FairWaiter } from "./fair-queue.js";
import type { HashedWheelTimer } from "./hashed-wheel-timer.js";
import type { Instant } from "./instant.js";
import type { Subscriptions } from "./subscriptions.js";

interface FairQueuesServices {
  readonly clientId: string;
  readonly commands: Commands;
  readonly subscriptions: Subscriptions;
  readonly wheel: HashedWheelTimer;
}

/** How often Redis is told that a call still waits. Redis considers a waiter alive for four times as long. */
const PERIOD_MS = 1_500;
/** How many waiters go into one call: more would keep the server from other commands for too long. */
const BATCH_SIZE = 500;
/** Cheaper than `queueMicrotask`, which keeps an async resource. */
const SOON = Promise.resolve();

/**
 * The calls of this client that wait for fair locks, by lock. Once per period, one command tells Redis that they still wait and returns
 * their state. So no call loses its place because a message was lost. While no call waits, there is no timer.
 */
export class FairQueues {
  readonly #services: FairQueuesServices;
  /** The queues, by the key of the lock. */
  readonly queues: Map<string, FairQueue> = new Map();
  /** The calls about which Redis is asked at the end of this tick. */
  #asked: Set<FairWaiter> | undefined;
  #beat: Timer | undefined;

  constructor(services: FairQueuesServices) {
    this.#services = services;
  }

  /** This call is about to ask Redis for the first time, so messages from now on may concern it. */
  expect(entry: FairWaiter): void {
    (this.queues.get(entry.key) ?? this.#open(entry)).expect(entry);
  }

  /** Redis has answered that this call is in the queue. */
  stands(
    entry: FairWaiter,
    answer: { readonly sentAt: Instant; readonly meetsJvm: boolean; readonly pushed: boolean },
  ): void {
    (this.queues.get(entry.key) ?? this.#open(entry)).stands(entry, answer);
    this.#schedule();
  }

  /** How many calls of this client are in the queue of a lock. */
  standing(key: string): number {
    return this.queues.get(key)?.standing.size ?? 0;
  }

  remove(entry: FairWaiter): void {
    const queue = this.queues.get(entry.key);
    queue?.remove(entry);
    if (queue?.isEmpty) this.queues.delete(entry.key);
  }

  stop(): void {
    this.queues.clear();
    this.#beat?.cancel();
    this.#beat = undefined;
  }

  #open({ key, channel }: FairWaiter): FairQueue {
    const { clientId, subscriptions } = this.#services;
    const queue = new FairQueue(channel, {
      clientId,
      subscriptions,
      ask: (entries) => this.#askSoon(entries),
    });
    this.queues.set(key, queue);
    return queue;
  }

  /** Sends one command for all questions of a tick. */
  #askSoon(entries: Iterable<FairWaiter>): void {
    if (this.#asked === undefined) {
      this.#asked = new Set();
      // The answers concern several calls, so the command belongs to none of them.
      inRootContext(() => {
        void SOON.then(() => {
          const asked = this.#asked ?? [];
          this.#asked = undefined;
          this.#refreshAll(
            [...asked].filter((entry) => this.#has(entry)),
            "reconnect",
          );
        });
      });
    }
    for (const entry of entries) this.#asked.add(entry);
  }

  #schedule(): void {
    this.#beat ??= this.#services.wheel.schedule(PERIOD_MS, () => {
      this.#beat = undefined;
      const standing = [...this.queues.values()].flatMap((queue) => [...queue.standing]);
      if (standing.length === 0) return;
      this.#schedule();
      this.#refreshAll(standing, "timer");
    });
  }

  #refreshAll(entries: readonly FairWaiter[], why: "timer" | "reconnect"): void {
    for (const batch of batches(this.#services.commands, entries, BATCH_SIZE)) {
      const parts = [...byKey(batch).values()];
      // Unanswered parts are asked again in the next period.
      inParts(parts, (part, divisible) => this.#refresh(part, why, divisible)).catch(() => undefined);
    }
  }

  async #refresh(
    parts: readonly LockEntries[],
    why: "timer" | "reconnect",
    divisible: boolean,
  ): Promise<void> {
    const input = () =>
      parts.map(({ key, channel, entries }) => ({
        key,
        channel,
        holders: entries.map(({ holder }) => holder),
      }));
    const [{ key = "" } = {}] = parts;
    const patience = { timeoutMs: PERIOD_MS, divisible };
    const seen = await this.#services.commands.exchange(fairRefresh, key, input, patience);
    parts.forEach(({ key, entries }, at) => {
      entries.forEach((entry, place) => {
        const answer = seen.reply[at]?.[place];
        if (answer === undefined || !this.#has(entry)) return;
        if (answer.status === "queued")
          this.queues.get(key)?.saw({ sentAt: seen.sentAt, meetsJvm: answer.meetsJvm });
        entry.refreshed(answer, seen, why);
      });
    });
  }

  #has(entry: FairWaiter): boolean {
    return this.queues.get(entry.key)?.standing.has(entry) ?? false;
  }
}

/** One lock's part of a command. */
interface LockEntries {
  readonly key: string;
  readonly channel: string;
  readonly entries: FairWaiter[];
}

function byKey(batch: readonly FairWaiter[]): ReadonlyMap<string, LockEntries> {
  const parts = new Map<string, LockEntries>();
  for (const entry of batch) {
    const part = parts.get(entry.key) ?? { key: entry.key, channel: entry.channel, entries: [] };
    parts.set(entry.key, part);
    part.entries.push(entry);
  }
  return parts;
}
