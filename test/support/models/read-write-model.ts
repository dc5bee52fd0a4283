import fc from "fast-check";

/** A thread of one of the clients. */
export interface Actor {
  readonly client: number;
  readonly threadId: number;
}

export type Half = "read" | "write";

/** One thing that somebody does to a read-write lock. */
export type Step =
  | { readonly act: "tryLock" | "unlock" | "forceUnlock"; readonly half: Half; readonly actor: Actor }
  /** So much time passes that every lease is over. */
  | { readonly act: "expire" };

/** What a step brings: the hold count of the lease, "refused", "done", what forced unlock answers, or an error's code. */
export type Outcome = number | boolean | "refused" | "done" | string;

export const CLIENTS = 2;
const THREADS = 2;

const actor: fc.Arbitrary<Actor> = fc.record({
  client: fc.nat(CLIENTS - 1),
  threadId: fc.integer({ min: 1, max: THREADS }),
});
const half: fc.Arbitrary<Half> = fc.constantFrom("read", "write");
const tryLock: fc.Arbitrary<Step> = fc.record({ act: fc.constant("tryLock"), half, actor });
const unlock: fc.Arbitrary<Step> = fc.record({ act: fc.constant("unlock"), half, actor });
const forceUnlock: fc.Arbitrary<Step> = fc.record({ act: fc.constant("forceUnlock"), half, actor });

/** @param expires whether time may be made to pass */
export function histories(expires: boolean): fc.Arbitrary<readonly Step[]> {
  const step = fc.oneof(
    { weight: 8, arbitrary: tryLock },
    { weight: 6, arbitrary: unlock },
    { weight: 1, arbitrary: forceUnlock },
    { weight: expires ? 1 : 0, arbitrary: fc.constant<Step>({ act: "expire" }) },
  );
  return fc.array(step, { minLength: 5, maxLength: 30 });
}

interface Counts {
  read: number;
  write: number;
}

/** What a read-write lock is: who reads how often, and who writes. */
export class ReadWriteModel {
  readonly #counts = new Map<string, Counts>();

  apply(step: Step): Outcome {
    if (step.act === "expire") {
      this.#counts.clear();
      return "done";
    }
    const own = this.#of(step.actor);
    switch (step.act) {
      case "tryLock":
        return this.#tryLock(step.half, step.actor, own);
      case "unlock":
        if (own[step.half] === 0) return "ERR_HOLDFAST_NOT_HELD";
        own[step.half] -= 1;
        return "done";
      default:
        return this.#forceUnlock(step.half);
    }
  }

  /** Who holds what, by actor. */
  holders(): readonly (readonly [Actor, Readonly<Counts>])[] {
    return [...this.#counts]
      .filter(([, { read, write }]) => read + write > 0)
      .map(([key, counts]) => [JSON.parse(key), { ...counts }]);
  }

  get mode(): Half | undefined {
    const all = [...this.#counts.values()];
    if (all.some(({ write }) => write > 0)) return "write";
    return all.some(({ read }) => read > 0) ? "read" : undefined;
  }

  #tryLock(wanted: Half, actor: Actor, own: Counts): Outcome {
    const others = this.holders().filter(([other]) => JSON.stringify(other) !== JSON.stringify(actor));
    if (wanted === "write" && own.write === 0 && own.read > 0) return "ERR_HOLDFAST_UPGRADE";
    const excluded = wanted === "write" ? others.length > 0 : others.some(([, { write }]) => write > 0);
    if (excluded) return "refused";
    own[wanted] += 1;
    return own[wanted];
  }

  #forceUnlock(wanted: Half): boolean {
    if (this.mode !== wanted) return false;
    this.#counts.clear();
    return true;
  }

  #of({ client, threadId }: Actor): Counts {
    const key = JSON.stringify({ client, threadId });
    const counts = this.#counts.get(key) ?? { read: 0, write: 0 };
    this.#counts.set(key, counts);
    return counts;
  }
}
