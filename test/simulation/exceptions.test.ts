import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EXCEPTIONS } from "./checker/exceptions.js";
import { isShown } from "./exceptions/shown.js";

const HOW = "npm run simulate -- --exceptions looks for a schedule";

describe("what is documented as possible", () => {
  it.each(EXCEPTIONS)("%s: a schedule shows it", async (exception) => {
    expect(await isShown(exception), HOW).toBe(true);
  });

  it("has a schedule of nothing else", () => {
    const files = readdirSync(join(import.meta.dirname, "exceptions"));
    expect(files.filter((file) => file.endsWith(".json")).length, HOW).toBe(EXCEPTIONS.length);
  });
});
