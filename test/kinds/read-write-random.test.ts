import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import { backends, openedFor } from "../support/backends.js";
import { type FakeTime, fakeTime } from "../support/fake-time.js";
import { seededRandom } from "../support/seeded-random.js";
import { watched } from "../support/watched.js";

const NAME = "order:7";
const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
/** A release that leaves a lock to a reader whose lease ends earlier tells nobody: waiters ask again by then. */
const SAFETY_MS = 5 * SECOND_MS;
const CLIENTS = 3;
const RUNS = Number(process.env["HOLDFAST_VISIT_RUNS"] ?? 100);
/** Whoever comes last has been in by then. */
const LONGEST_S = 1_000;
const random = seededRandom();

type Half = "read" | "write";

/** One task: it comes, waits for so long at most, stays, and goes. */
interface Visit {
  readonly client: number;
  readonly half: Half;
  readonly fair: boolean;
  readonly comesMs: number;
  readonly waitMs: number | undefined;
  /** Undefined: renewed by the watchdog. */
  readonly leaseMs: number | undefined;
  readonly staysMs: number;
  /** Taken inside of the first hold; a reader only reads again. */
  readonly inner: { readonly half: Half; readonly leaseMs: number | undefined } | undefined;
  readonly releasesOuterFirst: boolean;
}

const half = fc.constantFrom<Half>("read", "write");
const leaseMs = fc.constantFrom(undefined, 3 * SECOND_MS, 20 * SECOND_MS);
const visit: fc.Arbitrary<Visit> = fc.record({
  client: fc.nat(CLIENTS - 1),
  half,
  fair: fc.boolean(),
  comesMs: fc.nat(30 * SECOND_MS),
  waitMs: fc.constantFrom(undefined, 0, 5 * SECOND_MS),
  leaseMs,
  staysMs: fc.nat(40 * SECOND_MS),
  inner: fc.option(fc.record({ half, leaseMs }), { nil: undefined }),
  releasesOuterFirst: fc.boolean(),
});

function lockOf(client: Holdfast | undefined, half: Half, fair = false) {
  const pair = client?.getReadWriteLock(NAME, { fair });
  if (pair === undefined) throw new Error("no such client");
  return half === "read" ? pair.readLock() : pair.writeLock();
}

/** What a task has. */
interface Stay {
  readonly visit: Visit;
  readonly half: Half;
  readonly leaseMs: number | undefined;
}

/** What all tasks together have. */
class House {
  readonly #time: FakeTime;
  readonly #clients: readonly Holdfast[];
  readonly #stays = new Map<Lease, Stay>();
  #waiting = 0;
  #emptyForS = 0;

  constructor(time: FakeTime, clients: readonly Holdfast[]) {
    this.#time = time;
    this.#clients = clients;
  }

