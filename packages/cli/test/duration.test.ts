import { describe, expect, test } from "vitest";
import { readDuration, tellDuration, writeDuration } from "../src/duration.js";
import { exitCodes } from "../src/exit-codes.js";

describe("durations", () => {
  test.each([
    ["500ms", 500],
    ["30s", 30_000],
    ["1.5m", 90_000],
    ["2h", 7_200_000],
    ["0s", 0],
  ])("%s is %i ms", (text, ms) => {
    expect(readDuration("--wait", text)).toBe(ms);
  });

  test("forever is one where it is allowed", () => {
    expect(readDuration("--wait", "forever", { endless: true })).toBe(Number.POSITIVE_INFINITY);
    expect(() => readDuration("--ttl", "forever")).toThrow(
      '--ttl must be a duration such as 500ms, 30s, 5m or 2h, got "forever"',
    );
  });

  test.each([
    ["30", "--wait has no unit: write 30s or 30ms"],
    ["", '--wait must be a duration such as 500ms, 30s, 5m or 2h, got ""'],
    ["-1s", '--wait must be a duration such as 500ms, 30s, 5m or 2h, got "-1s"'],
    ["1e3s", '--wait must be a duration such as 500ms, 30s, 5m or 2h, got "1e3s"'],
    ["3d", '--wait must be a duration such as 500ms, 30s, 5m or 2h, got "3d"'],
    ["99999999h", "--wait must be at most ten years, got 99999999h"],
  ])("%j is refused as wrong usage", (text, message) => {
    expect(() => readDuration("--wait", text)).toThrow(message);
    expect(() => readDuration("--wait", text)).toThrow(
      expect.objectContaining({ exitCode: exitCodes.usage }),
    );
  });

  test("less than the least is refused", () => {
    expect(() => readDuration("--watch", "100ms", { atLeastMs: 500 })).toThrow(
      "--watch must be at least 500ms, got 100ms",
    );
  });

  test.each([
    [0, "0 ms"],
    [850, "850 ms"],
    [999.7, "1 s"],
    [41_900, "41 s"],
    [60_000, "1 min"],
    [99 * 60_000, "99 min"],
    [100 * 60_000, "1 h"],
    [49 * 3_600_000, "2 d"],
  ])("%d ms is %s to people", (ms, text) => {
    expect(tellDuration(ms)).toBe(text);
  });

  test.each([500, 30_000, 90_000, 7_200_000])("%i ms is read as it is written", (ms) => {
    expect(readDuration("--wait", writeDuration(ms))).toBe(ms);
  });
});
