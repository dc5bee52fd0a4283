import { describe, expect, test } from "vitest";
import { overlaps, type Visit } from "../support/worlds/visits.js";

function visit(who: string, sinceUs: number, untilUs: number, { shared = false, name = "a" } = {}): Visit {
  return { who, name, shared, sinceUs, untilUs };
}

const shared = { shared: true };

describe("a history of visits", () => {
  test.each<[string, readonly Visit[]]>([
    ["one after the other", [visit("A", 0, 5), visit("B", 5, 9), visit("A", 9, 9)]],
    ["of several locks", [visit("A", 0, 5), visit("B", 1, 9, { name: "b" })]],
    ["of readers", [visit("A", 0, 5, shared), visit("B", 1, 9, shared), visit("C", 9, 10)]],
  ])("is as it should be: %s", (_, visits) => {
    expect(overlaps(visits)).toEqual([]);
  });

  test.each<[string, readonly Visit[], number]>([
    ["in the order in which they were written down", [visit("A", 0, 5), visit("B", 4, 9)], 1],
    ["in any other order", [visit("B", 4, 9), visit("A", 0, 5)], 1],
    ["a moment within another's visit", [visit("A", 0, 5), visit("B", 2, 2)], 1],
    ["within a long visit, after a short one", [visit("A", 0, 9), visit("B", 1, 2), visit("C", 5, 6)], 2],
    ["a reader beside a writer", [visit("A", 0, 5), visit("B", 4, 9, shared)], 1],
    ["a writer beside a reader", [visit("A", 0, 5, shared), visit("B", 1, 2, shared), visit("C", 4, 9)], 1],
  ])("has as many overlaps: %s", (_, visits, count) => {
    expect(overlaps(visits)).toHaveLength(count);
  });

  test("tells who met whom, for how long", () => {
    expect(overlaps([visit("A", 100, 150), visit("B", 130, 190)])).toEqual([
      'B entered "a" 30 µs after A and shared it for 20 µs',
    ]);
  });
});