  async play(visits: readonly Visit[]): Promise<void> {
    const ends = Promise.all(visits.map((visit) => this.#visit(visit)));
    const seen = watched(ends);
    for (let second = 0; seen.outcome === undefined; second += 1) {
      expect(second).toBeLessThan(LONGEST_S);
      await this.#time.clock.advance(SECOND_MS);
      this.#check();
      this.#checkDoor();
    }
    await ends;
    // What was lost and not released falls by itself.
    await this.#time.clock.advance(60 * SECOND_MS);
    expect(this.#time.server.dump()).toEqual({});
  }

  async #visit(visit: Visit): Promise<void> {
    await this.#pass(visit.comesMs);
    const lock = lockOf(this.#clients[visit.client], visit.half, visit.fair);
    this.#waiting += 1;
    const options = visit.waitMs === undefined ? {} : { waitMs: visit.waitMs };
    const outer = await lock.tryLock({ waitMs: HOUR_MS, ...options, ...leaseOf(visit) });
    this.#waiting -= 1;
    if (outer === null) return;
    const leases = [outer];
    this.#enter(outer, { visit, ...visit });
    if (visit.inner !== undefined) {
      const innerHalf = visit.half === "read" ? "read" : visit.inner.half;
      const again = lockOf(this.#clients[visit.client], innerHalf, visit.fair);
      const { inner } = visit;
      const lease = await outer.run(() => again.lock(leaseOf(inner)));
      leases.push(lease);
      this.#enter(lease, { visit, half: innerHalf, leaseMs: inner.leaseMs });
    }
    await this.#pass(visit.staysMs);
    for (const lease of visit.releasesOuterFirst ? leases : leases.reverse()) {
      const wasHeld = lease.state === "held";
      const released = lease.unlock();
      await (wasHeld ? released : expect(released).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" }));
      this.#stays.delete(lease);
    }
  }

  #enter(lease: Lease, stay: Stay): void {
    this.#stays.set(lease, stay);
    this.#check();
  }

  /** Nobody is beside a writer; who is believed to be in is so in Redis; no lease ends that is renewed. */
  #check(): void {
    const fields = this.#time.fields(NAME);
    const held = [...this.#stays].filter(([{ state }]) => state === "held");
    const [, writer] = held.find(([, { half }]) => half === "write") ?? [];
    for (const [lease, { visit, half }] of held) {
      expect(fields).toHaveProperty([lease.holder]);
      if (half === "read") this.#checkKeys(lease, held);
      if (writer !== undefined) expect(visit).toBe(writer.visit);
    }
    for (const [{ state }, { leaseMs }] of this.#stays) if (leaseMs === undefined) expect(state).toBe("held");
  }

  /** Each hold of a reader has a key of its own. */
  #checkKeys({ holder }: Lease, held: readonly (readonly [Lease, Stay])[]): void {
    const keys = Object.keys(this.#time.server.dump()).filter((key) => key.includes(`:${holder}:`));
    expect(keys.length).toBeGreaterThanOrEqual(held.filter(([lease]) => lease.holder === holder).length);
  }

  /** Nobody waits before an empty house for longer than the safety period. */
  #checkDoor(): void {
    const isEmpty = this.#waiting > 0 && Object.keys(this.#time.fields(NAME)).length === 0;
    this.#emptyForS = isEmpty ? this.#emptyForS + 1 : 0;
    expect(this.#emptyForS * SECOND_MS).toBeLessThanOrEqual(SAFETY_MS + SECOND_MS);
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => this.#time.clock.schedule(ms, resolve));
  }
}

function leaseOf({ leaseMs }: Pick<Visit, "leaseMs">): { leaseMs?: number } {
  return leaseMs === undefined ? {} : { leaseMs };
}

describe("tasks that come to a read-write lock at random, wait, re-enter, outstay their leases and go", () => {
  const open = fakeTime();

  test("exclude each other, keep what they were promised and do not wait in vain [B29]", {
    timeout: 300_000,
  }, async () => {
    const play = async (visits: readonly Visit[]) => {
      const options = { safetyPeriodMs: SAFETY_MS };
      const time = open(options);
      const clients = [time.holdfast, ...[1, 2].map(() => time.connect(options).holdfast)];
      await new House(time, clients).play(visits);
      // On Node 20 each client with scopes makes all promises of the process slower until it is closed.
      const closed = Promise.all(clients.map((client) => client.close()));
      await time.clock.advance(SECOND_MS);
      await closed;
    };
    await fc.assert(fc.asyncProperty(fc.array(visit, { minLength: 2, maxLength: 8 }), play), {
      seed: random.seed,
      numRuns: RUNS,
      // Shrinking would play hours of failures.
      endOnFailure: true,
    });
  });
});

describe.each(backends)("readers and writers of $name", (backend) => {
  const server = openedFor(backend);

  test.each([false, true])(
    "come in any order, exclude each other and all get in, fair: %s [RedissonReadWriteLockTest 18]",
    {
      timeout: 60_000,
    },
    async (fair) => {
      const clients = Array.from({ length: 4 }, () => server().client({ safetyPeriodMs: HOUR_MS }));
      const inside: Record<Half, number> = { read: 0, write: 0 };
      const turn = async (client: Holdfast) => {
        const half = random.below(3) === 0 ? "write" : "read";
        await lockOf(client, half, fair).using(async () => {
          inside[half] += 1;
          for (let looks = random.below(4); looks >= 0; looks -= 1) {
            expect(inside.write === 0 || inside.write + inside.read === 1).toBe(true);
            await new Promise(setImmediate);
          }
          inside[half] -= 1;
        });
      };
      const task = async (client: Holdfast) => {
        for (let turns = 0; turns < 10; turns += 1) await turn(client);
      };
      await Promise.all(clients.flatMap((client) => [1, 2, 3, 4].map(() => task(client))));
      expect(inside).toEqual({ read: 0, write: 0 });
    },
  );
});
