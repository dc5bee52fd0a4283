import { describe, expect, it } from "vitest";
import { inParallel } from "./hunt.js";

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
});
