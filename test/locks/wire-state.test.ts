import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { clientChannel } from "../../src/protocol/names.js";
import { until } from "../support/run/until.js";
import { type KeyJournal, keepJournal } from "../support/servers/key-journal.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();
let journal: KeyJournal;
beforeAll(async () => {
  journal = await keepJournal(redis.server);
});
beforeEach(() => journal.read());

/** Far more than a busy machine needs between two lines of a test. */
const SLACK_MS = 10_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const QUEUE = "holdfast_waiting:{order:7}";

/** A TTL that was set to so many milliseconds a moment ago. */
async function expectTtl(key: string, ms: number): Promise<void> {
  const ttlMs = await redis.plain.pttl(key);
  expect(ttlMs).toBeLessThanOrEqual(ms);
  expect(ttlMs).toBeGreaterThan(Math.max(ms - SLACK_MS, 0));
}

describe("what a plain client sees of a lock", () => {
  test("taking it stores one hash field, the holder with count 1, under the TTL of the watchdog, and publishes nothing", async () => {
    const holdfast = redis.holdfast();
    const lease = await holdfast.getLock("order:7").lock();
    const uuidV8 = /^[0-9a-f]{8}-[0-9a-f]{4}-8001-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    expect(holdfast.clientId).toMatch(uuidV8);
    expect(lease.holder).toBe(`${holdfast.clientId}:${lease.threadId}`);
    expect(lease.threadId).toBeGreaterThanOrEqual(2 ** 32);
    expect(Number.isSafeInteger(lease.threadId)).toBe(true);
    expect(await redis.plain.hgetall("order:7")).toEqual({ [lease.holder]: "1" });
    await expectTtl("order:7", 30_000);
    expect(await journal.read()).toEqual(["hset order:7", "expire order:7"]);
    await lease.unlock();
  });

  test("a fixed lease is the TTL", async () => {
    const lease = await redis.holdfast().getLock("order:7").lock({ leaseMs: HOUR_MS });
    await expectTtl("order:7", HOUR_MS);
    await lease.unlock();
  });

  test("an explicit thread id is the number in the holder field", async () => {
    const holdfast = redis.holdfast();
    const lease = await holdfast.getLock("order:7").lock({ threadId: 57 });
    expect(await redis.plain.hgetall("order:7")).toEqual({ [`${holdfast.clientId}:57`]: "1" });
    await lease.unlock();
  });

  test("entering again raises the count, and the TTL when the new lease is longer", async () => {
    const lock = redis.holdfast().getLock("order:7");
    const outer = await lock.lock({ leaseMs: MINUTE_MS });
    await journal.read();
    const inner = await lock.lock({ leaseMs: HOUR_MS, threadId: outer.threadId });
    expect(await redis.plain.hgetall("order:7")).toEqual({ [outer.holder]: "2" });
    await expectTtl("order:7", HOUR_MS);
    expect(await journal.read()).toEqual(["hset order:7", "expire order:7"]);
    await inner.unlock();
    await outer.unlock();
  });

  test("entering again with a shorter lease leaves the TTL alone [wire-S3]", async () => {
    const lock = redis.holdfast().getLock("order:7");
    const outer = await lock.lock({ leaseMs: HOUR_MS });
    await journal.read();
    const inner = await lock.lock({ leaseMs: 1_000, threadId: outer.threadId });
    expect(await redis.plain.hgetall("order:7")).toEqual({ [outer.holder]: "2" });
    await expectTtl("order:7", HOUR_MS);
    expect(await journal.read()).toEqual(["hset order:7"]);
    await inner.unlock();
    await outer.unlock();
  });

  test("a partial release lowers the count, sets the TTL to the lease of the hold that stays, and tells waiters that it ends sooner [R29]", async () => {
    const lock = redis.holdfast().getLock("order:7");
    const outer = await lock.lock({ leaseMs: MINUTE_MS });
    const inner = await lock.lock({ leaseMs: HOUR_MS, threadId: outer.threadId });
    await journal.read();
    await inner.unlock();
    expect(await redis.plain.hgetall("order:7")).toEqual({ [outer.holder]: "1" });
    await expectTtl("order:7", MINUTE_MS);
    expect(await journal.read()).toEqual([
      "expire order:7",
      "hset order:7",
      "0 -> redisson_lock__channel:{order:7}",
    ]);
    await outer.unlock();
  });

  test("releasing it deletes the key and publishes exactly one 0", async () => {
    const lease = await redis.holdfast().getLock("order:7").lock();
    await journal.read();
    await lease.unlock();
    expect(await redis.plain.exists("order:7")).toBe(0);
    expect(await journal.read()).toEqual([
      "hdel order:7",
      "del order:7",
      "0 -> redisson_lock__channel:{order:7}",
    ]);
    await lease.unlock();
    expect(await journal.read()).toEqual([]);
  });

  test("keeping it after its release leaves one field, of no thread, for so long, and tells waiters that it ends sooner", async () => {
    const holdfast = redis.holdfast();
    const lease = await holdfast.getLock("order:7").lock({ leaseMs: HOUR_MS });
    await journal.read();
    await lease.unlock({ keepForMs: MINUTE_MS });
    expect(await redis.plain.hgetall("order:7")).toEqual({ [`${holdfast.clientId}:0`]: "1" });
    await expectTtl("order:7", MINUTE_MS);
    expect(await journal.read()).toEqual([
      "expire order:7",
      "hset order:7",
      "hdel order:7",
      "0 -> redisson_lock__channel:{order:7}",
    ]);
    expect(await redis.holdfast().getLock("order:7").tryLock()).toBeNull();
    expect(await holdfast.getLock("order:7").forceUnlock()).toBe(true);
  });

  test("a call that waits for it while it is kept enters when that has ended, by the TTL alone", async () => {
    const holdfast = redis.holdfast({ safetyPeriodMs: HOUR_MS });
    const lock = holdfast.getLock("order:7");
    const lease = await lock.lock();
    await lease.unlock({ keepForMs: 50 });
    await journal.read();
    const next = await lock.lock();
    expect(await redis.plain.hgetall("order:7")).toEqual({ [next.holder]: "1" });
    expect(await journal.read()).not.toContain("0 -> redisson_lock__channel:{order:7}");
    await next.unlock();
  });

  test("extending its lease writes the TTL, longer or shorter, and the count, and tells waiters of a sooner end alone", async () => {
    const lease = await redis.holdfast().getLock("order:7").lock({ leaseMs: MINUTE_MS });
    for (const leaseMs of [HOUR_MS, MINUTE_MS]) {
      await journal.read();
      await lease.extend(leaseMs);
      expect(await redis.plain.hgetall("order:7")).toEqual({ [lease.holder]: "1" });
      await expectTtl("order:7", leaseMs);
      const told = leaseMs === MINUTE_MS ? ["0 -> redisson_lock__channel:{order:7}"] : [];
      expect(await journal.read()).toEqual(["expire order:7", "hset order:7", ...told]);
    }
    await lease.unlock();
  });

  test("being refused changes and publishes nothing", async () => {
    const lease = await redis.holdfast().getLock("order:7").lock({ leaseMs: HOUR_MS });
    await journal.read();
    const before = await redis.plain.hgetall("order:7");
    const rival = redis.holdfast().getLock("order:7");
    expect(await rival.tryLock({ leaseMs: 1_000 })).toBeNull();
    expect(await rival.tryLock({ leaseMs: 1_000, waitMs: 30 })).toBeNull();
    expect(await redis.plain.hgetall("order:7")).toEqual(before);
    await expectTtl("order:7", HOUR_MS);
    // The call that waited stood in the queue, which the holder's client is told of, and has left it.
    await until(async () => (await redis.plain.exists(QUEUE)) === 0);
    const rest = (await journal.read()).filter((entry) => !entry.endsWith(` ${QUEUE}`));
    const ofHolder = clientChannel("redisson_lock__channel:{order:7}", lease.holder.slice(0, 36));
    expect(rest).toEqual([`look -> ${ofHolder}`]);
    await lease.unlock();
  });

  test("forcing it open deletes the key and publishes one 0; forcing a free one does nothing", async () => {
    const lease = await redis.holdfast().getLock("order:7").lock();
    await journal.read();
    const other = redis.holdfast().getLock("order:7");
    expect(await other.forceUnlock()).toBe(true);
    expect(await journal.read()).toEqual(["del order:7", "0 -> redisson_lock__channel:{order:7}"]);
    expect(await other.forceUnlock()).toBe(false);
    expect(await journal.read()).toEqual([]);
    await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
    expect(await journal.read()).toEqual([]);
  });

  test("a renewal raises the TTL and nothing else", async () => {
    const lease = await redis.holdfast({ watchdogMs: 6_000 }).getLock("order:7").lock();
    await journal.read();
    const before = await redis.plain.hgetall("order:7");
    let lowestMs = await redis.plain.pttl("order:7");
    await until(async () => {
      const ttlMs = await redis.plain.pttl("order:7");
      if (ttlMs > lowestMs) return true;
      lowestMs = ttlMs;
      return false;
    });
    expect(await redis.plain.pttl("order:7")).toBeLessThanOrEqual(6_000);
    expect(await redis.plain.hgetall("order:7")).toEqual(before);
    expect(await journal.read()).toEqual(["expire order:7"]);
    await lease.unlock();
  });

  test("a lease that runs out takes the key with it and publishes nothing", async () => {
    await redis.holdfast().getLock("order:7").lock({ leaseMs: 100 });
    await until(async () => (await redis.plain.exists("order:7")) === 0);
    expect(await journal.read()).toEqual(["hset order:7", "expire order:7", "expired order:7"]);
  });

  test("the next stay of a thread has a number of its own", async () => {
    const holdfast = redis.holdfast();
    const lock = holdfast.getLock("order:7");
    const holders = await holdfast.asThread(async () => {
      const seen: string[] = [];
      for (let i = 0; i < 3; i += 1) {
        await lock.lock();
        seen.push(...(await redis.plain.hkeys("order:7")));
        await lock.unlock();
      }
      return seen;
    });
    expect(new Set(holders).size).toBe(3);
  });
});

