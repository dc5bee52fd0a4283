import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { events, type SubscriptionFailedEvent } from "../../src/events.js";
import { cut, halfOpen } from "../support/faults/proxy-faults.js";
import { until } from "../support/run/until.js";
import { commandCounts, resetCounts, scriptCalls } from "../support/servers/command-counts.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();
const KEY = "order:7";
const CHANNEL = `redisson_lock__channel:{${KEY}}`;
const HOUR_MS = 3_600_000;

const failures: SubscriptionFailedEvent[] = [];
const note = (event: unknown) => void failures.push(event as SubscriptionFailedEvent);
beforeEach(() => {
  failures.length = 0;
  events.subscriptionFailed.subscribe(note);
});
afterEach(() => void events.subscriptionFailed.unsubscribe(note));

async function heldBySomebody(name: string, ttlMs: number): Promise<void> {
  await redis.plain.hset(name, "somebody", "1");
  await redis.plain.pexpire(name, ttlMs);
}

async function freed(...names: readonly string[]): Promise<void> {
  const work = redis.plain.pipeline();
  for (const name of names) work.del(name).publish(`redisson_lock__channel:{${name}}`, "0");
  await work.exec();
}

async function subscribers(channel: string): Promise<number> {
  const [, count] = await redis.plain.pubsub("NUMSUB", channel);
  return Number(count);
}

/**
 * How often a client asks that begins to wait: at first, once it hears its own channel, and once it hears that of the lock, as the holder
 * does not look who waits.
 */
const ATTEMPTS_TO_WAIT = 3;

/** Resolves when the messages of the lock arrive at a new client. */
async function heard(): Promise<void> {
  await until(async () => scriptCalls(await commandCounts(redis.plain)) === 1 + ATTEMPTS_TO_WAIT);
  expect(await subscribers(CHANNEL)).toBe(1);
}

describe("a user who may not subscribe", () => {
  const user = { username: "limited", password: "limited" };
  const rights = (...rules: readonly string[]) => redis.plain.acl("SETUSER", "limited", ...rules);
  afterEach(() => redis.plain.acl("DELUSER", "limited"));

  test("still gets the lock, by the end of the lease that it saw [B8]", async () => {
    await rights("reset", "on", ">limited", "~*", "&*", "+@all", "-subscribe");
    await heldBySomebody(KEY, 300);
    const holdfast = redis.holdfast({ safetyPeriodMs: HOUR_MS }, user);
    await holdfast.getLock(KEY).using(() => undefined);
    expect(failures[0]).toMatchObject({
      channel: `${CHANNEL}:${holdfast.clientId}`,
      error: { code: "NOPERM" },
    });
  });

  test("still gets the lock, by the safety period [B8]", async () => {
    await rights("reset", "on", ">limited", "~*", "&*", "+@all", "-subscribe");
    await heldBySomebody(KEY, HOUR_MS);
    const lock = redis.holdfast({ safetyPeriodMs: 200 }, user).getLock(KEY);
    const waiting = lock.lock();
    await until(() => failures.length > 0);
    await redis.plain.del(KEY);
    const lease = await waiting;
    expect(lease.state).toBe("held");
    await lease.unlock();
  });

  test("is woken by messages as soon as it may: a failure poisons nothing [B8]", async () => {
    await rights("reset", "on", ">limited", "~*", "&*", "+@all", "-subscribe");
    await heldBySomebody(KEY, HOUR_MS);
    const lock = redis.holdfast({ safetyPeriodMs: 200 }, user).getLock(KEY);
    const first = lock.tryLock({ waitMs: HOUR_MS });
    await until(() => failures.length > 0);
    await redis.plain.del(KEY);
    await (await first)?.unlock();
    await rights("+subscribe");
    await heldBySomebody(KEY, HOUR_MS);
    const second = lock.lock();
    await until(async () => (await subscribers(CHANNEL)) === 1);
    const told = failures.length;
    await freed(KEY);
    await (await second).unlock();
    expect(failures.length).toBe(told);
  });

  test("and may use no channel at all: gets the lock, and releases it in spite of the message that it may not send [B8]", async () => {
    await rights("reset", "on", ">limited", "~*", "resetchannels", "+@all");
    await heldBySomebody(KEY, 300);
    const lock = redis.holdfast({ safetyPeriodMs: 200 }, user).getLock(KEY);
    const lease = await lock.lock();
    await lease.unlock();
    expect(await redis.plain.exists(KEY)).toBe(0);
  });
});

