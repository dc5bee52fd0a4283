import { relative } from "node:path";
import { describe, expect, it } from "vitest";
import { keptHistories, readFailure } from "./campaign/failure.js";
import { replayFailure } from "./campaign/replay.js";

describe("what was mended", () => {
  it("stays mended in each kept history [own-75]", async () => {
    for (const file of keptHistories()) {
      const { violations } = await replayFailure(readFailure(file));
      const again = `npm run simulate -- --replay ${relative(process.cwd(), file)} --trace`;
      expect(violations, again).toEqual([]);
    }
  });
});
