import { describe, expect, test } from "vitest";
import { DriverClosedError } from "../../src/driver/driver.js";
import { Holdfast } from "../../src/holdfast.js";
import { reconcile } from "../../src/locks/reconciler.js";
import { memoryDriver } from "../../src/memory/index.js";
import { fairTimes } from "../../src/protocol/fair-scripts.js";
import { AcknowledgingDriver } from "../support/drivers/acknowledging-driver.js";
import { answerWith, neverDeliver, swallowReply } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { type FakeTimeClient, fakeTime } from "../support/worlds/fake-time.js";
import { got, KEY, microtasks, scenes } from "../support/worlds/hand-off-scene.js";
import { gapsOf, identityOf, refuse, stayOf } from "../support/worlds/stays.js";

watchLeaks();
const open = fakeTime();
const scene = scenes(open);

const COMMAND_MS = 500;
const LEASE_MS = 20_000;
const LONG_LEASE_MS = 600_000;
const MINUTE_MS = 60_000;
const STEP_MS = 500;
/** More than any pause takes. */
const PAUSES_MS = 10_000 + COMMAND_MS;
/** A client that trusts its leases for half of their time: Redis has the field for as long again. */
const WARY = { commandTimeoutMs: COMMAND_MS, clockSkewMs: LEASE_MS / 2 };

/** No call of a script arrives any more. */
function silence({ driver }: Pick<FakeTimeClient, "driver">, script: string): void {
  for (let i = 0; i < 1_000; i += 1) void driver.next(neverDeliver, script);
}

/** A lease is lost and given back, while Redis still has its field and releases do not arrive. */
async function unheard(getLock: "getLock" | "getFairLock" = "getLock") {
  const time = open(WARY);
  const lock = time.holdfast[getLock]("a");
  const lease = await lock.lock({ leaseMs: LEASE_MS });
  const stay = stayOf(identityOf(lock), lease);
  await time.clock.advance(LEASE_MS / 2 + 1);
  const script = getLock === "getLock" ? "lock-release" : "fair-release";
  silence(time, script);
  const startMs = time.clock.monotonicMs();
  await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
  /** When its releases were sent, since it was given back. */
  const sentMs = () => time.driver.timesOf(script).map((ms) => ms - LEASE_MS / 2 - 1);
  return { ...time, lock, stay, startMs, sentMs };
}