describe("no other key is ever touched", () => {
  test("not in a whole life with rivals, renewals, questions and force: no unlock latch either [wire-A12]", async () => {
    const entries: string[] = [];
    const renewed = async () => {
      entries.push(...(await journal.read()));
      return entries.filter((entry) => entry.startsWith("expire ")).length > 3;
    };
    const lock = redis.holdfast({ watchdogMs: 300 }).getLock("order:7");
    const rival = redis.holdfast();
    const rivalLock = rival.getLock("order:7");
    await lock.using(async (lease) => {
      await lock.using(() => lock.getHoldCount());
      expect(await rivalLock.tryLock()).toBeNull();
      await until(renewed);
      await lease.run(() => lock.remainTimeToLive());
      expect((await rival.inspect("order:7")).holders).toEqual([lease.holder]);
    });
    await rivalLock.using(() => rivalLock.isLocked());
    await lock.lock({ leaseMs: HOUR_MS });
    const next = rivalLock.lock();
    await lock.forceUnlock();
    await (await next).unlock();

    entries.push(...(await journal.read()));
    expect(new Set(entries)).toEqual(
      new Set([
        "hset order:7",
        "expire order:7",
        "hdel order:7",
        "del order:7",
        "0 -> redisson_lock__channel:{order:7}",
      ]),
    );
  });
});

