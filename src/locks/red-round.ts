import { forCaller } from "../runtime/for-caller.js";
import type { Hold } from "../threads/stay.js";
import { Acquisition } from "./acquisition.js";
import type { Caller } from "./entrance.js";
import type { SingleLock } from "./single-lock.js";
import type { Wish } from "./wish.js";

/** The outcome of asking for one lock. If it has neither a hold nor a failure, the lock was not acquired in time. */
export interface AskedLock {
  readonly lock: SingleLock;
  readonly wish: Wish;
  readonly hold?: Hold | undefined;
  readonly failure?: unknown;
}

/**
 * Locks that one call asks for at the same time. The acquisitions share the promise of the call: an answer goes straight to its
 * acquisition, and the caller continues when all acquisitions have ended, or when one has work for the caller's async context.
 */
export class RedRound {
  readonly #asked: (() => AskedLock)[] = [];
  readonly #underWay = new Set<Acquisition>();
  /** The acquisitions with work for the caller's async context. */
  readonly #toDo: Acquisition[] = [];
  readonly #ended: (lock: SingleLock, wish: Wish) => void;
  /** Makes the caller continue. */
  #tell: (() => void) | undefined;

  /** @param ended called as soon as the acquisition of one of the locks has ended */
  constructor(ended: (lock: SingleLock, wish: Wish) => void) {
    this.#ended = ended;
  }

  ask(lock: SingleLock, wish: Wish, callerOf: () => Caller): void {
    try {
      const acquisition = new Acquisition(lock.identity, wish, callerOf());
      this.#asked.push(() => outcomeOf(acquisition, { lock, wish }));
      this.#underWay.add(acquisition);
      acquisition.start(() => this.#told(acquisition, lock));
    } catch (error) {
      const failure = forCaller(error, lock.identity, wish.waiter);
      this.#asked.push(() => ({ lock, wish, failure }));
      this.#ended(lock, wish);
    }
  }

  /** Runs the waiting work; to be called in the caller's async context. @returns false when all acquisitions have ended */
  goesOn(): boolean {
    for (let next = this.#toDo.shift(); next !== undefined; next = this.#toDo.shift()) next.goesOn();
    return this.#underWay.size > 0;
  }

  /** Resolves when `goesOn` must be called again. */
  news(): Promise<void> {
    return new Promise((resolve) => {
      this.#tell = resolve;
    });
  }

  /** The outcomes, in the order of the calls of `ask`. Call it in the caller's async context, because it creates the errors. */
  outcomes(): readonly AskedLock[] {
    return this.#asked.map((outcome) => outcome());
  }

  #told(acquisition: Acquisition, lock: SingleLock): void {
    if (!acquisition.isOver) this.#toDo.push(acquisition);
    else if (this.#underWay.delete(acquisition)) this.#ended(lock, acquisition.wish);
    if (this.#toDo.length > 0 || this.#underWay.size === 0) this.#tell?.();
  }
}

function outcomeOf(acquisition: Acquisition, asked: AskedLock): AskedLock {
  try {
    return { ...asked, hold: acquisition.outcome() };
  } catch (failure) {
    return { ...asked, failure };
  }
}
