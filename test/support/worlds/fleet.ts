import { expect } from "vitest";
import type { HoldfastOptions } from "../../../src/client-options.js";
import type { Holdfast } from "../../../src/holdfast.js";
import type { Room } from "../programs/lock-visitor.js";
import type { Place } from "../programs/place.js";
import { until } from "../run/until.js";
import { watched } from "../run/watched.js";
import { type Child, spawnProgram } from "./child.js";
import { endVisits, everybodyEnters, type Notes, overlaps, rest } from "./visits.js";

/** What processes hold, wait for and visit. All their keys are in one slot. */
const kinds = ["lock", "fair", "write", "permit", "semaphore"] as const;
const kept: readonly Room[] = kinds.map((kind) => ({ lock: `{order}:kept:${kind}`, kind }));
const visited: readonly Room[] = kinds.map((kind) => ({ lock: `{order}:visited:${kind}`, kind }));
/** Longer than any test: nobody enters because the time of another is over. */
const LEASE_MS = 600_000;
const semaphores = [...kept, ...visited].filter(({ kind }) => kind === "semaphore");
const leased = [...kept, ...visited].filter(({ kind }) => kind === "permit");
const namesOf = (rooms: readonly Room[]) => rooms.map(({ lock }) => lock);

/** A key whose slot is that of all locks of a fleet. */
export const KEY_OF_FLEET = "{order}";

/** The names of all that has a value while nobody has it. */
export const valuesOfFleet: readonly string[] = namesOf([...semaphores, ...leased]);

/**
 * Three processes: the first holds something of each kind, the second waits for all that, and all of them go in and out of
 * the same number of others.
 */
export class Fleet {
  readonly children: readonly Child[];
  readonly #holder: Child;
  readonly #waiter: Child;

  private constructor(holder: Child, waiter: Child, third: Child) {
    this.children = [holder, waiter, third];
    this.#holder = holder;
    this.#waiter = waiter;
  }

  static async start(at: Place, options: HoldfastOptions): Promise<Fleet> {
    const [first, ...others] = [...kept, ...visited];
    if (first === undefined) throw new Error("there is nothing to visit");
    const start = async (who: string) => {
      const child = spawnProgram("lock-visitor", { at, who, ...first, also: others, options });
      await child.next("ready");
      return child;
    };
    const [holder, waiter, third] = await Promise.all(["holder", "waiter", "third"].map(start));
    if (holder === undefined || waiter === undefined || third === undefined) throw new Error("not started");
    return new Fleet(holder, waiter, third);
  }

  /** There is one permit of each semaphore. */
  static async givePermits(holdfast: Holdfast): Promise<void> {
    for (const { lock } of semaphores) await holdfast.getSemaphore(lock).trySetPermits(1);
    for (const { lock } of leased) await holdfast.getPermitExpirableSemaphore(lock).trySetPermits(1);
  }

  /**
   * The first holds, the second waits, all visit; then the fault happens. After it the first still holds and the second
   * waits, until the first leaves; everybody comes to visit again; and nobody was ever inside beside somebody else.
   * @param channels those to which somebody listens
   * @param withinMs the bound of each step but the fault
   */
  async survives(
    fault: () => Promise<unknown>,
    channels: () => Promise<readonly string[]>,
    withinMs: number,
  ): Promise<Notes> {
    const names = namesOf(kept);
    const inTime = <T>(what: string, promise: Promise<T>) => bounded(what, promise, withinMs);
    const hold = (child: Child) => names.map((lock) => child.ask("hold", { lock, leaseMs: LEASE_MS }));
    const held = names.map(() => ({ event: "held" }));
    expect(await inTime("the first enters", Promise.all(hold(this.#holder)))).toMatchObject(held);
    const entering = hold(this.#waiter);
    const outcomes = entering.map(watched);
    const isListening = async () =>
      (await channels()).filter((name) => name.includes("kept")).length >= names.length;
    await inTime("the second listens", until(isListening));
    const visits = { locks: namesOf(visited), leaseMs: LEASE_MS };
    const begun = this.children.map((child) => child.ask("visit", visits));
    await inTime("all begin to visit", Promise.all(begun));
    await everybodyEnters(this.children, withinMs);

    await fault();
    const asked = names.map((lock) => this.#holder.ask("state", { lock }));
    const states = await inTime("the first says what it has", Promise.all(asked));
    // Who has a permit of a plain semaphore has no lease.
    expect(states.map(({ state }) => state)).toEqual(
      kinds.map((kind) => (kind === "semaphore" ? "none" : "held")),
    );
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(names.map(() => undefined));
    await everybodyEnters(this.children, withinMs);

    await inTime("the first leaves", Promise.all(names.map((lock) => this.#holder.ask("leave", { lock }))));
    const entered = await inTime("the second enters", Promise.all(entering));
    // All of an answer that is another, for it says why.
    expect(entered.filter(({ event }) => event !== "held")).toEqual([]);
    const notes = await inTime("all rest", rest(this.children));
    expect(overlaps(notes.visits)).toEqual([]);
    return notes;
  }

  async end(): Promise<void> {
    try {
      await endVisits(this.children);
    } finally {
      await Promise.all(this.children.map((child) => child.stop()));
    }
  }
}

/** @throws when it takes too long, with what was waited for */
export async function bounded<T>(what: string, promise: Promise<T>, withinMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${withinMs} ms`)), withinMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
