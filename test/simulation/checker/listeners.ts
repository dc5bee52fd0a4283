import { events, type LeaseLostEvent } from "../../../src/events.js";
import type { Shared } from "../workload/family.js";
import type { Checker } from "./checker.js";

type Listener = (event: unknown) => void;

/** Somebody who listens to all events of a run, and compares what they tell with what the checker knows. */
export class Listeners {
  readonly #checker: Checker;
  readonly #lost = new Map<string, { readonly lost: number; readonly name: string }>();
  readonly #end: (() => void)[] = [];

  constructor(checker: Checker) {
    this.#checker = checker;
  }

  begin(): void {
    const onLost = (event: LeaseLostEvent) => this.#onLost(event);
    events.leaseLost.subscribe(onLost);
    this.#end.push(() => events.leaseLost.unsubscribe(onLost));
    const nothing: Listener = () => undefined;
    const { acquire, leaseLost: _, ...others } = events;
    const handlers = { start: nothing, end: nothing, asyncStart: nothing, asyncEnd: nothing, error: nothing };
    acquire.subscribe(handlers);
    this.#end.push(() => acquire.unsubscribe(handlers));
    for (const channel of Object.values(others)) {
      channel.subscribe(nothing);
      this.#end.push(() => channel.unsubscribe(nothing));
    }
  }

  /** Channels are those of the whole process. */
  end(): void {
    for (const end of this.#end.splice(0)) end();
  }

  /**
   * Each lease is lost once, so that never more can be told to be lost than were given, or were lost before the call had given them.
   * Permits have ids, and are not counted.
   */
  compare(shared: readonly Shared[]): void {
    const joint = new Set(shared.filter(({ kind }) => /multi|red/.test(kind)).map(({ name }) => name));
    for (const [owner, { lost, name }] of this.#lost) {
      if (joint.has(name)) continue;
      const given = this.#checker.given.get(owner) ?? 0;
      if (lost <= given) continue;
      this.#checker.fail("truth", `${lost} leases of ${owner} were told to be lost, and ${given} were given`);
    }
  }

  #onLost({ name, holder, kind, reason }: LeaseLostEvent): void {
    // A member of a joint lock may be lost before all of them are there: `a` and so on follow its name.
    if (name.includes(".")) return;
    // What a client holds for a call that its close has cancelled was not given to anybody, and is told all the same.
    if (/semaphore/.test(kind) || reason === "closed") return;
    const owner = holder.replace(/:write$/, "");
    this.#lost.set(owner, { lost: (this.#lost.get(owner)?.lost ?? 0) + 1, name });
  }
}
