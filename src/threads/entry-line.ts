import type { Waiter } from "../runtime/waiter.js";

/**
 * The waiters that want to re-enter a stay, in order of arrival, each with its `mayEnter`: false while another body excludes the waiter.
 */
export class EntryLine {
  readonly #waiting = new Map<Waiter, () => boolean>();

  /** How many waiters came before this one. */
  before(waiter: Waiter): number {
    return [...this.#waiting.keys()].indexOf(waiter);
  }

  add(waiter: Waiter, mayEnter: () => boolean): void {
    this.#waiting.set(waiter, mayEnter);
  }

  remove(waiter: Waiter): void {
    this.#waiting.delete(waiter);
  }

  /** Skips waiters that a running body blocks: the body's own calls would otherwise wait behind these waiters for ever. */
  isFirst(waiter: Waiter): boolean {
    for (const [earlier, mayEnter] of this.#waiting) {
      if (earlier === waiter) return true;
      if (!earlier.over && isTrue(mayEnter)) return false;
    }
    return true;
  }

  wake(): void {
    for (const waiter of this.#waiting.keys()) waiter.wake();
  }
}

/** A waiter whose check throws may not enter: it is about to leave the line. */
function isTrue(mayEnter: () => boolean): boolean {
  try {
    return mayEnter();
  } catch {
    return false;
  }
}
