import { expect, test } from "vitest";
import { intervalMs } from "../../src/inspector/pace.js";

const LONG_MS = 600_000;

test("a small fleet is looked at as often as is wished for", () => {
  expect(intervalMs({ locks: 40, clients: 5, tookMs: LONG_MS }, 2_000)).toBe(2_000);
});

test.each([
  { locks: 0, clients: 0 },
  { locks: 100, clients: 10_000 },
  { locks: 2_000, clients: 300 },
  { locks: 10_000, clients: 10_000 },
])("of %j the server gets a command a second for each hundred locks at most, or five", (fleet) => {
  const forFleet = 2 * (Math.max(1, Math.ceil(fleet.clients / 999)) + Math.ceil(fleet.clients / 100));
  const commands = forFleet + 1 + Math.ceil(fleet.locks / 100);
  const ms = intervalMs({ ...fleet, tookMs: LONG_MS }, 500);
  expect(commands / (ms / 1_000)).toBeLessThanOrEqual(Math.max(5, fleet.locks / 100));
});

test("2 000 locks of 300 clients, for which Redis was seen to work 39 ms, take it less than a hundredth of its time", () => {
  expect(39 / intervalMs({ locks: 2_000, clients: 300, tookMs: LONG_MS }, 500)).toBeLessThan(0.01);
});

test("what was seen to take less than it usually does counts as it was seen", () => {
  const fleet = { locks: 10_000, clients: 300 };
  expect(intervalMs({ ...fleet, tookMs: 30 }, 2_000)).toBe(3_000);
});
