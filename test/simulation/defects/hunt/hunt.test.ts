import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { PlayOrder } from "./finding.js";
import { alone, inParallel, nameOf } from "./hunt.js";

describe("hunting", () => {
  it("goes on with the next as soon as one of its workers is free, never with more at once", async () => {
    let atOnce = 0;
    let most = 0;
    const done: number[] = [];
    await inParallel([5, 1, 1, 1], 2, async (turns) => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      for (let turn = 0; turn < turns; turn += 1) await undefined;
      atOnce -= 1;
      done.push(turns);
    });
    expect(most).toBe(2);
    expect(done).toHaveLength(4);
    expect(done[0]).toBe(1);
  });

  it("judges what was found by playing that alone, whatever it was", () => {
    const order: PlayOrder = {
      firstSeed: 1,
      stride: 2,
      schedules: 1_000,
      histories: ["kept/one.json", "kept/other.json"],
      scenes: "all",
      seconds: 60,
      kinds: ["lock"],
    };
    const nothing = { ...order, schedules: 0, histories: [], scenes: "none" };
    expect(alone(order, { seed: 7 })).toEqual({ ...nothing, firstSeed: 7, schedules: 1 });
    expect(alone(order, { history: "kept/one.json" })).toEqual({ ...nothing, histories: ["kept/one.json"] });
    expect(alone(order, { scene: "lock: two" })).toEqual({ ...nothing, scenes: { name: "lock: two" } });
  });

  it("names what it has found so that a person finds it", () => {
    const places = [{ seed: 7 }, { history: join("kept", "one.json") }, { scene: "lock: two" }];
    expect(places.map(nameOf)).toEqual(["seed 7", "one.json", "lock: two"]);
  });
});
