import type { LookIntoQueue } from "../protocol/lock-calls.js";
import { clientChannel } from "../protocol/names.js";
import type { Awaited } from "./awaited.js";
import type { EarServices } from "./ear.js";
import { type LineServices, WaitLine } from "./wait-line.js";
import type { Waiter } from "./waiter.js";
import { usableYield } from "./yields.js";

/** The number of empty lines that are always kept. */
const FEW_EMPTY = 64;
/**
 * A client remembers at most this many locks whose releases have reached other clients. For further locks, newcomers may overtake waiters.
 */
const MOST_HEARD = 1_000;

/** The waiters of this client, in one line for each thing that they wait for. */
export class WaitLines {
  /** What a line uses. */
  readonly services: LineServices;
  /** The lines, by the id of the thing that each waits for. Empty lines are kept, because most new waiters join one of them. */
  #lines = new Map<string, WaitLine>();
  #empty = 0;
  /** Whether a server knows all listeners of a channel. */
  readonly countsAll: boolean;
  /** The ids of locks and semaphores with a queue in Redis in which clients may wait. */
  readonly waitedFor: LineServices["waitedFor"] = new Map();
  readonly #clientId: string;

  /** @param countsAll whether a server knows all listeners of a channel */
  constructor(clientId: string, services: EarServices, countsAll: boolean) {
    this.#clientId = clientId;
    this.services = { ...services, usableYield: usableYield(), waitedFor: this.waitedFor };
    this.countsAll = countsAll;
  }

  /**
   * Puts a waiter at the end of the line for what it waits for.
   * @param queues whether the line may have a place in a queue in Redis: a new line then gets its own channel
   */
  join(awaited: Awaited, waiter: Waiter, queues: boolean | undefined = awaited.queues): WaitLine {
    let line = this.#lines.get(awaited.id);
    if (line === undefined) {
      const ownChannel = queues ? clientChannel(awaited.channel, this.#clientId) : undefined;
      line = new WaitLine(awaited, ownChannel, this.services);
      this.#lines.set(awaited.id, line);
    } else if (line.head === undefined) {
      this.#empty -= 1;
    }
    line.add(waiter);
    return line;
  }

  leave(line: WaitLine, waiter: Waiter): void {
    if (!line.remove(waiter)) return;
    // Waiters that have left the line no longer get its answers.
    line.answers.untold = undefined;
    this.#empty += 1;
    if (this.#empty <= Math.max(FEW_EMPTY, this.#lines.size / 2)) return;
    // Builds a new map: each of many deletions could copy the old map.
    this.#lines = new Map([...this.#lines].filter(([, { length }]) => length > 0));
    this.#empty = 0;
  }

  /** The line for a lock; undefined while no call of this client waits for it. */
  of(lockId: string): WaitLine | undefined {
    const line = this.#lines.get(lockId);
    return line?.head === undefined ? undefined : line;
  }

  /** How a release has to look into the queue of a lock in Redis; undefined if no client is known to wait there. */
  look(lockId: string): LookIntoQueue | undefined {
    const asOf = this.waitedFor.get(lockId);
    if (asOf === undefined) return undefined;
    return { way: this.lengthOf(lockId) === 0 ? "leaves" : "stays", countsAll: this.countsAll, asOf };
  }

  /**
   * A release of this client that did not look into the queue has reached other clients, or other clients wait for the same permits. So the
   * next release looks into the queue.
   */
  wasHeard(lockId: string): void {
    const { waitedFor } = this;
    if (waitedFor.size < MOST_HEARD) waitedFor.set(lockId, {});
  }

  /**
   * A release has removed this client from the queue, even if a call has come to wait since the release was made. If `waitedFor` has got a
   * new report since then, that report stays: the question that led to it was sent after the release, but may have been answered before the
   * release.
   */
  hasLeft(lockId: string, { asOf }: LookIntoQueue): void {
    const line = this.of(lockId);
    line?.ears?.hasLeft();
    const { waitedFor } = this;
    if (line === undefined && waitedFor.get(lockId) === asOf) waitedFor.delete(lockId);
  }

  /** How many calls of this client wait for a lock. */
  lengthOf(lockId: string): number {
    return this.of(lockId)?.length ?? 0;
  }
}
