import { describe, expect, test } from "vitest";
import { NotHeldError } from "../../src/errors.js";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import { watchLeaks } from "../support/run/leaks.js";
import { seededRandom } from "../support/run/seeded-random.js";
import { backends, openedFor } from "../support/servers/backends.js";

watchLeaks();

/** The queue of the clients that wait for the lock `short`. */
const QUEUE = "holdfast_waiting:{short}";

/** What happened to one call, by the order of happening. */
interface Visit {
  readonly client: number;
  /** Stood in line; a tryLock without a wait does not. */
  readonly queued: boolean;
  readonly called: number;
  entered: number | undefined;
  left: number | undefined;
}

/** Writes down who was in a lock and when, as a model of mutual exclusion wants to know it. */
class History {
  readonly visits: Visit[] = [];
  #moment = 0;

  called(client: number, queued: boolean): Visit {
    const visit = { client, queued, called: this.#next(), entered: undefined, left: undefined };
    this.visits.push(visit);
    return visit;
  }

  entered(visit: Visit): void {
    visit.entered = this.#next();
  }

  left(visit: Visit): void {
    visit.left = this.#next();
  }

  /** Visits in the order of entering. */
  get served(): Visit[] {
    return this.visits
      .filter(({ entered }) => entered !== undefined)
      .sort((a, b) => (a.entered ?? 0) - (b.entered ?? 0));
  }

  #next(): number {
    this.#moment += 1;
    return this.#moment;
  }
}

function expectExclusion({ served }: History): void {
  for (const [i, visit] of served.entries()) {
    const next = served[i + 1];
    if (next !== undefined) expect(visit.left ?? Number.POSITIVE_INFINITY).toBeLessThan(next.entered ?? 0);
  }
}

function expectFirstComeFirstServed({ served }: History, client: number): void {
  const calls = served.filter((visit) => visit.queued && visit.client === client).map(({ called }) => called);
  expect(calls).toEqual([...calls].sort((a, b) => a - b));
}

for (const backend of backends) {
  describe(`under load on ${backend.name}`, () => {
    const server = openedFor(backend);
    const clientsOf = (count: number): Holdfast[] => Array.from({ length: count }, () => server().client());

    test("locks and unlocks 10,000 fresh names", { timeout: 120_000 }, async () => {
      const client = server().client();
      const flows = Array.from({ length: 50 }, async (_, flow) => {
        for (let i = 0; i < 200; i++) {
          const lease = await client.getLock(`fresh:${flow}:${i}`).lock();
          expect(lease.holdCount).toBe(1);
          await lease.unlock();
        }
      });
      await Promise.all(flows);
      expect(await server().keys()).toEqual([]);
    });

    test("lets exactly one of 1,000 tasks in that wait 10 ms for a lease of 10 s", async () => {
      const clients = clientsOf(4);
      const tasks = Array.from({ length: 1_000 }, (_, task) =>
        clients[task % 4]?.getLock("one").tryLock({ waitMs: 10, leaseMs: 10_000 }),
      );
      const winners = (await Promise.all(tasks)).filter((lease) => lease !== null);
      expect(winners).toHaveLength(1);
      await winners[0]?.unlock();
    });

    test("lets all of 100 tasks in that hold a lease of 5 ms and release at once", async () => {
      const clients = clientsOf(4);
      const visit = async (task: number): Promise<boolean> => {
        const lease = await clients[task % 4]?.getLock("short").tryLock({ waitMs: 10_000, leaseMs: 5 });
        await lease?.unlock().catch((error: unknown) => {
          // Five milliseconds may pass before this line is reached.
          if (!(error instanceof NotHeldError)) throw error;
        });
        return lease !== null && lease !== undefined;
      };
      const served = await Promise.all(Array.from({ length: 100 }, (_, task) => visit(task)));
      expect(served).toEqual(served.map(() => true));
      // If a lease has ended before its release, a note may stay in the queue for ten minutes: a score of -1 or -2. No client waits there.
      for (const waiting of [
        [1, "+inf"],
        ["-inf", -3],
      ] as const)
        await expect.poll(() => server().raw("ZCOUNT", QUEUE, ...waiting)).toBe(0);
      await server().raw("DEL", QUEUE);
    });

    test("lets nobody in beside anybody, serves all, and each client's waiters in their order", async () => {
      const random = seededRandom();
      const clients = clientsOf(4);
      const history = new History();
      const turns = async (count: number) => {
        for (let i = 0; i < count; i++) await new Promise(setImmediate);
      };
      const stay = async (visit: Visit, lease: Lease) => {
        history.entered(visit);
        await turns(random.below(3));
        lease.assertHeld();
        history.left(visit);
        await lease.unlock();
      };
      const round = async (client: number) => {
        const lock = clients[client]?.getLock("busy");
        if (lock === undefined) return;
        const queued = random.below(4) > 0;
        const visit = history.called(client, queued);
        const lease = await (queued ? lock.lock() : lock.tryLock());
        if (lease !== null) await stay(visit, lease);
      };
      const task = async (client: number) => {
        for (let i = 0; i < 4; i++) {
          await turns(random.below(5));
          await round(client);
        }
      };
      await Promise.all(Array.from({ length: 24 }, (_, i) => task(i % 4)));
      expectExclusion(history);
      expect(history.visits.filter(({ queued, left }) => queued && left === undefined)).toEqual([]);
      for (const client of clients.keys()) expectFirstComeFirstServed(history, client);
    });

    test("cancels and times out waiters at random, and everybody else is served alone", async () => {
      const random = seededRandom();
      const clients = clientsOf(3);
      const history = new History();
      const task = async (client: number) => {
        const leaving = new AbortController();
        const lock = clients[client]?.getLock("hasty");
        const visit = history.called(client, true);
        const options = [{}, { waitMs: 1 + random.below(20) }, { signal: leaving.signal }][random.below(3)];
        const waiting = lock?.tryLock({ waitMs: 30_000, ...options }).catch((error: unknown) => {
          if (error !== leaving.signal.reason) throw error;
          return null;
        });
        for (let i = random.below(40); i > 0; i--) await new Promise(setImmediate);
        leaving.abort(new Error("left the line"));
        const lease = (await waiting) ?? null;
        if (lease === null) return;
        history.entered(visit);
        await new Promise(setImmediate);
        history.left(visit);
        await lease.unlock();
      };
      for (let burst = 0; burst < 5; burst++) {
        await Promise.all(Array.from({ length: 30 }, (_, i) => task(i % 3)));
      }
      expectExclusion(history);
      for (const client of clients.keys()) expectFirstComeFirstServed(history, client);
      for (const client of clients) await client.getLock("hasty").using({ waitMs: 5_000 }, () => undefined);
    });
  });
}
