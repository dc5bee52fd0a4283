import { describe, expect, test } from "vitest";
import { readHoldKey, waitingWriterKey } from "../../src/protocol/names.js";
import type { KindOfLock } from "../support/programs/kind-of-lock.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import type { Child, ChildEvent } from "../support/worlds/child.js";
import { childPrograms } from "../support/worlds/child-programs.js";

const redis = locksOnRedis();
const NAME = "order:7";
const MARK = waitingWriterKey(NAME);
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const WATCHDOG_MS = 1_000;
/** Processes take turns, on a machine that may be busy with other tests. */
const LONG_MS = 60_000;

const startProgram = childPrograms();

/** Processes of their own that take what they are told to. */
function start(...kinds: readonly KindOfLock[]): Promise<readonly Child[]> {
  const { port } = redis.server;
  return Promise.all(
    kinds.map((kind) => startProgram("lock-taker", { port, lock: NAME, kind, watchdogMs: WATCHDOG_MS })),
  );
}

/** A client that only a message or the end of a TTL makes ask again. */
function patientPair(fair = false) {
  const pair = redis.holdfast({ safetyPeriodMs: HOUR_MS }).getReadWriteLock(NAME, { fair });
  return { read: pair.readLock(), write: pair.writeLock() };
}

function keyOf(held: ChildEvent | undefined): string {
  return readHoldKey(NAME, String(held?.["holder"]), 1);
}

async function isThere(key: string): Promise<boolean> {
  return (await redis.plain.exists(key)) === 1;
}

describe("a reader process that is killed", () => {
  test("is not kept alive by another that is renewed: when that one releases, a writer gets in [B3]", {
    timeout: LONG_MS,
  }, async () => {
    const [living, dying] = await start("read", "read");
    const alive = keyOf(await living?.ask("lock"));
    const dead = keyOf(await dying?.ask("lock"));
    await dying?.stop();
    await until(async () => !(await isThere(dead)));
    // Taken earlier and there still, it has been renewed.
    expect([await isThere(alive), await patientPair().write.tryLock()]).toEqual([true, null]);
    const writing = patientPair().write.lock();
    await living?.ask("unlock");
    await (await writing).unlock();
  });

  test("keeps a writer out for its own lease and no longer, when the living one has released before [B3]", {
    timeout: LONG_MS,
  }, async () => {
    const [living, dying] = await start("read", "read");
    await living?.ask("lock", { leaseMs: 10 * MINUTE_MS });
    const dead = keyOf(await dying?.ask("lock"));
    await dying?.stop();
    await living?.ask("unlock");
    const writer = await patientPair().write.lock();
    expect(await isThere(dead)).toBe(false);
    await writer.unlock();
  });

  test("takes nothing from the long lease of another, whatever it has renewed [wire-S6]", {
    timeout: LONG_MS,
  }, async () => {
    const arrivals = await redis.arrivals();
    const [dying] = await start("read");
    const long = await patientPair().read.lock({ leaseMs: 10 * MINUTE_MS });
    const dead = keyOf(await dying?.ask("lock"));
    await until(() => arrivals.of("read-renew") > 0);
    await dying?.stop();
    await until(async () => !(await isThere(dead)));
    expect(await patientPair().write.tryLock()).toBeNull();
    expect(await redis.plain.pttl(NAME)).toBeGreaterThan(5 * MINUTE_MS);
    expect(long.state).toBe("held");
    const writing = patientPair().write.lock();
    await long.unlock();
    await (await writing).unlock();
  });
});

describe("a process that waits for the write lock of a fair read-write lock", () => {
  const shown = () => until(() => isThere(MARK));

  test("gets in before readers that came after it, though there were readers at all times", {
    timeout: LONG_MS,
  }, async () => {
    const arrivals = await redis.arrivals();
    const [one, two, third, writer] = await start("fair read", "fair read", "fair read", "fair write");
    await one?.ask("lock");
    expect(await two?.ask("tryLock")).toMatchObject({ event: "held" });
    await one?.ask("unlock");
    const writing = writer?.ask("lock");
    await shown();
    expect(await one?.ask("tryLock")).toMatchObject({ event: "busy" });
    const asked = arrivals.of("read-acquire");
    const reading = [one?.ask("lock"), third?.ask("lock")];
    // Who is refused listens, and asks once more when it does.
    await until(() => arrivals.of("read-acquire") >= asked + 2 * reading.length);
    await two?.ask("unlock");
    // The readers would stay until they are told to release.
    expect(await writing).toMatchObject({ event: "held" });
    await writer?.ask("unlock");
    for (const read of reading) expect(await read).toMatchObject({ event: "held" });
    for (const reader of [one, third]) await reader?.ask("unlock");
  });

  test("does not keep readers away for ever when it is killed", { timeout: LONG_MS }, async () => {
    const [inside, writer] = await start("fair read", "fair write");
    await inside?.ask("lock");
    writer?.ask("lock").catch(() => undefined);
    await shown();
    const { read } = patientPair(true);
    expect(await read.tryLock()).toBeNull();
    const reading = read.lock();
    await writer?.stop();
    const lease = await reading;
    expect([await isThere(MARK), await inside?.ask("state")]).toMatchObject([false, { state: "held" }]);
    await lease.unlock();
    await inside?.ask("unlock");
  });
});
