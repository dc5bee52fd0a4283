import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ScriptedDriver } from "../../support/drivers/scripted-driver.js";
import { neverDeliver, swallowReply } from "../../support/faults/call-faults.js";
import { SimulatedFleet } from "../../support/jvm/simulated-fleet.js";
import type { JvmClient } from "./jvm-client.js";
import { JvmInterruptedError, JvmMonitorError, JvmShutdownError, JvmTimeoutError } from "./jvm-errors.js";
import { scripts as oldScripts } from "./scripts-3.24.3.js";

const HOUR_MS = 3_600_000;
const WATCHDOG_MS = 900;
const NAME = "order:7";
const OTHER = "order:8";
const [FIRST, SECOND, THIRD] = [50, 51, 52];

let fleet: SimulatedFleet;
let client: JvmClient;
let driver: ScriptedDriver;
beforeEach(() => {
  fleet = new SimulatedFleet();
  ({ client, driver } = fleet.client({ watchdogMs: WATCHDOG_MS, fairWaitMs: 5_000 }));
});
afterEach(async () => {
  expect(await fleet.close()).toBe(0);
});

const sent = (script: string) =>
  driver.calls.filter(({ call }) => call.script.name === script).map(({ call }) => call);
const ttlMs = (key: string) => Number(fleet.server.command("PTTL", key));
const holder = (threadId: number) => client.fieldOf("lock", threadId);

describe("the watchdog", () => {
  test("renews every third of its time, all names by one script, until they are released", async () => {
    for (const name of [NAME, OTHER]) await client.lock(name, "lock", { threadId: FIRST });
    await fleet.clock.advance(10 * WATCHDOG_MS);
    expect([ttlMs(NAME), ttlMs(OTHER)].every((ms) => ms > WATCHDOG_MS / 2)).toBe(true);
    const renewals = sent("jvm-lock-renew");
    expect(renewals.length).toBe(30);
    // As Redisson 4.7.0 sends it for two names.
    const two = { keys: [NAME, OTHER], args: [String(WATCHDOG_MS), holder(FIRST), holder(FIRST)] };
    expect(renewals[0]).toMatchObject(two);
    for (const name of [NAME, OTHER]) await client.unlock(name, "lock", FIRST);
    await fleet.clock.advance(10 * WATCHDOG_MS);
    expect(sent("jvm-lock-renew").length).toBe(30);
    expect(client.census()).toEqual({ watched: 0, waiting: 0, channels: 0 });
  });

  test("renews what a write lock holds under the field of a writer", async () => {
    await client.lock(NAME, "write", { threadId: FIRST });
    await fleet.clock.advance(3 * WATCHDOG_MS);
    expect(await client.lockOf(NAME, "write", FIRST).isHeld()).toBe(true);
    await client.unlock(NAME, "write", FIRST);
  });

  test("renews all threads that read, and each of their holds", async () => {
    await client.lock(NAME, "read", { threadId: FIRST });
    await client.lock(NAME, "read", { threadId: FIRST });
    await client.lock(NAME, "read", { threadId: SECOND });
    await client.lock(OTHER, "read", { threadId: SECOND });
    await fleet.clock.advance(3 * WATCHDOG_MS);
    const holds = [`${FIRST}:rwlock_timeout:1`, `${FIRST}:rwlock_timeout:2`, `${SECOND}:rwlock_timeout:1`];
    for (const hold of holds) expect(ttlMs(`{${NAME}}:${client.id}:${hold}`)).toBeGreaterThan(0);
    const [first] = sent("jvm-read-renew");
    expect(first?.keys).toEqual([NAME, `{${NAME}}`, OTHER, `{${OTHER}}`]);
    const args = [String(WATCHDOG_MS), "2", holder(FIRST), holder(SECOND), "1", holder(SECOND)];
    expect(first?.args).toEqual(args);
    for (const threadId of [FIRST, FIRST, SECOND]) await client.unlock(NAME, "read", threadId);
    await client.unlock(OTHER, "read", SECOND);
    await fleet.clock.advance(0);
    expect(Object.keys(fleet.server.dump())).toEqual([]);
  });

  test("renews name by name before 3.44, and what others read on as well", async () => {
    const old = fleet.jvm({ watchdogMs: WATCHDOG_MS, scripts: oldScripts });
    for (const name of [NAME, OTHER]) await old.lock({ kind: "read", name });
    await client.lock(NAME, "read", { threadId: FIRST, leaseMs: 2 * WATCHDOG_MS });
    await fleet.clock.advance(3 * WATCHDOG_MS);
    expect(ttlMs(`{${OTHER}}:${old.holder}:rwlock_timeout:1`)).toBeGreaterThan(0);
    expect(ttlMs(`{${NAME}}:${holder(FIRST)}:rwlock_timeout:1`)).toBeGreaterThan(0);
    for (const name of [NAME, OTHER]) await old.unlock({ kind: "read", name });
    await client.unlock(NAME, "read", FIRST);
  });

  test("leaves what is gone, and tells no one", async () => {
    await client.lock(NAME, "lock", { threadId: FIRST });
    fleet.server.command("DEL", NAME);
    await fleet.clock.advance(WATCHDOG_MS);
    expect(client.census().watched).toBe(0);
    expect(sent("jvm-lock-renew").length).toBe(1);
    await expect(client.unlock(NAME, "lock", FIRST)).rejects.toThrow(JvmMonitorError);
  });

  test("lets go with a lease, and beats on after a beat without an answer", async () => {
    await client.lock(NAME, "lock", { threadId: FIRST, leaseMs: HOUR_MS });
    expect(client.census().watched).toBe(0);
    await client.lock(OTHER, "lock", { threadId: FIRST });
    void driver.next(neverDeliver, "jvm-lock-renew");
    await fleet.clock.advance(WATCHDOG_MS / 3 + 1);
    expect(ttlMs(OTHER)).toBeLessThan(WATCHDOG_MS);
    await fleet.clock.advance(10_000);
    expect(sent("jvm-lock-renew").length).toBe(2);
    expect(client.census().watched).toBe(0);
    await client.unlock(NAME, "lock", FIRST);
  });
});

