import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { WaitTimeoutError } from "../../src/errors.js";
import { type AcquireEvent, events } from "../../src/events.js";
import type { Lease } from "../../src/lease.js";
import { until } from "../support/run/until.js";
import { commandCounts, countedDuring, resetCounts, scriptCalls } from "../support/servers/command-counts.js";
import { type KeyJournal, keepJournal } from "../support/servers/key-journal.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();
let journal: KeyJournal;
beforeAll(async () => {
  journal = await keepJournal(redis.server);
});
beforeEach(() => journal.read());

/** The holder that a JVM would store: its client id and the number of its thread. */
const JVM = "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:57";
const CHANNEL = "redisson_lock__channel:{order:7}";
const HOUR_MS = 3_600_000;

async function jvmLocks(name: string, ttlMs: number): Promise<void> {
  await redis.plain.hset(name, JVM, "1");
  if (ttlMs > 0) await redis.plain.pexpire(name, ttlMs);
}

async function jvmUnlocks(name: string): Promise<void> {
  await redis.plain.del(name);
  await redis.plain.publish(`redisson_lock__channel:{${name}}`, "0");
}

/** Resolves when a waiter hears the channel, and the clients have sent so many calls: the probe, and three attempts for each lock. */
async function waiting(channel: string, calls: number): Promise<void> {
  await until(async () => {
    const [, count] = await redis.plain.pubsub("NUMSUB", channel);
    return Number(count) === 1 && scriptCalls(await commandCounts(redis.plain)) >= calls;
  });
}

/** A client that only a message or the end of the TTL makes ask again. */
/** Each attempt is a command of its own. */
function patient() {
  return redis.holdfast({ safetyPeriodMs: 10 * HOUR_MS, groupCommit: false });
}

describe("a lock that a JVM holds", () => {
  test("is refused, and named in the error with what its lease has left", async () => {
    await jvmLocks("order:7", HOUR_MS);
    const lock = redis.holdfast().getLock("order:7");
    expect(await lock.tryLock()).toBeNull();
    const error = await lock.lock({ waitMs: 20 }).catch((caught: WaitTimeoutError) => caught);
    expect(error).toMatchObject({
      code: "ERR_HOLDFAST_WAIT_TIMEOUT",
      lockName: "order:7",
      obstacle: { holder: JVM, own: false },
    });
    expect((error as WaitTimeoutError).obstacle?.ttlMs).toBeGreaterThan(HOUR_MS / 2);
    expect(await redis.plain.hgetall("order:7")).toEqual({ [JVM]: "1" });
    await redis.plain.del("order:7");
  });

  test("is waited for until the JVM says that it is free", async () => {
    await jvmLocks("order:7", HOUR_MS);
    await resetCounts(redis.plain);
    const lock = patient().getLock("order:7").lock();
    await waiting(CHANNEL, 1 + 3);
    await jvmUnlocks("order:7");
    const lease = await lock;
    expect(await redis.plain.hgetall("order:7")).toEqual({ [lease.holder]: "1" });
    await lease.unlock();
  });

  test("is taken when its lease runs out, without a message and without the safety period", async () => {
    await jvmLocks("order:7", 150);
    const lease = await patient().getLock("order:7").lock();
    expect(await redis.plain.hgetall("order:7")).toEqual({ [lease.holder]: "1" });
    await lease.unlock();
    const before = (await journal.read()).filter((entry) => entry.endsWith(" order:7"));
    expect(before.slice(0, 3)).toEqual(["hset order:7", "expire order:7", "expired order:7"]);
  });

  test("is asked for once more after a 0 although it is still held, and waited for further", async () => {
    await jvmLocks("order:7", HOUR_MS);
    await resetCounts(redis.plain);
    const lock = patient().getLock("order:7").lock();
    await waiting(CHANNEL, 1 + 3);
    await redis.plain.publish(CHANNEL, "0");
    await until(async () => scriptCalls(await commandCounts(redis.plain)) === 1 + 3 + 1);
    await jvmUnlocks("order:7");
    const lease = await lock;
    expect(lease.state).toBe("held");
    await lease.unlock();
  });

  test("is not asked for again after any other payload", async () => {
    const holdfast = patient();
    await jvmLocks("order:7", HOUR_MS);
    await jvmLocks("marker", HOUR_MS);
    await resetCounts(redis.plain);
    const asked = new Map<string, number>();
    const note = (message: unknown) => {
      const { name, attempts = 0 } = message as AcquireEvent;
      asked.set(name, attempts);
    };
    events.acquire.asyncEnd.subscribe(note);
    const lock = holdfast.getLock("order:7").lock();
    const marker = holdfast.getLock("marker").lock();
    await waiting(CHANNEL, 1 + 2 * 3);
    for (const payload of ["-1", "2", "00", "0.0", " 0", "0\n", "", "unlock", "\u0000"]) {
      await redis.plain.publish(CHANNEL, payload);
    }
    // One connection brings both channels, so when this has woken, the others were heard before it.
    await jvmUnlocks("marker");
    await (await marker).unlock();
    await jvmUnlocks("order:7");
    await (await lock).unlock();
    events.acquire.asyncEnd.unsubscribe(note);
    // Three to begin to wait, as the holder does not look into the queue, and that of the message.
    expect(asked.get("order:7")).toBe(4);
    expect(asked.get("marker")).toBe(4);
  });

  test("without a TTL is respected and waited for", async () => {
    await jvmLocks("order:7", -1);
    await resetCounts(redis.plain);
    const holdfast = patient();
    const lock = holdfast.getLock("order:7").lock();
    await waiting(CHANNEL, 1 + 3);
    const error = await holdfast
      .getLock("order:7")
      .lock({ waitMs: 20 })
      .catch((caught: WaitTimeoutError) => caught);
    expect(error).toMatchObject({ obstacle: { holder: JVM, ttlMs: -1 } });
    expect(await redis.plain.pttl("order:7")).toBe(-1);
    await jvmUnlocks("order:7");
    await (await lock).unlock();
  });
});

