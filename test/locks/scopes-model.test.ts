import { describe, expect, test } from "vitest";
import { ReentryError, UnavailableError } from "../../src/errors.js";
import type { Lease } from "../../src/lease.js";
import { deliverTwice, loseReply, rejectAtOnce } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { type SeededRandom, seededRandom } from "../support/run/seeded-random.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

const NAMES = ["a", "b", "c"] as const;
const PROGRAMS = 30;
const MOST_NODES = 24;
/** Ten times what the longest of them needs. */
const MOST_TURNS = 40_000;

/** A body that is running in a lock, and the one around it on its path. */
interface Body {
  readonly lock: string;
  readonly bare: boolean;
  readonly around: Body | undefined;
}

function* pathOf(body: Body | undefined): Iterable<Body> {
  for (let at = body; at !== undefined; at = at.around) yield at;
}

/** Random trees of bodies, and the rules that hold for whoever is in one. */
class Program {
  readonly #world: FakeTime;
  readonly #random: SeededRandom;
  readonly #handsOver: boolean;
  readonly #breaks: boolean;
  readonly #inside = new Set<Body>();
  #nodesLeft = MOST_NODES;
  entered = 0;
  passedOver = 0;

  constructor(world: FakeTime, random: SeededRandom, handsOver: boolean, breaks: boolean) {
    this.#world = world;
    this.#random = random;
    this.#handsOver = handsOver;
    this.#breaks = breaks;
  }

  /** One to three things, one after the other or at the same time. */
  async children(around: Body | undefined, atOnce: boolean = this.#random.below(2) === 0): Promise<void> {
    await this.#turns();
    const count = 1 + this.#random.below(3);
    const works = Array.from({ length: count }, () => () => this.#node(around));
    if (atOnce) await Promise.all(works.map((work) => work()));
    else for (const work of works) await work();
  }

  async #node(around: Body | undefined): Promise<void> {
    if (this.#nodesLeft-- <= 0) return;
    const { holdfast } = this.#world;
    // Deeper in a path only the same lock or a later one, as programs do that want no deadlock.
    const least = NAMES.indexOf((around?.lock ?? "a") as (typeof NAMES)[number]);
    const lock = holdfast.getLock(NAMES[least + this.#random.below(NAMES.length - least)] ?? "c");
    const way = this.#random.below(10);
    try {
      if (way < 5) await lock.using((lease) => this.#body(lease, false, around));
      else if (way < 7) await this.#bare(await lock.lock(), around);
      // One thread is on one path: what it holds bare all of it may enter.
      else if (way < 8) await holdfast.asThread(() => this.children(around, false));
      else await this.#attempt(await lock.tryLock().catch(this.#inVain(lock.name, around)), around);
    } catch (error) {
      // Somebody beside this call has taken the lock bare.
      if (!(error instanceof ReentryError)) throw error;
      this.passedOver += 1;
    }
  }

  /** While a copy of an inner release may arrive nothing enters once more: a call that may not wait is told so when a command's time is over. */
  #inVain(lock: string, around: Body | undefined): (error: unknown) => null {
    const isAgain = [...pathOf(around)].some((body) => body.lock === lock);
    return (error) => {
      if (!this.#breaks || !isAgain || !(error instanceof UnavailableError)) throw error;
      return null;
    };
  }

  async #attempt(lease: Lease | null, around: Body | undefined): Promise<void> {
    if (lease === null) this.passedOver += 1;
    else await this.#bare(lease, around);
  }

  async #bare(lease: Lease, around: Body | undefined): Promise<void> {
    await lease.run(() => this.#body(lease, true, around));
    await lease.unlock();
  }

  async #body({ name, holder, holdCount }: Lease, bare: boolean, around: Body | undefined): Promise<void> {
    const body: Body = { lock: name, bare, around };
    const path = new Set(pathOf(body));
    const beside = [...this.#inside].filter(({ lock }) => lock === name).filter((other) => !path.has(other));
    expect(beside, `in "${name}" beside this body`).toEqual([]);
    const held = [...path].filter(({ lock }) => lock === name).length;
    expect(holdCount).toBe(held);
    const fields = this.#world.fields(name);
    // Of one who follows another Redis may not know yet.
    const follows = this.#handsOver && held === 1 && !(holder in fields);
    expect(follows ? Object.values(fields) : fields).toEqual(follows ? ["1"] : { [holder]: String(held) });
    this.#inside.add(body);
    this.entered += 1;
    await this.children(body);
    this.#inside.delete(body);
  }

  async #turns(): Promise<void> {
    for (let i = this.#random.below(4); i > 0; i--) await new Promise(setImmediate);
  }
}

describe("random programs of nested and parallel bodies", () => {
  test.each([
    ["on a good connection", 0, true],
    ["on a connection that breaks now and then", 10, true],
    ["freed in between, on a good connection", 0, false],
    ["freed in between, on a connection that breaks now and then", 10, false],
  ])(
    "%s keep everybody apart who is not on one path, and come to their end",
    { timeout: 60_000 },
    async (_, breaks, handsOver) => {
      const world = open(handsOver ? {} : { handOff: false });
      const random = seededRandom();
      let [entered, passedOver] = [0, 0];
      for (let i = 0; i < PROGRAMS; i++) {
        for (let broken = 0; broken < breaks; broken++) {
          const at = world.driver.calls.length + random.below(100);
          const fault = [loseReply, rejectAtOnce, deliverTwice][random.below(3)] ?? loseReply;
          void world.driver.next(fault, () => world.driver.calls.length >= at);
        }
        const program = new Program(world, random, handsOver, breaks > 0);
        let done = false;
        const finished = program.children(undefined).finally(() => {
          done = true;
        });
        finished.catch(() => undefined);
        for (let turns = 0; !done; turns++) {
          if (turns > MOST_TURNS) throw new Error(`program ${i} does not come to its end`);
          world.clock.block(5);
          await new Promise(setImmediate);
        }
        await finished;
        entered += program.entered;
        passedOver += program.passedOver;
      }
      expect(entered).toBeGreaterThan(5 * PROGRAMS);
      expect(passedOver).toBeGreaterThan(0);
      await world.clock.advance(10_000);
      expect(world.server.dump()).toEqual({});
    },
  );
});
