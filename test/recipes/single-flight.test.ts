import { describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import { type SingleFlightOptions, singleFlight } from "../../src/recipes/index.js";
import { neverDeliver } from "../support/faults/call-faults.js";
import { fakeTime } from "../support/worlds/fake-time.js";

const open = fakeTime();
const NAME = "user:42";
const LOAD_MS = 1_000;

/** A cache that several processes share, and a load that takes a second. */
function fleet() {
  const world = open();
  const { clock } = world;
  const cache = new Map<string, number>();
  const counts = { loads: 0, now: 0, most: 0, reads: 0 };
  const sleep = (ms: number) => new Promise<void>((resolve) => void clock.schedule(ms, resolve));
  const get = (holdfast: Holdfast, options: Partial<SingleFlightOptions<number>> = {}) =>
    singleFlight<number>(holdfast, NAME, {
      read: () => {
        counts.reads += 1;
        return cache.get(NAME);
      },
      load: async () => {
        counts.loads += 1;
        counts.now += 1;
        counts.most = Math.max(counts.most, counts.now);
        await sleep(LOAD_MS);
        counts.now -= 1;
        return counts.loads;
      },
      write: (value) => void cache.set(NAME, value),
      clock,
      ...options,
    });
  const all = (times: number, holdfast: Holdfast) => Array.from({ length: times }, () => get(holdfast));
  return { ...world, cache, counts, sleep, get, all };
}

describe("a value that many want at once", () => {
  test("is loaded once, by one of all processes", async () => {
    const { holdfast, connect, all, counts, clock } = fleet();
    const others = [connect(), connect(), connect()].map((client) => client.holdfast);
    const values = Promise.all([holdfast, ...others].flatMap((one) => all(250, one)));
    await clock.advance(LOAD_MS);
    expect(new Set(await values)).toEqual(new Set([1]));
    // Each call looks once, and one of each process under the lock.
    expect(counts).toEqual({ loads: 1, now: 0, most: 1, reads: 1_004 });
  });

  test("is not asked Redis for where it is kept", async () => {
    const { holdfast, driver, get, cache } = fleet();
    cache.set(NAME, 7);
    expect([await get(holdfast), driver.sent]).toEqual([7, []]);
  });

  test("is loaded by one of the others when the loader fails, one at a time", async () => {
    const { holdfast, connect, get, counts, clock } = fleet();
    const load = () => Promise.reject(new Error("no database"));
    const failing = [get(holdfast, { load }), get(holdfast)].map((call) =>
      call.catch((error: Error) => error.message),
    );
    const other = get(connect().holdfast);
    await clock.advance(LOAD_MS);
    // What one process has begun fails for all its calls.
    expect(await Promise.all(failing)).toEqual(["no database", "no database"]);
    expect([await other, counts.loads, counts.most]).toEqual([1, 1, 1]);
    expect(await get(holdfast)).toBe(1);
  });

  test("is loaded by another in time when its loader dies, by its lease of two seconds or as it says", async () => {
    for (const ttlMs of [undefined, 1_000]) {
      const { holdfast, driver, connect, get, counts, clock } = fleet();
      const load = ({ signal }: Lease) =>
        new Promise<number>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      const dead = get(holdfast, { ttlMs, load });
      const lost = expect(dead).rejects.toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST" });
      await clock.advance(0);
      const others = [connect(), connect()].map((client) => get(client.holdfast));
      await clock.advance(0);
      expect((await holdfast.inspect(NAME)).ttlMs).toBe(ttlMs ?? 2_000);
      for (let call = 0; call < 50; call += 1) void driver.next(neverDeliver);
      await clock.advance((ttlMs ?? 2_000) + LOAD_MS + 10);
      expect([await Promise.all(others), counts.loads]).toEqual([[1, 1], 1]);
      await lost;
    }
  });

  test("is not written by a loader that has lost the lock", async () => {
    const { holdfast, connect, get, cache, clock } = fleet();
    const lost = get(holdfast, {
      load: async (lease) => {
        await connect().holdfast.getLock(NAME).forceUnlock();
        await new Promise((resolve) => lease.signal.addEventListener("abort", resolve));
        return 7;
      },
    });
    const refused = expect(lost).rejects.toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST" });
    await clock.advance(30_000);
    await refused;
    expect(cache.size).toBe(0);
  });
});

describe("a call", () => {
  test("waits for five seconds for what another process makes, and less where it says so", async () => {
    const { holdfast, connect, get, clock } = fleet();
    const lease = await connect().holdfast.getLock(NAME).lock();
    const ends: [string, number][] = [];
    const startMs = clock.monotonicMs();
    const told = (what: string, call: Promise<unknown>) =>
      call.catch(({ code }) => {
        expect(code).toBe("ERR_HOLDFAST_WAIT_TIMEOUT");
        ends.push([what, clock.monotonicMs() - startMs]);
      });
    const calls = [told("usual", get(holdfast)), told("short", get(holdfast, { waitMs: 100 }))];
    await clock.advance(3_000);
    calls.push(told("late", get(holdfast)));
    await clock.advance(5_000);
    await Promise.all(calls);
    // The last goes on by itself when the time of the call is over that it has joined.
    expect(ends).toEqual([
      ["short", 100],
      ["usual", 5_000],
      ["late", 8_000],
    ]);
    await lease.unlock();
  });

  test("waits no longer than it says for a load of its own process, and the load goes on", async () => {
    const { holdfast, get, counts, clock } = fleet();
    const loading = get(holdfast);
    await clock.advance(0);
    const short = expect(get(holdfast, { waitMs: 300 })).rejects.toMatchObject({
      code: "ERR_HOLDFAST_WAIT_TIMEOUT",
      lockName: NAME,
      waitedMs: 300,
    });
    await clock.advance(300);
    await short;
    await clock.advance(700);
    expect([await loading, counts.loads]).toEqual([1, 1]);
  });

  test("tells how long it has waited itself when it gives up, whichever call the others of its process wait for", async () => {
    const { holdfast, connect, get, cache, sleep, clock } = fleet();
    const load = async () => {
      await sleep(60_000);
      return 7;
    };
    const other = get(connect().holdfast, { load });
    await clock.advance(0);
    const calls = [get(holdfast, { waitMs: 300 })];
    await clock.advance(100);
    calls.push(get(holdfast, { waitMs: 300 }), get(holdfast, { waitMs: 300 }));
    const given = Promise.all(calls.map((call) => call.catch((error: unknown) => error)));
    await clock.advance(1_000);
    const code = "ERR_HOLDFAST_WAIT_TIMEOUT";
    expect(await given).toMatchObject(Array.from({ length: 3 }, () => ({ code, waitedMs: 300 })));
    await clock.advance(60_000);
    expect([await other, cache.get(NAME)]).toEqual([7, 7]);
  });

  test("keeps nothing of a load that answers undefined, and says so", async () => {
    const { holdfast, get, cache } = fleet();
    const load = (() => undefined) as unknown as () => number;
    await expect(get(holdfast, { load })).rejects.toThrow(
      "load of singleFlight must return a value, got undefined: return null for something that does not exist",
    );
    expect([cache.has(NAME), await get(holdfast, { load: () => 3 })]).toEqual([false, 3]);
  });

  test("does not wait for its own load, however long that takes", async () => {
    const { holdfast, get, sleep, clock } = fleet();
    const patient = get(holdfast, {
      load: async () => {
        await sleep(60_000);
        return 7;
      },
    });
    await clock.advance(60_000);
    expect(await patient).toBe(7);
  });

  test("ends with the reason of its signal, and what it has begun goes on for the others", async () => {
    const { holdfast, get, clock } = fleet();
    const controller = new AbortController();
    const first = get(holdfast, { signal: controller.signal });
    const second = get(holdfast);
    await clock.advance(0);
    controller.abort(new Error("gone"));
    await expect(first).rejects.toThrow("gone");
    await clock.advance(LOAD_MS);
    expect(await second).toBe(1);
    await expect(
      get(holdfast, { signal: AbortSignal.abort(new Error("before")), read: () => undefined }),
    ).rejects.toThrow("before");
    await clock.advance(LOAD_MS);
  });

  test("gets nothing with `onBusy: skip`, and an error with `throw`, while another makes it", async () => {
    const { holdfast, connect, get, clock, cache } = fleet();
    const loading = get(holdfast);
    await clock.advance(0);
    for (const one of [holdfast, connect().holdfast]) {
      expect(await get(one, { onBusy: "skip" })).toBeUndefined();
      await expect(get(one, { onBusy: "throw" })).rejects.toMatchObject({
        code: "ERR_HOLDFAST_WAIT_TIMEOUT",
      });
    }
    await clock.advance(LOAD_MS);
    await loading;
    expect(await get(holdfast, { onBusy: "skip" })).toBe(1);
    cache.clear();
    for (const onBusy of ["skip", "throw"] as const) {
      const made = get(holdfast, { onBusy, load: () => 8 });
      expect(await made).toBe(8);
      cache.clear();
    }
  });

  test("inside the load of the same value is refused, as it would wait for itself", async () => {
    const { holdfast, get } = fleet();
    const load = () => get(holdfast);
    await expect(get(holdfast, { load })).rejects.toMatchObject({ code: "ERR_HOLDFAST_REENTRY" });
  });
});

test("what is made by nobody any more is kept nowhere", async () => {
  const { holdfast, all, get, counts, cache, clock } = fleet();
  const values = Promise.all(all(10, holdfast));
  await clock.advance(LOAD_MS);
  await values;
  cache.clear();
  const again = get(holdfast);
  await clock.advance(LOAD_MS);
  expect([await again, counts.loads]).toEqual([2, 2]);
});

test.each([
  [{ read: undefined }, "singleFlight needs a function read, got undefined"],
  [{ load: 5 }, "singleFlight needs a function load, got 5"],
  [{ write: {} }, "singleFlight needs a function write, got an object"],
  [{ onBusy: "load" }, 'onBusy must be "wait", "skip" or "throw", got "load"'],
  [{ onBusy: "skip", waitMs: 5 }, 'waitMs and onBusy: "skip" exclude each other: only onBusy: "wait" waits'],
  [{ waitMs: -1 }, "waitMs must be a whole number of milliseconds from 0 to 315360000000, got -1"],
  [
    { ttl: 5 },
    'there is no option "ttl" of singleFlight: read, load, write, onBusy, waitMs, ttlMs, signal, clock',
  ],
  [{ signal: 5 }, "signal must be an AbortSignal, got 5"],
])("refuses %j", async (options, message) => {
  const { holdfast, get, counts } = fleet();
  await expect(get(holdfast, options as object)).rejects.toThrow(message);
  expect(counts.reads).toBe(0);
});
