import { describe, expect, test } from "vitest";
import type { Counter } from "../../examples/fencing/test/counter.js";
import type { TestedStore } from "./stores.js";

const STALE = { name: "StaleTokenError" };
/** Neighbours that a double can not tell apart. */
const BEYOND_DOUBLES = 2n ** 53n;
/** So often, since two calls that start at once meet in another way each time. */
const ROUNDS = 20;

/** What the guard of each store promises, whatever the store is. */
export function describeGuard<Own extends Counter>(store: TestedStore<Own>): void {
  const fresh = () => store.counter(store.freshName());

  describe("the guard", () => {
    test("lets the first write create what is not there, and the same token write many times", async () => {
      const counter = fresh();
      for (const value of [1, 2, 3]) {
        await counter.add(7n);
        expect(await counter.value()).toBe(value);
      }
    });

    test("refuses a token once a greater one was there, and leaves the value alone", async () => {
      const counter = fresh();
      await counter.add(7n);
      await counter.add(9n);
      await expect(counter.add(8n)).rejects.toMatchObject({ ...STALE, token: 8n });
      await counter.add(9n);
      expect(await counter.value()).toBe(3);
    });

    test.each([
      ["by their size, not digit by digit", 9n, 10n],
      ["exactly", BEYOND_DOUBLES, BEYOND_DOUBLES + 1n],
      ["up to the greatest that Redis counts to", 2n ** 63n - 2n, 2n ** 63n - 1n],
    ])("compares tokens %s", async (_, smaller, greater) => {
      const counter = fresh();
      await counter.add(smaller);
      await counter.add(greater);
      await expect(counter.add(smaller)).rejects.toMatchObject(STALE);
      expect(await counter.value()).toBe(2);
    });

    test("refuses the write of a holder that has read before the next one wrote", async () => {
      const [late, next] = sharedBy(store, 2);
      const adding = late?.add(1n, async () => next?.add(2n));
      await expect(adding).rejects.toMatchObject(STALE);
      expect(await late?.value()).toBe(1);
    });

    test("refuses an earlier holder from the moment when the next one has read", async () => {
      const [earlier, next] = sharedBy(store, 2);
      await earlier?.add(1n);
      await next?.add(2n, async () => {
        await expect(earlier?.add(1n)).rejects.toMatchObject(STALE);
      });
      expect(await next?.value()).toBe(2);
    });

    test("keeps one fence for each resource", async () => {
      const [one, other] = [fresh(), fresh()];
      await one.add(9n);
      await other.add(1n);
      expect([await one.value(), await other.value()]).toEqual([1, 1]);
    });

    test("lets two that come at once write one after the other, or refuses the smaller", async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const [smaller, greater] = sharedBy(store, 2);
        const [one, two] = await Promise.allSettled([smaller?.add(1n), greater?.add(2n)]);
        if (one.status === "rejected") expect(one.reason).toMatchObject(STALE);
        expect(two.status).toBe("fulfilled");
        expect(await smaller?.value()).toBe(one.status === "fulfilled" ? 2 : 1);
      }
    });
  });
}

/** Counters of one name, with connections of their own. */
function sharedBy<Own extends Counter>(store: TestedStore<Own>, count: number): Own[] {
  const name = store.freshName();
  return Array.from({ length: count }, () => store.counter(name));
}
