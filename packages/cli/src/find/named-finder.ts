import type { Fleet, FleetOptions, Holdfast, ListedLock, LockState } from "holdfast";
import type { Finder } from "./askable-sources.js";
import { joinedLock } from "./joined-lock.js";

/** Looks up each lock by its name, and so also finds free locks, and locks that no source lists. */
export class NamedFinder implements Finder {
  /** The stored state at the last look, in the order of the names. */
  states: readonly LockState[] = [];
  readonly #holdfast: Pick<Holdfast, "inspect">;
  readonly #names: readonly string[];
  readonly #presence: Pick<Holdfast, "fleet">;
  #fleet: Fleet | undefined;

  constructor(
    holdfast: Pick<Holdfast, "inspect">,
    names: readonly string[],
    presence: Pick<Holdfast, "fleet">,
  ) {
    this.#holdfast = holdfast;
    this.#names = names;
    this.#presence = presence;
  }

  async fleet(options?: FleetOptions): Promise<Fleet> {
    this.#fleet = await this.#presence.fleet(options);
    return this.#fleet;
  }

  locks(): AsyncIterable<ListedLock> {
    return { [Symbol.asyncIterator]: () => this.#look() };
  }

  async *#look(): AsyncGenerator<ListedLock, void, undefined> {
    const fleet = this.#fleet ?? (await this.fleet());
    this.states = await Promise.all(this.#names.map((name) => this.#holdfast.inspect(name)));
    for (const state of this.states) yield joinedLock(state, fleet);
  }
}
