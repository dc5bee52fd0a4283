import { describe, expect, test } from "vitest";
import { QuorumError } from "../../src/errors.js";

describe("QuorumError", () => {
  test.each([
    [1, "1 server failed, so a majority of 2 can not be reached: reason 1"],
    [2, "2 servers failed, so a majority of 2 can not be reached: reason 1; reason 2"],
  ])("tells how many servers failed, and why: %i", (count, message) => {
    const failures = Array.from({ length: count }, (_, i) => new Error(`reason ${i + 1}`));
    expect(new QuorumError("a+a", 0, 2, failures).message).toBe(`red lock "a+a": ${message}`);
  });
});
