import { afterEach, describe, expect, test } from "vitest";
import { WrongTypeError } from "../../src/errors.js";
import { cutBeforeForward, dropNextReply } from "../support/faults/proxy-faults.js";
import type { Fault } from "../support/faults/tcp-proxy.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { EXPIRIES, PERMANENT, type PermitExpirableSemaphore } from "../support/worlds/permit-time.js";

const redis = locksOnRedis();
afterEach(() => redis.plain.del("a", EXPIRIES));
const HOUR_MS = 3_600_000;

async function stored() {
  const [available, acquired] = [await redis.plain.get("a"), await redis.plain.zcard(EXPIRIES)];
  return { available, acquired };
}

async function whileFull(body: () => Promise<void>): Promise<void> {
  await redis.plain.config("SET", "maxmemory", "1");
  try {
    await body();
  } finally {
    await redis.plain.config("SET", "maxmemory", "0");
  }
}

describe("what Redisson reads", () => {
  test("is an id of 16 raw bytes with the time at which its lease ends, and a constant for one that has none", async () => {
    const semaphore = redis.holdfast().getPermitExpirableSemaphore("a");
    await semaphore.trySetPermits(3);
    const [leased, permanent] = [await semaphore.acquire({ leaseMs: HOUR_MS }), await semaphore.acquire()];
    const stored = await redis.plain.zrangeBuffer(EXPIRIES, "0", "-1");
    expect(stored.map((id) => id.toString("hex"))).toEqual([...leased.ids, ...permanent.ids]);
    const [leaseEndMs, constant] = await Promise.all(stored.map((id) => redis.plain.zscore(EXPIRIES, id)));
    const [seconds] = await redis.plain.time();
    const leftMs = Number(leaseEndMs) - Number(seconds) * 1_000;
    expect(leftMs).toBeGreaterThan(HOUR_MS - 15_000);
    expect(leftMs).toBeLessThanOrEqual(HOUR_MS + 1_000);
    expect(constant).toBe(String(PERMANENT));
    expect(await redis.plain.get("a")).toBe("1");
  });
});

describe("keys that are something else", () => {
  const calls: [string, (of: PermitExpirableSemaphore) => Promise<unknown>][] = [
    ["acquire", (of) => of.acquire({ waitMs: 100 })],
    ["tryAcquire", (of) => of.tryAcquire()],
    ["tryRelease", (of) => of.tryRelease("0123456789abcdef0123456789abcdef")],
    ["availablePermits", (of) => of.availablePermits()],
    ["acquiredPermits", (of) => of.acquiredPermits()],
    ["getPermits", (of) => of.getPermits()],
    ["setPermits", (of) => of.setPermits(3)],
    ["addPermits", (of) => of.addPermits(3)],
    ["trySetPermits", (of) => of.trySetPermits(3)],
    ["updateLeaseTime", (of) => of.updateLeaseTime("0123456789abcdef0123456789abcdef", 1_000)],
  ];

  test.each(calls)("are told as such, and not changed: %s", async (_, call) => {
    const semaphore = redis.holdfast().getPermitExpirableSemaphore("a");
    await redis.plain.hset("a", "field", "1");
    await expect(call(semaphore)).rejects.toBeInstanceOf(WrongTypeError);
    expect(await redis.plain.hgetall("a")).toEqual({ field: "1" });
  });
});

describe("a full server", () => {
  test("gives no permits, says why at once, and still takes permits back [R28]", async () => {
    const semaphore = redis.holdfast({ watchdogMs: 1_000 }).getPermitExpirableSemaphore("a");
    await semaphore.trySetPermits(5);
    const [permits, byIds, watched] = [
      await semaphore.acquire(2),
      await semaphore.acquire({ leaseMs: HOUR_MS }),
      await semaphore.acquire({ watchdog: true }),
    ];
    await whileFull(async () => {
      await expect(semaphore.tryAcquire()).rejects.toMatchObject({
        code: "ERR_HOLDFAST_UNAVAILABLE",
        outcomeUnknown: false,
      });
      await permits.release();
      await semaphore.release(byIds.ids);
      await watched.release();
      expect(await semaphore.availablePermits()).toBe(5);
    });
    expect(await stored()).toEqual({ available: "5", acquired: 0 });
  });
});

const losses: readonly (readonly [string, (on: string) => Fault])[] = [
  ["the reply is lost", (on) => dropNextReply({ on })],
  ["the request is lost", (on) => cutBeforeForward({ on })],
];

describe.each(losses)("when %s and the connection breaks", (loss, faultOn) => {
  test(`each call has its effect once (${loss}) [B14] [R9] [wire-S25]`, async () => {
    const proxy = await redis.proxy();
    const client = redis.holdfast({ commandTimeoutMs: 1_000 }, { port: proxy.port });
    const semaphore = client.getPermitExpirableSemaphore("a");
    const losing = async <T>(call: () => Promise<T>): Promise<T> => {
      const { struck } = proxy.inject(faultOn("redisson_sc:{a}"));
      const [result] = await Promise.all([call(), struck]);
      return result;
    };
    await semaphore.availablePermits();
    expect(await losing(() => semaphore.trySetPermits(3))).toBe(true);
    await losing(() => semaphore.addPermits(2));
    expect(await stored()).toEqual({ available: "5", acquired: 0 });
    const permits = await losing(() => semaphore.acquire(2, { leaseMs: HOUR_MS }));
    expect([permits.state, await stored()]).toEqual(["held", { available: "3", acquired: 2 }]);
    expect(await losing(() => semaphore.updateLeaseTime(permits.ids, HOUR_MS))).toBe(true);
    const others = await losing(() => semaphore.tryAcquire());
    expect(await losing(() => semaphore.tryRelease(others?.ids ?? []))).toBe(true);
    await losing(() => permits.release());
    expect(await stored()).toEqual({ available: "5", acquired: 0 });
    await losing(() => semaphore.setPermits(7));
    expect(await stored()).toEqual({ available: "7", acquired: 0 });
    expect(await losing(() => semaphore.delete())).toBe(true);
    expect(await stored()).toEqual({ available: null, acquired: 0 });
  });
});
