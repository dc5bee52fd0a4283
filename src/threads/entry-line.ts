import type { Waiter } from "../runtime/waiter.js";

/** Who wants to enter a lock once more, in order of arrival, and whether it may as far as others are concerned. */
export class EntryLine {
  readonly #waiting = new Map<Waiter, () => boolean>();

  add(waiter: Waiter, mayEnter: () => boolean): void {
    this.#waiting.set(waiter, mayEnter);
  }

  remove(waiter: Waiter): void {
    this.#waiting.delete(waiter);
  }

  /** Whoever waits for a body to end may not hold up that body's own calls, and so is passed. */
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

/** One that throws is about to leave the line. */
function isTrue(mayEnter: () => boolean): boolean {
  try {
    return mayEnter();
  } catch {
    return false;
  }
}
