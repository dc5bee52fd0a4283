import { describe, expect, it } from "vitest";
import { secondsOf } from "../../scripts/run-measured.mjs";
import { complaints, summed } from "../../scripts/test-tally.mjs";

const recorded = { processorSeconds: 100, distinct: 30, tiers: { first: 20, redis: 10, "interop-4.7.0": 5 } };

describe("what the tiers have run", () => {
  it("is counted once for each test, however often it ran", () => {
    const byTier = {
      first: { tests: ["a > 1", "a > 1", "a > 2"], durations: {}, processorSeconds: 41.7 },
      redis: { tests: ["a > 2", "b > 1"], durations: {} },
    };
    expect(summed(byTier)).toEqual({ processorSeconds: 42, distinct: 3, tiers: { first: 2, redis: 2 } });
  });

  it("is fine when nothing is missing", () => {
    expect(complaints(recorded, recorded)).toEqual([]);
    expect(complaints(recorded, { ...recorded, processorSeconds: 125 })).toEqual([]);
  });

  it.each([
    ["a tier that has not run", { tiers: { first: 20, "interop-4.7.0": 5 } }, "the tier redis has not run"],
    [
      "a tier with fewer tests",
      { tiers: { ...recorded.tiers, redis: 9 } },
      "the tier redis has 9 tests, and had 10",
    ],
    ["fewer tests in all", { distinct: 29 }, "all tiers together have 29 tests, and had 30"],
    [
      "more processor time by more than a quarter",
      { processorSeconds: 126 },
      "npm test took 126 s of processor time, and may take 125 s",
    ],
  ])("is not fine with %s", (_, change, complaint) => {
    expect(complaints(recorded, { ...recorded, ...change })).toEqual([complaint]);
  });

  it("may do without a JVM, and then with fewer tests in all", () => {
    const { "interop-4.7.0": _, ...tiers } = recorded.tiers;
    expect(complaints(recorded, { ...recorded, distinct: 25, tiers })).toEqual([]);
  });
});

describe("the processor time that a shell tells", () => {
  it("is that of its children, for users and for the system", () => {
    expect(secondsOf("0m0.01s 0m0.02s\n1m2.50s 0m3.25s\n")).toBeCloseTo(65.75);
  });

  it("is not guessed", () => {
    expect(() => secondsOf("0.01 0.02\n")).toThrow("the shell tells its times in another way");
  });
});

describe("a test without an assertion", () => {
  it.fails("fails", () => undefined);
});
