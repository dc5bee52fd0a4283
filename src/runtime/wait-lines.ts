import type { Clock } from "../clock.js";
import type { Awaited } from "./awaited.js";
import type { Subscriptions } from "./subscriptions.js";
import { type LineServices, WaitLine } from "./wait-line.js";
import type { Waiter } from "./waiter.js";
import { usableYield } from "./yields.js";

/** So many empty lines are kept at least. */
const FEW_EMPTY = 64;

/** The waiters of this client, in one line for each lock or other thing that they wait for. */
export class WaitLines {
  readonly #services: LineServices;
  /** By what is waited for. Empty lines are kept: most waiters that come next join one of them. */
  #lines = new Map<string, WaitLine>();
  #empty = 0;

  constructor(clock: Clock, subscriptions: Subscriptions, safetyPeriodMs: number) {
    this.#services = { clock, subscriptions, safetyPeriodMs, usableYield: usableYield() };
  }

  /** Puts a waiter at the end of the line for what it waits for. */
  join(awaited: Awaited, waiter: Waiter): WaitLine {
    let line = this.#lines.get(awaited.id);
    if (line === undefined) {
      line = new WaitLine(awaited, this.#services);
      this.#lines.set(awaited.id, line);
    } else if (line.head === undefined) {
      this.#empty -= 1;
    }
    line.add(waiter);
    return line;
  }

  leave(line: WaitLine, waiter: Waiter): void {
    if (!line.remove(waiter)) return;
    // Whoever has asked it from elsewhere is not told any more.
    line.answers.untold = undefined;
    this.#empty += 1;
    if (this.#empty <= Math.max(FEW_EMPTY, this.#lines.size / 2)) return;
    // A new map in place of many deletions, each of which could copy it.
    this.#lines = new Map([...this.#lines].filter(([, { length }]) => length > 0));
    this.#empty = 0;
  }

  /** The line for a lock; undefined while no call of this client waits for it. */
  of(lockId: string): WaitLine | undefined {
    const line = this.#lines.get(lockId);
    return line?.head === undefined ? undefined : line;
  }

  /** How many calls of this client wait for a lock. */
  lengthOf(lockId: string): number {
    return this.of(lockId)?.length ?? 0;
  }
}
