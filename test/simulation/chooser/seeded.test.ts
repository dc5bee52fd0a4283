import { describe, expect, it } from "vitest";
import { seededChooser } from "./seeded.js";

function drawn(seed: number, name: string, counts: readonly number[]): number[] {
  const stream = seededChooser(seed).stream(name);
  return counts.map((count) => stream.choose(count));
}

const many = (count: number, times = 20_000) => Array.from({ length: times }, () => count);

describe("seeded chooser", () => {
  it("draws the same numbers for a seed and a name for ever", () => {
    expect(drawn(0, "p0", many(1000, 8))).toEqual([235, 850, 838, 595, 784, 297, 370, 114]);
    expect(drawn(2 ** 53 - 1, "world", [2, 10, 2 ** 32, 2 ** 53 - 1])).toEqual([
      0, 4, 24_251_904, 4_523_950_959_239_570,
    ]);
  });

  it("draws other numbers for another seed, also where only the upper bits differ, and for another name", () => {
    const lists = [
      drawn(1, "p0", many(1000, 8)),
      drawn(2, "p0", many(1000, 8)),
      drawn(1 + 2 ** 32, "p0", many(1000, 8)),
      drawn(1, "p1", many(1000, 8)),
      drawn(1, "0p", many(1000, 8)),
      drawn(1, "", many(1000, 8)),
    ];
    expect(new Set(lists.map(String)).size).toBe(lists.length);
  });

  it("draws for a stream what it would without the others", () => {
    const chooser = seededChooser(7);
    const alone = drawn(7, "p1", many(50, 30));
    const among = alone.map(() => {
      chooser.stream("p0").choose(9);
      return chooser.stream("p1").choose(50);
    });
    expect(among).toEqual(alone);
  });

  it.each([2, 3, 10, 1000, 3 * 2 ** 20, 3 * 2 ** 40])("draws each of %d choices as often", (count) => {
    const buckets = Math.min(count, 10);
    const hits = new Array<number>(buckets).fill(0);
    for (const choice of drawn(11, "even", many(count))) {
      expect(Number.isSafeInteger(choice) && choice >= 0 && choice < count).toBe(true);
      const bucket = Math.floor((choice / count) * buckets);
      hits[bucket] = (hits[bucket] ?? 0) + 1;
    }
    const expected = 20_000 / buckets;
    const chiSquare = hits.reduce((sum, hit) => sum + (hit - expected) ** 2 / expected, 0);
    // 9 degrees of freedom exceed 27.9 once in a thousand; the seed is fixed.
    expect(chiSquare).toBeLessThan(27.9);
  });

  it("begins the streams of neighbouring seeds in unrelated ways", () => {
    const firsts = Array.from({ length: 10_000 }, (_, seed) => drawn(seed, "p0", [2])[0] ?? 0);
    const ones = firsts.reduce((sum, first) => sum + first, 0);
    expect(Math.abs(ones - 5_000)).toBeLessThan(170);
    const changes = firsts.filter((first, at) => first !== firsts[at + 1]).length;
    expect(Math.abs(changes - 5_000)).toBeLessThan(170);
  });

  it("writes down what it draws, by stream", () => {
    const chooser = seededChooser(3);
    const first = [chooser.stream("a").choose(10), chooser.stream("a").choose(10)];
    const second = [chooser.stream("__proto__").choose(10)];
    expect(Object.entries(chooser.made)).toEqual([
      ["a", first],
      ["__proto__", second],
    ]);
  });

  it.each([0, -1, 1.5, Number.NaN, 2 ** 53])("refuses to choose among %d", (count) => {
    expect(() => seededChooser(1).stream("a").choose(count)).toThrow(RangeError);
  });

  it.each([-1, 1.5, Number.NaN, 2 ** 53])("refuses the seed %d", (seed) => {
    expect(() => seededChooser(seed)).toThrow(RangeError);
  });
});
