import { describe, expect, it } from "vitest";
import { Distinct } from "./distinct.js";
import { emptyCells, type TableHead, table } from "./table.js";
import { Tally } from "./tally.js";

const head: TableHead = {
  firstSeed: 7,
  elapsedMs: 2_000,
  end: "all were played",
  kinds: ["lock", "fair"],
  faults: ["cut", "stop"],
  canMeet: () => true,
  isWhole: true,
};

function tallied(): Tally {
  const tally = new Tally();
  const add = (commands: number, kinds: string[], faults: Record<string, number>) =>
    tally.add({
      commands,
      kinds,
      faults,
      states: ["a", String(commands)],
      longestWaitMs: commands,
      exceptions: {},
    });
  add(40, ["lock"], { cut: 3, stop: 1 });
  add(2_000, ["lock", "fair"], { cut: 1, stop: 0 });
  add(50, ["fair"], {});
  return tally;
}

describe("the closing table", () => {
  it("counts what was played and names what was not", () => {
    const tally = tallied();
    expect(emptyCells(tally, head)).toEqual(["fair × stop"]);
    expect([tally.medianCommands, tally.medianFaults, tally.states.count]).toEqual([50, 1, 4]);
    const text = table(tally, head, 100);
    expect(text).toContain(
      "script calls                         2,090, 1,045 a second, median 50 a schedule",
    );
    expect(text).toMatch(/^cut +4 +2 +1$/m);
    expect(text).toMatch(/^stop +1 +1 +0$/m);
    expect(text).toContain("FAILED: no schedule has tried\n  fair × stop");
  });

  it("asks for no cell of what never meets", () => {
    const apart = { ...head, canMeet: (kind: string, fault: string) => kind !== "fair" || fault !== "stop" };
    expect(emptyCells(tallied(), apart)).toEqual([]);
    expect(table(tallied(), apart, 100)).toMatch(/^stop +1 +1 +-$/m);
  });

  it("asks for no full coverage where there could not be any", () => {
    expect(table(tallied(), { ...head, isWhole: false }, 100)).not.toContain("FAILED");
  });

  it("names each broken promise with its seed", () => {
    const tally = tallied();
    tally.broken.push({ seed: 12, rule: "order", text: "token 3 after 4\n  at somewhere" });
    expect(table(tally, head, 100)).toMatch(/\n {2}seed 12 {2}order: token 3 after 4$/m);
  });

  it("keeps within the width of the terminal, whatever the number of kinds", () => {
    const kinds = Array.from({ length: 30 }, (_, nth) => `kind number ${nth}`);
    const lines = table(tallied(), { ...head, kinds, isWhole: false }, 100).split("\n");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
    for (const kind of kinds) expect(lines.some((line) => line.includes(kind))).toBe(true);
  });
});

describe("counting different states", () => {
  it("is exact as long as they fit", () => {
    const distinct = new Distinct();
    for (let nth = 0; nth < 300_000; nth += 1) distinct.add(`state ${nth % 200_000}`);
    expect(distinct).toMatchObject({ count: 200_000, isExact: true });
  });

  it("is an estimate within two percent beyond that", () => {
    const distinct = new Distinct(1_000);
    for (let nth = 0; nth < 300_000; nth += 1) distinct.add((nth % 200_000).toString(16).padStart(8, "0"));
    expect(distinct.isExact).toBe(false);
    expect(Math.abs(distinct.count / 200_000 - 1)).toBeLessThan(0.02);
  });
});
