import { describe, expect, test } from "vitest";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";
import { JVM } from "../support/worlds/listed.js";

const open = fakeTime();
const CLIENTS = 200;
const SAFETY_MS = 5_000;
const SLOT_MS = 100;
const SLOTS = 320;

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);

describe("200 clients that began to wait for one lock at one moment", () => {
  test("ask at 80 to 100 % of each safety period, and evenly after five of them", async () => {
    const { clock, connect, server } = open();
    server.command("HSET", "a", `${JVM}:1`, 1);
    const over = new AbortController();
    const peers = Array.from({ length: CLIENTS }, () => connect({ safetyPeriodMs: SAFETY_MS }));
    const calls = peers.map(({ holdfast }) => watched(holdfast.getLock("a").lock({ signal: over.signal })));
    await clock.advance(SLOTS * SLOT_MS);
    const times = peers.map(({ driver }) => driver.timesOf("lock-acquire").filter((atMs) => atMs > 0));
    for (const asked of times)
      for (const [at, atMs] of asked.entries()) {
        const pauseMs = atMs - (asked[at - 1] ?? 0);
        expect(pauseMs).toBeGreaterThanOrEqual(0.8 * SAFETY_MS);
        expect(pauseMs).toBeLessThanOrEqual(SAFETY_MS + 1);
      }
    const inSlot = Array.from({ length: SLOTS }, () => 0);
    for (const atMs of times.flat())
      inSlot[Math.floor(atMs / SLOT_MS)] = (inSlot[Math.floor(atMs / SLOT_MS)] ?? 0) + 1;
    expect(sum(inSlot.slice(0, 40))).toBe(0);
    // 44 in a second when they are even: a wave leaves seconds in which next to nobody asks.
    const seconds = inSlot.slice(250, -9).map((_, at) => sum(inSlot.slice(250 + at, 260 + at)));
    expect(Math.min(...seconds)).toBeGreaterThanOrEqual(15);
    expect(Math.max(...inSlot.slice(250))).toBeLessThanOrEqual(20);
    over.abort(new Error("enough"));
    await clock.advance(0);
    expect(calls.every(({ outcome }) => outcome !== undefined)).toBe(true);
    server.command("DEL", "a");
  });
});
