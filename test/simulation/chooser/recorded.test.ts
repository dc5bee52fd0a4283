import { describe, expect, it } from "vitest";
import type { Choices } from "./chooser.js";
import { recordedChooser } from "./recorded.js";
import { seededChooser } from "./seeded.js";

describe("recorded chooser", () => {
  it("repeats what another chooser made", () => {
    const counts = Array.from({ length: 100 }, (_, at) => at + 1);
    const seeded = seededChooser(5);
    const drawn = counts.map((count) => seeded.stream(count % 2 === 0 ? "even" : "odd").choose(count));
    const recorded = recordedChooser(JSON.parse(JSON.stringify(seeded.made)) as Choices);
    expect(counts.map((count) => recorded.stream(count % 2 === 0 ? "even" : "odd").choose(count))).toEqual(
      drawn,
    );
    expect(recorded.made).toEqual(seeded.made);
  });

  it("takes a number that is too large modulo the count, and 0 for what is missing", () => {
    const chooser = recordedChooser({ a: [7, 3] });
    const stream = chooser.stream("a");
    expect([stream.choose(5), stream.choose(10), stream.choose(10)]).toEqual([2, 3, 0]);
    expect(chooser.stream("toString").choose(10)).toBe(0);
    expect(chooser.made).toEqual({ a: [2, 3, 0], toString: [0] });
  });

  it.each([0, 1.5])("refuses to choose among %d", (count) => {
    expect(() => recordedChooser({}).stream("a").choose(count)).toThrow(RangeError);
  });
});
