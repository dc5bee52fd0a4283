import { describe, expect, test } from "vitest";
import { usableYield, Yields } from "../../src/runtime/yields.js";

const TURN_MS = 100;

/** The yields of a line, each after a turn of 100 ms; nobody uses them. */
function vainYields(yields: Yields, count: number, others: number | undefined, startMs = 0): number[] {
  const all: number[] = [];
  for (let nowMs = startMs; all.length < count; ) {
    nowMs += TURN_MS;
    const ms = yields.next(nowMs, others);
    all.push(ms);
    nowMs += ms;
  }
  return all;
}

describe("a yield", () => {
  test("is none where none listens", () => {
    expect(vainYields(new Yields(usableYield()), 3, 0)).toEqual([0, 0, 0]);
  });

  test.each([1, undefined])("grows until what was saved up is spent, with %s listening", (others) => {
    const lengths = vainYields(new Yields(usableYield()), 100, others);
    expect(lengths.slice(0, 7)).toEqual([5, 20, 80, 320, 400, 5, 5]);
    const beyondShortest = lengths.slice(5).reduce((sum, ms) => sum + ms - 5, 0);
    expect(beyondShortest).toBeGreaterThan(0);
    expect(beyondShortest).toBeLessThanOrEqual((100 * TURN_MS + 2_000) / 20);
  });

  test("that was used is as long again, in every line, and its user costs no more than one who only listens", () => {
    const usable = usableYield();
    const yields = new Yields(usable);
    vainYields(yields, 3, 1);
    yields.used(500);
    expect(vainYields(yields, 3, 1, 500)).toEqual([80, 80, 80]);
    expect(new Yields(usable).next(0, 1)).toBe(80);
  });

  test("is as long as may be again once more listen", () => {
    const yields = new Yields(usableYield());
    vainYields(yields, 10, 1);
    expect(yields.next(3_000, 1)).toBe(5);
    expect(yields.next(3_100, 2)).toBe(400);
    expect(yields.next(3_600, 1)).toBe(400);
    expect(yields.next(4_100, 1)).toBe(5);
  });
});