describe("a call that is not answered", () => {
  test("fails after 3 s, and what came of it is not renewed", async () => {
    void driver.next(swallowReply, "jvm-lock-acquire");
    const locked = expect(client.lock(NAME, "lock", { threadId: FIRST })).rejects.toThrow(JvmTimeoutError);
    await fleet.clock.advance(500);
    expect(ttlMs(NAME)).toBeGreaterThan(0);
    await fleet.clock.advance(2_500);
    await locked;
    expect([ttlMs(NAME), client.census().watched, driver.calls[0]?.ticket.givenUp]).toEqual([-2, 0, true]);
  });

  test("is a refusal to a thread that waits, which leaves the queue", async () => {
    await client.lock(NAME, "fair", { threadId: FIRST, leaseMs: HOUR_MS });
    const waiting = client.lock(NAME, "fair", { threadId: SECOND, waitMs: 60_000, leaseMs: HOUR_MS });
    await fleet.clock.advance(10);
    expect(fleet.server.command("LLEN", `redisson_lock_queue:{${NAME}}`)).toBe(1);
    void driver.next(neverDeliver, "jvm-fair-acquire");
    await client.unlock(NAME, "fair", FIRST);
    await fleet.clock.advance(3_000);
    expect(await waiting).toBe(false);
    expect(Object.keys(fleet.server.dump())).toEqual([]);
  });
});

