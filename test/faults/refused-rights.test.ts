import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { Holdfast, type Lock, UnavailableError } from "../../src/index.js";
import { destroyClient } from "../support/clients/ioredis-clients.js";
import { until } from "../support/run/until.js";
import { type RedisServer, startRedis } from "../support/servers/redis-server.js";

const KEY = "order:7";
const USER = "orders";
const refused = { code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: false };

let server: RedisServer;
let admin: Redis;
let holdfast: Holdfast;
let close: () => Promise<void>;

beforeAll(async () => {
  server = await startRedis();
  admin = server.client();
});
afterAll(() => server?.stop());
beforeEach(async () => {
  await rights("+@all");
  const redis = server.client({ username: USER, password: "any" });
  holdfast = new Holdfast(ioredisDriver(redis));
  close = async () => {
    await holdfast.close();
    await destroyClient(redis);
  };
});
afterEach(async () => {
  await close();
  await admin.flushall();
});

function rights(...rules: readonly string[]): Promise<unknown> {
  return admin.call("ACL", "SETUSER", USER, "reset", "on", "nopass", "~*", "&*", ...rules);
}

/** Keys, but for those in which requests are remembered, which have a TTL. */
async function keys(): Promise<readonly string[]> {
  const all = await admin.keys("*");
  return all.filter((key) => !key.startsWith("holdfast_req:")).sort();
}

const kinds: Readonly<Record<string, () => Pick<Lock, "tryLock">>> = {
  lock: () => holdfast.getLock(KEY),
  "fenced lock": () => holdfast.getFencedLock(KEY),
  "read lock": () => holdfast.getReadWriteLock(KEY).readLock(),
  "write lock": () => holdfast.getReadWriteLock(KEY).writeLock(),
  "fair lock": () => holdfast.getFairLock(KEY),
};
const cases = Object.keys(kinds).flatMap((kind) =>
  ["pexpire", "pttl", "hset"].map((command) => [kind, command] as const),
);

describe("a user who lacks a right", () => {
  test.each(cases)("leaves no %s that stays for ever: without %s [own-85]", async (kind, command) => {
    const lock = kinds[kind]?.();
    await rights("+@all", `-${command}`);
    const outcome = await lock?.tryLock().catch((error: unknown) => error);
    // Not every kind needs each of them.
    if (outcome instanceof UnavailableError) {
      expect(outcome).toMatchObject(refused);
      expect(outcome.message).toContain("(docs/guide/servers.md lists the required rights)");
      expect(await admin.exists(KEY)).toBe(0);
    } else {
      expect(await admin.pttl(KEY)).toBeGreaterThan(0);
    }
    await rights("+@all");
    await admin.del(KEY);
    const lease = await lock?.tryLock();
    expect(lease?.state).toBe("held");
    await lease?.unlock();
  });

  test.each(["hset", "pexpire", "incrby"])(
    "counts a latch down once, when it has it: %s [own-86]",
    async (command) => {
      const latch = holdfast.getCountDownLatch("latch");
      await latch.trySetCount(50);
      await refusedOften(command, () => latch.countDown());
      expect(await latch.getCount()).toBe(50);
      await rights("+@all");
      await until(async () => (await latch.getCount()) < 50);
      await latch.countDown();
      expect(await latch.getCount()).toBe(48);
    },
  );

  test.each(["hset", "pexpire", "incrby"])(
    "gives a permit back once, when it has it: %s [own-86]",
    async (command) => {
      const semaphore = holdfast.getSemaphore("permits");
      await semaphore.trySetPermits(3);
      await semaphore.acquire(2);
      await refusedOften(command, () => semaphore.release(1));
      expect(await semaphore.availablePermits()).toBe(1);
      await rights("+@all");
      await until(async () => (await semaphore.availablePermits()) > 1);
      await semaphore.release(1);
      expect(await semaphore.availablePermits()).toBe(3);
    },
  );

  test.each(["hset", "pexpire", "decrby"])(
    "takes no permit that it is refused: %s [own-87]",
    async (command) => {
      const semaphore = holdfast.getSemaphore("permits");
      await semaphore.trySetPermits(3);
      await rights("+@all", `-${command}`);
      for (const _ of [1, 2, 3]) await expect(semaphore.tryAcquire(2)).rejects.toMatchObject(refused);
      await rights("+@all");
      expect(await semaphore.availablePermits()).toBe(3);
      expect(await keys()).toEqual(["permits"]);
    },
  );

  test.each(["hset", "pexpire", "zadd", "pttl", "zrange", "decrby"])(
    "takes no leased permit that it is refused: %s [own-87]",
    async (command) => {
      const semaphore = holdfast.getPermitExpirableSemaphore("permits");
      await semaphore.trySetPermits(3);
      await rights("+@all", `-${command}`);
      for (const _ of [1, 2, 3]) await expect(semaphore.tryAcquire(2)).rejects.toMatchObject(refused);
      await rights("+@all");
      expect(await semaphore.availablePermits()).toBe(3);
      expect(await semaphore.getPermits()).toBe(3);
    },
  );

  test("is told where to find it also when a script answers the refusal [own-88]", async () => {
    await rights("+@all", "-hset");
    const error: unknown = await holdfast
      .getLock(KEY)
      .tryLock()
      .catch((failure: unknown) => failure);
    expect(String(error)).toMatch(/\(docs\/guide\/servers\.md lists the required rights\)$/);
  });
});

test("a server that has renamed a command is told of by the error [own-88]", async () => {
  const renamed = await startRedis({ args: ["--rename-command", "PEXPIRE", ""] });
  const redis = renamed.client();
  const client = new Holdfast(ioredisDriver(redis));
  const error: unknown = await client
    .getLock(KEY)
    .tryLock()
    .catch((failure: unknown) => failure);
  expect(String(error)).toMatch(
    /\(a command that the scripts need was renamed; docs\/guide\/servers\.md lists the required commands\)$/,
  );
  expect(await redis.exists(KEY)).toBe(0);
  await client.close();
  await destroyClient(redis);
  await renamed.stop();
});

/** Calls something that is refused, until the client has tried it at least three times. */
async function refusedOften(command: string, call: () => Promise<unknown>): Promise<void> {
  await rights("+@all", `-${command}`);
  await admin.call("ACL", "LOG", "RESET");
  await expect(call()).rejects.toMatchObject({ ...refused, outcomeUnknown: true });
  await until(async () => {
    const entries = (await admin.call("ACL", "LOG")) as readonly (readonly unknown[])[];
    const counts = entries.map((entry) => Number(entry[entry.indexOf("count") + 1]));
    return counts.reduce((sum, count) => sum + count, 0) >= 3;
  });
}
