import { afterAll, describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { startRedis } from "../support/servers/redis-server.js";
import type { ClientOptions } from "../support/servers/server-clients.js";

const redis = locksOnRedis(startRedis);
const KEY = "order:7";
const HOUR_MS = 3_600_000;
const commandTimeoutMs = 600;
/** Ten times as long as a call may take, for the sake of busy machines. */
const BOUND_MS = 10 * commandTimeoutMs;
const unavailable = { code: "ERR_HOLDFAST_UNAVAILABLE", name: "UnavailableError" };

const clients: readonly (readonly [client: string, connection: ClientOptions])[] = [
  ["the defaults of ioredis", {}],
  ["no queue and no retries", { enableOfflineQueue: false, maxRetriesPerRequest: 0 }],
  ["endless retries", { maxRetriesPerRequest: null }],
  ["no resending", { autoResendUnfulfilledCommands: false }],
  ["a command timeout of its own", { commandTimeout: 50 }],
  ["a lazy connection", { lazyConnect: true }],
];

/** Every call fails in its time, with an error that says what is wrong. */
async function expectEverythingFails(holdfast: Holdfast): Promise<void> {
  const lock = holdfast.getLock(KEY);
  const calls = [
    lock.lock(),
    lock.lock({ waitMs: HOUR_MS }),
    lock.tryLock(),
    lock.tryLock({ waitMs: HOUR_MS }),
    lock.using(() => undefined),
    lock.isLocked(),
    lock.remainTimeToLive(),
    lock.forceUnlock(),
    holdfast.inspect(KEY),
  ];
  const startMs = performance.now();
  for (const outcome of await Promise.allSettled(calls)) {
    expect(outcome).toMatchObject({ status: "rejected", reason: unavailable });
    const { message, cause } = (outcome as PromiseRejectedResult).reason as Error;
    expect(message).toContain(`redis://127.0.0.1:${redis.server.port}/0: `);
    expect(cause).toBeInstanceOf(Error);
  }
  expect(performance.now() - startMs).toBeLessThan(BOUND_MS);
}

async function expectItWorks(holdfast: Holdfast): Promise<void> {
  const lock = holdfast.getLock(KEY);
  await until(() =>
    lock.isLocked().then(
      () => true,
      () => false,
    ),
  );
  await lock.using(async (lease) => {
    expect(await redis.plain.hgetall(KEY)).toEqual({ [lease.holder]: "1" });
  });
  expect(await redis.plain.exists(KEY)).toBe(0);
}

describe("a server that is not there", () => {
  test.each(clients)(
    "at first: each call fails in its time, and works when the server is there: %s",
    async (_, connection) => {
      await redis.server.kill();
      const holdfast = redis.holdfast({ commandTimeoutMs }, connection);
      await expectEverythingFails(holdfast);
      await redis.server.restart();
      await expectItWorks(holdfast);
    },
  );

  test.each(clients)(
    "in the middle of work: the same, and a waiter is told, too: %s",
    async (_, connection) => {
      const holdfast = redis.holdfast(
        { commandTimeoutMs, safetyPeriodMs: 200, watchdogMs: 1_500 },
        connection,
      );
      await expectItWorks(holdfast);
      const lock = holdfast.getLock(KEY);
      const watched = await lock.lock();
      const fixed = await holdfast.getLock("fixed").lock({ leaseMs: HOUR_MS });
      const { signal } = watched;
      const waiting = expect(lock.lock()).rejects.toMatchObject(unavailable);
      await until(async () => (await redis.plain.pubsub("CHANNELS")).length > 0);
      await redis.server.kill();
      await waiting;
      await expect(fixed.unlock()).rejects.toMatchObject(unavailable);
      await expectEverythingFails(holdfast);
      await until(() => signal.aborted);
      expect(signal.reason).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "unreachable" });
      expect([watched.state, fixed.state]).toEqual(["lost", "released"]);
      await expect(watched.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
      await redis.server.restart();
      await expectItWorks(holdfast);
    },
  );

  test("fails in the body of using: the body's own error wins, and a good body is told of the loss", async () => {
    const holdfast = redis.holdfast({ commandTimeoutMs, watchdogMs: 1_500 });
    const lock = holdfast.getLock(KEY);
    const ownError = new Error("the body's own");
    const bad = lock.using(async () => {
      await redis.server.kill();
      throw ownError;
    });
    await expect(bad).rejects.toBe(ownError);
    await redis.server.restart();
    await expectItWorks(holdfast);
    const good = lock.using(async ({ signal }: Lease) => {
      await redis.server.kill();
      await until(() => signal.aborted);
      return "done";
    });
    await expect(good).rejects.toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "unreachable" });
    await redis.server.restart();
    await expectItWorks(holdfast);
  });

  test("loses nothing that its absence is too short for: a lease lives on", async () => {
    const proxy = await redis.proxy();
    const holdfast = redis.holdfast({ watchdogMs: 3_000 }, { port: proxy.port });
    const lease = await holdfast.getLock(KEY).lock();
    const { signal } = lease;
    proxy.refuse();
    for (const connection of proxy.connections) connection.cut();
    // The first renewal is due, and fails.
    await until(() => lease.remainingMs() < 1_500);
    await proxy.listen();
    await until(() => lease.remainingMs() > 2_000 || signal.aborted);
    expect(lease.state).toBe("held");
    await lease.unlock();
  });
});

describe("a server with a password", () => {
  const secured = startRedis({ password: "s3cret-of-server" });
  afterAll(async () => (await secured).stop());

  test.each([
    ["wrong", { password: "s3cret-of-client" }, /WRONGPASS|invalid password/],
    ["missing", { password: "" }, /NOAUTH|Authentication required/],
    ["of another user", { username: "nobody", password: "s3cret-of-client" }, /WRONGPASS|invalid username/],
  ])(
    "that is %s in the client refuses every call, and no error tells a password",
    async (_, credentials, refusal) => {
      const { port } = await secured;
      const holdfast = redis.holdfast({ commandTimeoutMs }, { port, ...credentials });
      const lock = holdfast.getLock(KEY);
      const startMs = performance.now();
      const outcomes = await Promise.allSettled([
        lock.lock(),
        lock.tryLock(),
        lock.isLocked(),
        holdfast.inspect(KEY),
      ]);
      for (const outcome of outcomes) {
        expect(outcome).toMatchObject({ status: "rejected", reason: unavailable });
        const { message } = (outcome as PromiseRejectedResult).reason as Error;
        expect(message).toMatch(refusal);
        expect(message).not.toContain("s3cret");
      }
      expect(performance.now() - startMs).toBeLessThan(BOUND_MS);
    },
  );
});