describe("a JVM that waits", () => {
  test("hears one 0 for a release and nothing for anything else", async () => {
    const heard: string[] = [];
    const jvm = redis.server.client();
    jvm.on("message", (_, message) => heard.push(message));
    await jvm.subscribe(CHANNEL);
    const lock = redis.holdfast({ watchdogMs: 3_000 }).getLock("order:7");
    await lock.using(async () => {
      await lock.using(async () => undefined);
      let lowestMs = Number.POSITIVE_INFINITY;
      await until(async () => {
        const ttlMs = await redis.plain.pttl("order:7");
        lowestMs = Math.min(lowestMs, ttlMs);
        return ttlMs > lowestMs;
      });
      expect(await redis.holdfast().getLock("order:7").tryLock()).toBeNull();
      expect(heard).toEqual([]);
    });
    await until(() => heard.length > 0);
    await redis.plain.publish(CHANNEL, "end");
    await until(() => heard.includes("end"));
    expect(heard).toEqual(["0", "end"]);
  });
});

describe("questions about a state that was made by hand", () => {
  test("isLocked and remainTimeToLive tell of whoever holds it", async () => {
    const lock = redis.holdfast().getLock("order:7");
    expect([await lock.isLocked(), await lock.remainTimeToLive()]).toEqual([false, -2]);
    await jvmLocks("order:7", -1);
    expect([await lock.isLocked(), await lock.remainTimeToLive()]).toEqual([true, -1]);
    await redis.plain.pexpire("order:7", HOUR_MS);
    const leftMs = await lock.remainTimeToLive();
    expect(leftMs).toBeLessThanOrEqual(HOUR_MS);
    expect(leftMs).toBeGreaterThan(await redis.plain.pttl("order:7").then((ttlMs) => ttlMs - 1));
    await redis.plain.del("order:7");
    expect(await lock.isLocked()).toBe(false);
  });

  test("getHoldCount and isHeldByThread believe Redis, not what this client remembers", async () => {
    const lock = redis.holdfast().getLock("order:7");
    const lease = await lock.lock({ threadId: 57 });
    expect([await lock.getHoldCount(57), await lock.isHeldByThread(57)]).toEqual([1, true]);
    await redis.plain.hset("order:7", lease.holder, "5");
    expect([await lock.getHoldCount(57), await lock.isHeldByThread(57)]).toEqual([5, true]);
    await redis.plain.del("order:7");
    expect([await lock.getHoldCount(57), await lock.isHeldByThread(57)]).toEqual([0, false]);
    await jvmLocks("order:7", HOUR_MS);
    expect([await lock.getHoldCount(57), await lock.isHeldByThread(57)]).toEqual([0, false]);
    await redis.plain.del("order:7");
  });

  test("a thread of a JVM with the same number is not ours", async () => {
    await jvmLocks("order:7", HOUR_MS);
    const holdfast = redis.holdfast();
    const lock = holdfast.getLock("order:7");
    expect([await lock.getHoldCount(57), await lock.isHeldByThread(57)]).toEqual([0, false]);
    await expect(lock.unlock(57)).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
    await holdfast.asThread(async () => expect(await lock.isHeldByCurrentThread()).toBe(false));
    expect(await redis.plain.hgetall("order:7")).toEqual({ [JVM]: "1" });
    await redis.plain.del("order:7");
  });

  test("isHeldByCurrentThread believes Redis", async () => {
    const holdfast = redis.holdfast();
    const lock = holdfast.getLock("order:7");
    await holdfast.asThread(async () => {
      expect(await lock.isHeldByCurrentThread()).toBe(false);
      const lease: Lease = await lock.lock();
      expect([await lock.isHeldByCurrentThread(), await lock.getHoldCount()]).toEqual([true, 1]);
      await redis.plain.hset("order:7", lease.holder, "3");
      expect(await lock.getHoldCount()).toBe(3);
      await redis.plain.del("order:7");
      expect([await lock.isHeldByCurrentThread(), await lock.getHoldCount()]).toEqual([false, 0]);
    });
  });

  test("each is one script, which only a master runs, and changes nothing [wire-A5]", async () => {
    const holdfast = redis.holdfast();
    const lock = holdfast.getLock("order:7");
    const lease = await lock.lock({ threadId: 57 });
    const questions = [
      () => lock.isLocked(),
      () => lock.remainTimeToLive(),
      () => lock.getHoldCount(57),
      () => lock.isHeldByThread(57),
    ];
    await lock.isLocked();
    await journal.read();
    // EVALSHA may write as far as a client can tell, so that none sends it to a replica.
    const commands = { evalsha: 1, time: 1, type: 3, hgetall: 1, pttl: 1 };
    for (const ask of questions) expect(await countedDuring(redis.plain, ask)).toEqual(commands);
    expect(await countedDuring(redis.plain, () => holdfast.inspect("order:7"))).toEqual({
      ...commands,
      "pubsub|numsub": 1,
      // Of the clients that wait, and of those that wait to write.
      zcount: 2,
    });
    expect(await journal.read()).toEqual([]);
    await lease.unlock();
  });

  test("inspect tells the kinds of lock apart by what is stored", async () => {
    const holdfast = redis.holdfast();
    const inspect = async () => {
      const { kind, holders, holdCounts, queue, token, ownHolders } = await holdfast.inspect("order:7");
      return { kind, holders, holdCounts, queue, token, ownHolders };
    };
    const state = { holders: [JVM], holdCounts: { [JVM]: 1 }, queue: [], token: null, ownHolders: [] };
    expect(await inspect()).toEqual({ ...state, kind: "none", holders: [], holdCounts: {} });
    await jvmLocks("order:7", HOUR_MS);
    expect(await inspect()).toEqual({ ...state, kind: "lock" });
    await redis.plain.set("redisson_lock_token:{order:7}", "9007199254740993");
    expect(await inspect()).toEqual({ ...state, kind: "fenced-lock", token: 9_007_199_254_740_993n });
    await redis.plain.del("redisson_lock_token:{order:7}");
    await redis.plain.rpush("redisson_lock_queue:{order:7}", "b", "c");
    expect(await inspect()).toEqual({ ...state, kind: "fair-lock", queue: ["b", "c"] });
    await redis.plain.del("redisson_lock_queue:{order:7}");
    await redis.plain.hset("order:7", "mode", "read", "other:1", "2");
    const holdCounts = { [JVM]: 1, "other:1": 2 };
    expect(await inspect()).toEqual({
      ...state,
      kind: "read-write-lock",
      holders: [JVM, "other:1"],
      holdCounts,
    });
    await redis.plain.del("order:7");
  });
});