describe("a thread that waits", () => {
  test("keeps its place in the queue when it is interrupted, and holds up the next until it is taken for dead", async () => {
    await client.lock(NAME, "fair", { threadId: FIRST, leaseMs: HOUR_MS });
    const interrupted = expect(
      client.lock(NAME, "fair", { threadId: SECOND, leaseMs: HOUR_MS }),
    ).rejects.toThrow(JvmInterruptedError);
    await fleet.clock.advance(10);
    expect(client.interrupt(SECOND)).toBe(true);
    await interrupted;
    const other = fleet.jvm({ fairWaitMs: 5_000 });
    const waiting = other.lock({ kind: "fair", name: NAME }, HOUR_MS);
    await other.waits();
    await client.unlock(NAME, "fair", FIRST);
    await fleet.clock.advance(HOUR_MS - 1_000);
    expect(ttlMs(NAME)).toBe(-2);
    await fleet.clock.advance(HOUR_MS);
    await waiting;
    await other.unlock({ kind: "fair", name: NAME });
  });

  test("gives up when it can not listen in time, and fails when it would wait for ever", async () => {
    await client.lock(NAME, "fair", { threadId: FIRST, leaseMs: HOUR_MS });
    driver.channels.failNext(new Error("no subscription"));
    expect(await client.lock(NAME, "fair", { threadId: SECOND, waitMs: 1_000 })).toBe(false);
    const goOn = driver.channels.hold();
    const late = client.lock(NAME, "fair", { threadId: SECOND, waitMs: 1_000 });
    await fleet.clock.advance(1_000);
    expect(await late).toBe(false);
    expect(fleet.server.command("EXISTS", `redisson_lock_queue:{${NAME}}`)).toBe(0);
    const endless = expect(client.lock(NAME, "fair", { threadId: THIRD })).rejects.toThrow(JvmTimeoutError);
    await fleet.clock.advance(7_500);
    await endless;
    goOn();
    expect(client.census().channels).toBe(0);
    await client.unlock(NAME, "fair", FIRST);
  });

  test("is told when Redisson is shut down", async () => {
    await client.lock(NAME, "lock", { threadId: FIRST, leaseMs: HOUR_MS });
    const waiting = expect(client.lock(NAME, "lock", { threadId: SECOND })).rejects.toThrow(JvmShutdownError);
    await fleet.clock.advance(10);
    expect(client.census()).toEqual({ watched: 0, waiting: 1, channels: 1 });
    client.shutDown();
    await waiting;
    expect(client.census()).toEqual({ watched: 0, waiting: 0, channels: 0 });
  });

  test("wakes when the lease ends, if no message comes", async () => {
    await client.lock(NAME, "lock", { threadId: FIRST, leaseMs: 5_000 });
    driver.channels.mute(true);
    const waiting = client.lock(NAME, "lock", { threadId: SECOND, leaseMs: HOUR_MS });
    await fleet.clock.advance(4_990);
    expect(client.isWaiting(SECOND)).toBe(true);
    await fleet.clock.advance(20);
    expect(await waiting).toBe(true);
    await client.unlock(NAME, "lock", SECOND);
  });
});

test("a writer that goes wakes all readers of a client, a reader that goes one thread", async () => {
  await client.lock(NAME, "write", { threadId: FIRST, leaseMs: HOUR_MS });
  const readers = [SECOND, THIRD].map((threadId) =>
    client.lock(NAME, "read", { threadId, leaseMs: HOUR_MS }),
  );
  await fleet.clock.advance(10);
  await client.unlock(NAME, "write", FIRST);
  await fleet.clock.advance(10);
  expect(await Promise.all(readers)).toEqual([true, true]);
  for (const threadId of [SECOND, THIRD]) await client.unlock(NAME, "read", threadId);
});

test("a message passes a thread by that was interrupted", async () => {
  await client.lock(NAME, "lock", { threadId: FIRST, leaseMs: HOUR_MS });
  const interrupted = expect(client.lock(NAME, "lock", { threadId: SECOND })).rejects.toThrow(
    JvmInterruptedError,
  );
  await fleet.clock.advance(10);
  const waiting = client.lock(NAME, "lock", { threadId: THIRD, leaseMs: HOUR_MS });
  await fleet.clock.advance(10);
  client.interrupt(SECOND);
  await interrupted;
  await client.unlock(NAME, "lock", FIRST);
  await fleet.clock.advance(10);
  expect(await waiting).toBe(true);
  await client.unlock(NAME, "lock", THIRD);
});

