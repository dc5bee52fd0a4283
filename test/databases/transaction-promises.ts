import { describe, expect, test } from "vitest";
import type { TransactionCounter } from "../../examples/fencing/test/counter.js";
import type { TestedStore } from "./stores.js";

/**
 * What the guard promises of transactions that are open at the same time.
 *
 * @param untilOneWaits resolves when a statement waits for a lock of another transaction
 */
export function describeTransactions(
  store: TestedStore<TransactionCounter>,
  untilOneWaits: () => Promise<void>,
): void {
  /** The second begins while the first is open, after its read. */
  async function overlapping(
    name: string,
    first: bigint,
    second: bigint,
  ): Promise<PromiseSettledResult<void>> {
    const [one, two] = [store.counter(name), store.counter(name)];
    let following: Promise<void> = Promise.resolve();
    await one.addInOne(first, async () => {
      following = two.addInOne(second);
      // It is looked at below, once the first has committed.
      following.catch(() => undefined);
      await untilOneWaits();
    });
    const [settled] = await Promise.allSettled([following]);
    return settled;
  }

  describe("transactions that are open at once", () => {
    test.each([
      ["the first of its resource", false],
      ["not the first", true],
    ])("follow each other, and the second reads what the first has written: %s", async (_, isThere) => {
      const name = store.freshName();
      const before = isThere ? 1 : 0;
      if (isThere) await store.counter(name).add(1n);
      expect(await overlapping(name, 1n, 2n)).toMatchObject({ status: "fulfilled" });
      expect(await store.counter(name).value()).toBe(before + 2);
    });

    test("of one token follow each other too", async () => {
      const name = store.freshName();
      await overlapping(name, 1n, 1n);
      expect(await store.counter(name).value()).toBe(2);
    });

    test("end with the refusal of a smaller token that has waited", async () => {
      const name = store.freshName();
      expect(await overlapping(name, 2n, 1n)).toMatchObject({ reason: { name: "StaleTokenError" } });
      expect(await store.counter(name).value()).toBe(1);
    });

    test("leave no fence where the body throws", async () => {
      const name = store.freshName();
      const counter = store.counter(name);
      const failing = counter.addInOne(9n, async () => {
        throw new Error("on purpose");
      });
      await expect(failing).rejects.toThrow("on purpose");
      await counter.addInOne(1n);
      expect(await counter.value()).toBe(1);
    });
  });
}