describe("a repair of what a lost hold has left", () => {
  test.each([
    { kind: "a lock", getLock: "getLock" as const, aliveMs: 0 },
    { kind: "a fair lock", getLock: "getFairLock" as const, aliveMs: fairTimes.aliveMs },
  ])("of $kind goes on until Redis can have nothing of it any more", async ({ getLock, aliveMs }) => {
    const { clock, sentMs } = await unheard(getLock);
    const endMs = LEASE_MS + 2 * (aliveMs + COMMAND_MS);
    await clock.advance(endMs + 2 * MINUTE_MS);
    expect(sentMs().at(-1)).toBeLessThan(endMs);
    expect(sentMs().at(-1)).toBeGreaterThan(endMs - PAUSES_MS);
  });

  test("goes on for as long again from each new reason", async () => {
    const { clock, sentMs, lock, stay } = await unheard();
    await clock.advance(LEASE_MS);
    reconcile(identityOf(lock), stay);
    await clock.advance(LEASE_MS);
    expect(sentMs().at(-1)).toBeGreaterThan(LEASE_MS + 2 * COMMAND_MS);
    await clock.advance(2 * MINUTE_MS);
    expect(sentMs().at(-1)).toBeLessThan(2 * (LEASE_MS + COMMAND_MS));
  });

  test("ends with the client", async () => {
    const { clock, sentMs, holdfast } = await unheard();
    const closed = watched(holdfast.close());
    await clock.advance(2 * COMMAND_MS);
    expect(closed.outcome).toEqual({ value: undefined });
    const sent = sentMs().length;
    await clock.advance(2 * MINUTE_MS);
    expect(sentMs()).toHaveLength(sent);
  });

  test("ends with the Redis client", async () => {
    const time = open(WARY);
    const lease = await time.holdfast.getLock("a").lock({ leaseMs: LEASE_MS });
    await time.clock.advance(LEASE_MS / 2 + 1);
    void time.driver.next(answerWith(new DriverClosedError()), "lock-release");
    await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
    await time.clock.advance(LEASE_MS);
    expect(time.driver.timesOf("lock-release")).toHaveLength(1);
  });

  test("goes on for as long as a copy of it could free the next hold of a stay that goes on", async () => {
    const time = open({ commandTimeoutMs: COMMAND_MS });
    const lock = time.holdfast.getLock("a");
    const outer = await lock.lock({ threadId: 7 });
    const inner = await lock.lock({ threadId: 7, leaseMs: 1_000 });
    const stay = stayOf(identityOf(lock), outer);
    void time.driver.next(swallowReply, "lock-release");
    const released = watched(inner.unlock());
    await time.clock.advance(COMMAND_MS - 1);
    refuse(time.driver, "lock-release", 1_000);
    await time.clock.advance(LONG_LEASE_MS);
    expect(released.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_UNAVAILABLE" } });
    const last = time.driver.timesOf("lock-release").at(-1) ?? 0;
    expect(last).toBeGreaterThan(LONG_LEASE_MS - 20_000);
    expect([outer.state, stay.inRedis.copiesUntilMs > 0, stay.isIdle]).toEqual(["held", true, false]);
  });
});

/** A client that asks its replicas has released a lock, which they do not acknowledge. */
async function untold(leaseMs: number) {
  const { clock, server } = open();
  const driver = new AcknowledgingDriver(memoryDriver(server));
  const options = { clock, commandTimeoutMs: COMMAND_MS, replicas: { mode: "require" } } as const;
  const holdfast = new Holdfast(driver, options);
  const lease = await holdfast.getLock("a").lock({ leaseMs });
  driver.acknowledged = 0;
  await lease.unlock();
  const releases = () => driver.names.filter((name) => name === "lock-release").length;
  /** Lets time pass. @returns when releases were sent, to half a second, since the first */
  const sentWithin = async (ms: number) => {
    const sentMs = Array.from({ length: releases() }, () => 0);
    for (let nowMs = STEP_MS; nowMs <= ms; nowMs += STEP_MS) {
      await clock.advance(STEP_MS);
      while (sentMs.length < releases()) sentMs.push(nowMs);
    }
    return sentMs;
  };
  return { clock, driver, holdfast, releases, sentWithin };
}

describe("replicas that do not acknowledge a release", () => {
  const OFTEN_MS = [0, 0, 500, 1_500, 3_500];

  test.each([
    { leaseMs: 5_000, why: "the time of the longest lease and two command timeouts", sentMs: OFTEN_MS },
    {
      leaseMs: LONG_LEASE_MS,
      why: "a minute",
      sentMs: [...OFTEN_MS, 7_500, 15_500, 25_500, 35_500, 45_500, 55_500],
    },
  ])("are told for $why", async ({ leaseMs, sentMs }) => {
    const { holdfast, sentWithin } = await untold(leaseMs);
    expect(await sentWithin(2 * MINUTE_MS)).toEqual(sentMs);
    await holdfast.close();
  });

  test("are told until they do", async () => {
    const { clock, driver, holdfast, releases } = await untold(LONG_LEASE_MS);
    await clock.advance(2_000);
    const before = releases();
    driver.acknowledged = 1;
    await clock.advance(MINUTE_MS);
    expect(releases()).toBe(before + 1);
    await holdfast.close();
  });

  test("are told no longer when the client closes, which does not wait for it", async () => {
    const { clock, holdfast, releases } = await untold(LONG_LEASE_MS);
    await clock.advance(2_000);
    const before = releases();
    const closed = watched(holdfast.close());
    await clock.advance(0);
    expect([closed.outcome, releases()]).toEqual([{ value: undefined }, before]);
  });
});

/** A lock was handed over, and Redis is not told of it. */
async function unnamed() {
  const lease = { leaseMs: LEASE_MS };
  const { time, lock, holder, waiting } = await scene([lease], WARY, lease);
  silence(time, "lock-succeed");
  void holder.unlock();
  await microtasks();
  const next = got(waiting[0]);
  const hold = stayOf(identityOf(lock), next).innermost;
  if (hold === undefined) throw new Error("was not handed over");
  const releases = () => time.driver.timesOf("lock-release");
  return { ...time, time, lock, before: holder, lease: next, hold, releases };
}

describe("the names of a chain whose holder has left without a release", () => {
  test("are freed when it was lost", async () => {
    const { clock, releases, fields, lease } = await unnamed();
    await clock.advance(LEASE_MS / 2 + 2_000);
    expect([lease.state, releases().length, fields(KEY)]).toEqual(["lost", 1, {}]);
  });

  test("are freed after pauses of their own, however often their holder could not be named", async () => {
    const { time, clock, driver, lease, fields } = await unnamed();
    refuse(driver, "lock-release", 2);
    await clock.advance(LEASE_MS / 2 + 5_000);
    expect([lease.state, fields(KEY)]).toEqual(["lost", {}]);
    expect(gapsOf(time, "lock-release")).toEqual([500, 1_000]);
  });

  test("are freed no longer than Redis can have one of them", async () => {
    const { time, clock, releases, lease } = await unnamed();
    silence(time, "lock-release");
    await clock.advance(LEASE_MS / 2 + 2_000);
    expect(lease.state).toBe("lost");
    const [firstMs = 0] = releases();
    await clock.advance(5 * MINUTE_MS);
    const lastMs = releases().at(-1) ?? 0;
    expect(lastMs).toBeLessThan(firstMs + LEASE_MS + 2 * COMMAND_MS);
    expect(lastMs).toBeGreaterThan(firstMs + LEASE_MS - PAUSES_MS);
  });

  test("are freed when its own release of them was refused", async () => {
    const { clock, driver, lease, fields } = await unnamed();
    refuse(driver, "lock-release", 1);
    const released = watched(lease.unlock());
    await clock.advance(1_000);
    expect(released.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_UNAVAILABLE" } });
    expect(fields(KEY)).toEqual({});
  });

  test("are left to their TTL when its lease object was forgotten", async () => {
    const { clock, hold, before, releases, fields } = await unnamed();
    hold.forget();
    await clock.advance(LEASE_MS - 1);
    expect([releases(), fields(KEY)]).toEqual([[], { [before.holder]: "1" }]);
    await clock.advance(LEASE_MS);
    expect([releases(), fields(KEY)]).toEqual([[], {}]);
  });

  test("keep no question about the stay waiting when its lease object was forgotten", async () => {
    const { clock, lock, lease, hold } = await unnamed();
    const asked = watched(lock.isHeldByThread(lease.threadId));
    hold.forget();
    await clock.advance(LEASE_MS);
    expect(asked.outcome).toEqual({ value: false });
  });

  test("are left to their TTL when the client was closed", async () => {
    const { clock, holdfast, before, releases, fields } = await unnamed();
    const closed = watched(holdfast.close());
    await clock.advance(COMMAND_MS + 100);
    expect([closed.outcome, releases(), fields(KEY)]).toEqual([
      { value: undefined },
      [],
      { [before.holder]: "1" },
    ]);
  });
});