test("an inner release goes back to the lease of the last hold, and not to one from before a release", async () => {
  await client.lock(NAME, "lock", { threadId: FIRST, leaseMs: HOUR_MS });
  await client.unlock(NAME, "lock", FIRST);
  for (const _ of [1, 2]) await client.lock(NAME, "lock", { threadId: FIRST });
  await client.unlock(NAME, "lock", FIRST);
  expect(ttlMs(NAME)).toBe(WATCHDOG_MS);
  await client.unlock(NAME, "lock", FIRST);
});

test("who waits for a permit asks again when the next lease ends, if no message comes", async () => {
  const [holder, waiter] = [client.permits(NAME, FIRST), client.permits(NAME, SECOND)];
  await holder.trySetPermits(1);
  await holder.acquire(1, 5_000);
  driver.channels.mute(true);
  const waiting = waiter.acquire();
  await fleet.clock.advance(4_990);
  expect(client.isWaiting(SECOND)).toBe(true);
  await fleet.clock.advance(20);
  await waiter.release(await waiting);
});

test("threads of one client exclude each other, and each enters again as often as it likes", async () => {
  for (const wanted of [true, true]) {
    expect(await client.lock(NAME, "lock", { threadId: FIRST, leaseMs: HOUR_MS })).toBe(wanted);
  }
  expect(await client.tryLock(NAME, "lock", SECOND)).toBe(false);
  await expect(client.unlock(NAME, "lock", SECOND)).rejects.toThrow(JvmMonitorError);
  await client.unlock(NAME, "lock", FIRST);
  expect(await client.tryLock(NAME, "lock", SECOND)).toBe(false);
  await client.unlock(NAME, "lock", FIRST);
  expect(await client.tryLock(NAME, "lock", SECOND)).toBe(true);
  expect(await client.forceUnlock(NAME, "lock", FIRST)).toBe(true);
  expect(client.census().watched).toBe(0);
});

test("the latch of an unlock is gone when the unlock was answered", async () => {
  await client.lock(NAME, "lock", { threadId: FIRST, leaseMs: HOUR_MS });
  await client.unlock(NAME, "lock", FIRST);
  await fleet.clock.advance(0);
  expect(Object.keys(fleet.server.dump())).toEqual([]);
  const [release] = sent("jvm-lock-release");
  expect(Number(release?.args.at(-1))).toBeGreaterThanOrEqual(16_000);
  expect(Number(release?.args.at(-1))).toBeLessThanOrEqual(20_000);
});

test("a fenced lock tells the token of each acquisition", async () => {
  const lock = client.lockOf(NAME, "fenced", FIRST);
  expect([await lock.lockAndGetToken(HOUR_MS), await lock.lockAndGetToken(HOUR_MS)]).toEqual([1n, 2n]);
  const other = client.lockOf(NAME, "fenced", SECOND).lockAndGetToken(HOUR_MS);
  for (const _ of [1, 2]) await lock.unlock();
  expect(await other).toBe(3n);
  await client.unlock(NAME, "fenced", SECOND);
});

test("a name with braces of its own gets no more of them, but for the channel of a latch", async () => {
  await client.lock("{a}b", "read", { threadId: FIRST, leaseMs: HOUR_MS });
  await client.latch("{a}b c", FIRST).trySetCount(1);
  expect(sent("jvm-read-acquire")[0]?.keys).toEqual(["{a}b", `{a}b:${holder(FIRST)}:rwlock_timeout`]);
  expect(sent("jvm-latch-set")[0]?.keys).toEqual(["{a}b c", "redisson_countdownlatch__channel__{{a}b c}"]);
});
