import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readFailure } from "./campaign/failure.js";
import { replayFailure } from "./campaign/replay.js";

/** Shrunk schedules that broke a promise once, as `npm run simulate` keeps them. */
const folder = join(import.meta.dirname, "histories");

describe("what was mended", () => {
  it("stays mended in each kept history", async () => {
    const kept = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith(".json")) : [];
    for (const file of kept) {
      const { violations } = await replayFailure(readFailure(join(folder, file)));
      expect(violations, `npm run simulate -- --replay test/simulation/histories/${file} --trace`).toEqual(
        [],
      );
    }
  });
});
