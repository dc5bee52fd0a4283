import { describe, expect, test } from "vitest";
import { answerLate, ConnectionLostError } from "../support/faults/call-faults.js";
import { gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";

const TOO_LATE = { error: { code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: true } };

watchLeaks();
const open = fakeTime();

/** A tenth of the resolution in which anything of ours is due. */
const MOMENT_MS = 0.001;

/** The lease of each of these is trusted for so long: the margin is 1 % and 2 ms, half of the lease at most. */
const windows: readonly (readonly [leaseMs: number, windowMs: number])[] = [
  [1, 0.5],
  [3, 1.5],
  [5, 2.95],
  [10, 7.9],
  [50, 47.5],
  [99, 96.01],
  [100, 97],
  [101, 97.99],
  [105, 101.95],
  [1_000, 988],
  [10_000, 9_898],
];

describe("the time for which a lease is trusted", () => {
  test.each(windows)("of %d ms is %d ms", async (leaseMs, windowMs) => {
    const { holdfast } = open();
    const lease = await holdfast.getLock("a").lock({ leaseMs });
    expect(lease.remainingMs()).toBeCloseTo(windowMs, 3);
  });

  test("of a lease of the watchdog is that of its TTL", async () => {
    expect((await open().holdfast.getLock("a").lock()).remainingMs()).toBeCloseTo(29_698, 3);
    expect((await open({ watchdogMs: 1_000 }).holdfast.getLock("a").lock()).remainingMs()).toBeCloseTo(
      988,
      6,
    );
  });

  test.each([
    [100, 9_798],
    [60_000, 5_000],
  ])("is shorter by a clockSkewMs of %d, down to half of the lease", async (clockSkewMs, windowMs) => {
    const { holdfast } = open({ clockSkewMs });
    const lease = await holdfast.getLock("a").lock({ leaseMs: 10_000 });
    expect(lease.remainingMs()).toBeCloseTo(windowMs, 3);
  });

  test("begins before the command is sent: a slow answer costs its own time", async () => {
    const { holdfast, driver, clock } = open();
    const slow = answerLate();
    void driver.next(slow, "lock-acquire");
    const locked = holdfast.getLock("a").lock({ leaseMs: 10_000 });
    await clock.advance(1_000);
    slow.arrive();
    expect((await locked).remainingMs()).toBeCloseTo(8_898, 3);
  });

  test("ends by the clock and in no other way: it falls evenly, and not below 0", async () => {
    const { holdfast, clock } = open();
    const lease = await holdfast.getLock("a").lock({ leaseMs: 1_000 });
    const left: number[] = [];
    for (const ms of [0, 500, 487, 1, 10_000]) {
      await clock.advance(ms);
      left.push(Math.round(lease.remainingMs() * 1_000) / 1_000);
    }
    expect(left).toEqual([988, 488, 1, 0, 0]);
  });

  test("begins at the repeat when the first answer was lost, and Redis keeps the key as long [R3]", async () => {
    const { holdfast, driver, clock, ttlMs, fields } = open();
    const lost = gate();
    const lateLoss = {
      name: "lost reply, noticed late",
      meet: async (deliver: () => Promise<unknown>) => {
        await deliver();
        await lost.opened;
        throw new ConnectionLostError("the connection broke");
      },
    };
    void driver.next(lateLoss, "lock-acquire");
    const locked = holdfast.getLock("a").lock({ leaseMs: 2_000 });
    await clock.advance(1_500);
    lost.open();
    await clock.advance(20);
    const lease = await locked;
    expect(fields("a")).toEqual({ [lease.holder]: "1" });
    expect(ttlMs("a")).toBe(2_000);
    expect(lease.remainingMs()).toBeCloseTo(1_978, 3);
  });
});

describe("an acquisition whose answer comes after its lease is over", () => {
  test("is not handed out, but given back and tried again [B17]", async () => {
    const { holdfast, driver, clock, ttlMs } = open();
    const late = answerLate();
    void driver.next(late, "lock-acquire");
    const locked = holdfast.getLock("a").lock({ leaseMs: 1_000 });
    await clock.advance(1_500);
    late.arrive();
    const lease = await locked;
    expect(lease.state).toBe("held");
    expect(lease.remainingMs()).toBeCloseTo(988, 3);
    expect(ttlMs("a")).toBe(1_000);
    const scripts = driver.names.filter((name) => name !== "server-probe");
    expect(scripts).toEqual(["lock-acquire", "lock-release", "lock-acquire"]);
  });

  test("although Redis still has the key is given back, too [B17]", async () => {
    const { holdfast, driver, clock, fields } = open();
    const late = answerLate();
    void driver.next(late, "lock-acquire");
    const tried = watched(holdfast.getLock("a").tryLock({ leaseMs: 1_000 }));
    await clock.advance(990);
    expect(fields("a")).not.toEqual({});
    late.arrive();
    await clock.advance(0);
    // It was given the lock, and not told that others have it.
    expect(tried.outcome).toMatchObject(TOO_LATE);
    // A call whose time is up does not wait for that.
    await clock.advance(1);
    expect(fields("a")).toEqual({});
  });

  test.each([
    ["tryLock", { leaseMs: 1_000 }],
    ["tryLock with a wait", { leaseMs: 1_000, waitMs: 500 }],
  ] as const)("is a failure of %s when no time is left, and no key stays [B17]", async (_, options) => {
    const { holdfast, driver, clock, fields } = open();
    const late = answerLate();
    void driver.next(late, "lock-acquire");
    const tried = watched(holdfast.getLock("a").tryLock(options));
    await clock.advance(1_500);
    late.arrive();
    await clock.advance(0);
    expect(tried.outcome).toMatchObject(TOO_LATE);
    expect(fields("a")).toEqual({});
    expect(driver.names.filter((name) => name === "lock-acquire")).toHaveLength(1);
  });

  test("because the machine was suspended meanwhile is not handed out either [R11] [B17]", async () => {
    const { holdfast, driver, clock, fields } = open();
    const late = answerLate();
    void driver.next(late, "lock-acquire");
    const locked = holdfast.getLock("a").lock();
    await clock.advance(100);
    clock.suspend(60_000);
    late.arrive();
    const lease = await locked;
    expect(lease.state).toBe("held");
    expect(fields("a")).toEqual({ [lease.holder]: "1" });
  });
});

describe("the end of a short lease", () => {
  test.each(windows)(
    "of %d ms comes after exactly %d ms, while Redis has the key [R32]",
    async (leaseMs, windowMs) => {
      const { holdfast, clock, ttlMs } = open();
      const lease = await holdfast.getLock("a").lock({ leaseMs });
      await clock.advance(windowMs - MOMENT_MS);
      expect(lease.signal.aborted).toBe(false);
      await clock.advance(2 * MOMENT_MS);
      expect(lease.signal.aborted).toBe(true);
      expect(lease.signal.reason).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "expired" });
      expect(ttlMs("a")).toBeGreaterThan(0);
    },
  );

  test.each([5, 20, 50, 99, 105])(
    "of %d ms lets a waiter in at once, without a message [R32]",
    async (leaseMs) => {
      const { holdfast, connect, clock } = open();
      await holdfast.getLock("a").lock({ leaseMs });
      const startMs = clock.monotonicMs();
      let waitedMs = -1;
      const entered = connect()
        .holdfast.getLock("a")
        .using(() => {
          waitedMs = clock.monotonicMs() - startMs;
        });
      await clock.advance(1_000);
      await entered;
      expect(waitedMs).toBe(leaseMs + 1);
    },
  );

  test.each([1, 5, 33, 99, 105])("is not waited for longer than a waitMs of %d [R32]", async (waitMs) => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    await lock.lock();
    const startMs = clock.monotonicMs();
    const refused = lock.tryLock({ waitMs }).then((lease) => [lease, clock.monotonicMs() - startMs]);
    await clock.advance(1_000);
    expect(await refused).toEqual([null, waitMs]);
  });
});

test("a call that may not wait takes away what a stay under its chosen id has left, and has the lock then", async () => {
  const { holdfast, driver, clock, server, fields } = open();
  const field = `${holdfast.clientId}:2`;
  server.command("HSET", "a", field, "2");
  const tried = holdfast.getLock("a").tryLock({ threadId: 2 });
  await clock.advance(1);
  expect(await tried).toMatchObject({ state: "held", holdCount: 1 });
  expect(fields("a")).toEqual({ [field]: "1" });
  const scripts = driver.names.filter((name) => name !== "server-probe");
  expect(scripts).toEqual(["lock-acquire", "lock-release", "lock-acquire"]);
});