describe("names", () => {
  test.each([
    ["order:7", "redisson_lock__channel:{order:7}"],
    ["Bestellung Größe 7 \u{1f512}", "redisson_lock__channel:{Bestellung Größe 7 \u{1f512}}"],
    ["{order}:7", "redisson_lock__channel:{order}:7"],
    ["a{b}c", "redisson_lock__channel:a{b}c"],
    ["{a}b{c}", "redisson_lock__channel:{a}b{c}"],
    ["{{a}}", "redisson_lock__channel:{{a}}"],
    ["a{b", "redisson_lock__channel:a{b"],
    ["a}b", "redisson_lock__channel:{a}b}"],
  ])("the key of %j is the name, and its channel is derived as Redisson does", async (name, channel) => {
    const lease = await redis.holdfast().getLock(name).lock();
    expect(await redis.plain.keys("*")).toEqual([name]);
    await lease.unlock();
    expect(await journal.read()).toEqual([
      `hset ${name}`,
      `expire ${name}`,
      `hdel ${name}`,
      `del ${name}`,
      `0 -> ${channel}`,
    ]);
  });

  test("a name mapper changes key and channel of every command alike [B33]", async () => {
    const unmapped = await wholeLife((name) => name, "redisson_lock__channel:{x}");
    const prefixed = await wholeLife((name) => `app:${name}`, "redisson_lock__channel:{app:x}");
    const tagged = await wholeLife((name) => `{app}:${name}`, "redisson_lock__channel:{app}:x");
    const renamed = (key: string, tag: string) =>
      unmapped.map((entry) => entry.replace(/ x$/, ` ${key}`).replace("{x}", tag));
    expect(prefixed).toEqual(renamed("app:x", "{app:x}"));
    expect(tagged).toEqual(renamed("{app}:x", "{app}:x"));
  });

  async function wholeLife(
    nameMapper: (name: string) => string,
    channel: string,
  ): Promise<readonly string[]> {
    const holdfast = redis.holdfast({ nameMapper });
    await journal.read();
    const name = "x";
    const lock = holdfast.getLock(name);
    expect(lock.name).toBe(name);
    const lease = await lock.lock();
    const waiting = lock.lock();
    await until(async () => (await redis.plain.pubsub("CHANNELS")).length > 0);
    // Behind a holder of its own client it hears of no other release than those that look into the queue.
    expect(await redis.plain.pubsub("CHANNELS")).toEqual([`${channel}:${holdfast.clientId}`]);
    const inner = await lock.lock({ threadId: lease.threadId });
    await inner.unlock();
    expect([await lock.isLocked(), await lock.getHoldCount(lease.threadId)]).toEqual([true, 1]);
    expect(await lock.remainTimeToLive()).toBeGreaterThan(0);
    expect((await holdfast.inspect(name)).holders).toEqual([lease.holder]);
    await lease.unlock();
    await waiting;
    expect(await lock.forceUnlock()).toBe(true);
    await holdfast.close();
    // Whether a second hold in the same millisecond has a TTL to raise is chance.
    return [...new Set(await journal.read())];
  }
});
