import type { Clock } from "../clock.js";

const MINUTE_MS = 60_000;

/** Limits how often an action may be done in a minute, by one actor and in total. Requests without an actor count together as one actor. */
export class Allowance {
  readonly #clock: Clock;
  readonly #ofOne: number;
  readonly #inAll: number;
  #taken: readonly { readonly actor: string | null; readonly atMs: number }[] = [];

  constructor(clock: Clock, ofOne: number, inAll: number) {
    this.#clock = clock;
    this.#ofOne = ofOne;
    this.#inAll = inAll;
  }

  /** @returns whether the action may be done now; then it is counted */
  take(actor: string | null): boolean {
    const nowMs = this.#clock.monotonicMs();
    const recent = this.#taken.filter(({ atMs }) => nowMs - atMs < MINUTE_MS);
    const own = recent.filter((each) => each.actor === actor).length;
    const may = recent.length < this.#inAll && own < this.#ofOne;
    this.#taken = may ? [...recent, { actor, atMs: nowMs }] : recent;
    return may;
  }
}