describe("a subscriber connection that breaks", () => {
  test("asks for the lock again when it is back, as it may have missed the message [B6]", async () => {
    const proxy = await redis.proxy();
    const holdfast = redis.holdfast({ safetyPeriodMs: HOUR_MS }, { port: proxy.port });
    await heldBySomebody(KEY, HOUR_MS);
    await resetCounts(redis.plain);
    const waiting = holdfast.getLock(KEY).lock();
    await heard();
    // So that the subscriber, and it alone, comes back to a lock that is free.
    proxy.refuse();
    await proxy.inject(cut({ on: "\r\nsubscribe" })).struck;
    await until(async () => (await subscribers(CHANNEL)) === 0);
    await freed(KEY);
    await proxy.listen();
    await (await waiting).unlock();
  });

  test("half-open holds nothing up for longer than the safety period [B6] [R31]", async () => {
    const proxy = await redis.proxy();
    const safetyPeriodMs = 500;
    const holdfast = redis.holdfast({ safetyPeriodMs }, { port: proxy.port });
    await heldBySomebody(KEY, HOUR_MS);
    await resetCounts(redis.plain);
    const waiting = holdfast.getLock(KEY).lock();
    await heard();
    proxy.inject(halfOpen({ on: "\r\nsubscribe" }));
    await freed(KEY);
    const freedMs = performance.now();
    const lease = await waiting;
    // Ten times as long as it takes where the machine does nothing else.
    expect(performance.now() - freedMs).toBeLessThan(10 * safetyPeriodMs);
    await lease.unlock();
  });

  test("that can not be opened does not keep anybody from the lock, and is told [B8]", async () => {
    const proxy = await redis.proxy();
    const { holdfast, redis: connection } = redis.connect({ safetyPeriodMs: 300 }, { port: proxy.port });
    await connection.ping();
    proxy.refuse();
    await heldBySomebody(KEY, HOUR_MS);
    const waiting = holdfast.getLock(KEY).lock();
    await until(() => failures.length > 0);
    expect(failures[0]?.channel).toBe(`${CHANNEL}:${holdfast.clientId}`);
    await freed(KEY);
    await (await waiting).unlock();
  });
});

describe("many names", () => {
  test("waited for at once need one connection, and each message wakes its own waiter [wire-L20]", async () => {
    const names = Array.from({ length: 400 }, (_, i) => `order:${i}`);
    const holding = redis.plain.pipeline();
    for (const name of names) holding.hset(name, "somebody", "1").pexpire(name, HOUR_MS);
    await holding.exec();
    const holdfast = redis.holdfast({ safetyPeriodMs: HOUR_MS, groupCommit: false });
    await resetCounts(redis.plain);
    const entered: string[] = [];
    const waiting = names.map((name) => holdfast.getLock(name).using(() => void entered.push(name)));
    // The channel of each lock, and that of the client beside it.
    await until(async () => (await redis.plain.pubsub("CHANNELS")).length === 2 * names.length);
    // The probe is the first.
    const attempts = ATTEMPTS_TO_WAIT * names.length;
    await until(async () => scriptCalls(await commandCounts(redis.plain)) === 1 + attempts);
    const listening = String(await redis.plain.client("LIST")).split("\n");
    expect(listening.filter((client) => / sub=[1-9]/.test(client))).toHaveLength(1);
    expect(entered).toEqual([]);
    await freed(...names.slice(0, 1));
    await waiting[0];
    expect(entered).toEqual(["order:0"]);
    await freed(...names.slice(1));
    await Promise.all(waiting);
    expect(new Set(entered)).toEqual(new Set(names));
    expect(failures).toEqual([]);
  });
});
