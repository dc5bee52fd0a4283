import { describe, expect, test } from "vitest";
import type { Script } from "../../src/protocol/define-script.js";
import { fairAcquire, fairRefresh, fairRelease, fairTimes } from "../../src/protocol/fair-scripts.js";
import type { AcquireItem } from "../../src/protocol/lock-calls.js";
import type { RawReply } from "../../src/protocol/script-call.js";
import { ALIVE, JVM_1, QUEUE, TIMEOUTS } from "../support/models/fair-queue.js";
import { until } from "../support/run/until.js";
import { commandCounts, resetCounts } from "../support/servers/command-counts.js";
import { CHANNEL } from "../support/servers/fair-servers.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { startRedis } from "../support/servers/redis-server.js";
import { fakeTime } from "../support/worlds/fake-time.js";

const redis = locksOnRedis(startRedis);
const open = fakeTime();
const HOUR_MS = 60 * 60 * 1_000;
const NEVER = Number.MAX_SAFE_INTEGER;
const MOST_CALLS = 13;
/** No command takes longer than 5 ms when the machine is quiet. */
const SLOWEST_MS = 10 * 5;

/** The n-th thread of one client of ours. */
function waiter(n: number): string {
  return `c0000000-0000-8001-8000-000000000000:${4_294_967_296 + n}`;
}

async function run<Input, Reply>(script: Script<Input, Reply>, input: Input): Promise<Reply> {
  const { script: source, keys, args } = script.encode(input);
  const reply = await redis.plain.eval(source.lua, keys.length, ...keys, ...args);
  return script.decode(reply as RawReply, keys.length).reply;
}

/** How many commands one script has called. */
async function callsOf<Input, Reply>(script: Script<Input, Reply>, input: Input): Promise<number> {
  await resetCounts(redis.plain);
  await run(script, input);
  const { eval: _, ...counts } = await commandCounts(redis.plain);
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function asks(...holders: readonly string[]): Parameters<typeof fairAcquire.encode>[0] {
  const wish = { key: "a", leaseMs: 60_000, heldCount: 0, kin: "", waits: true, fenced: false };
  const locks = holders.map((holder): AcquireItem => ({ ...wish, holder, channel: CHANNEL }));
  return { notAfterMs: NEVER, locks };
}

function releases(...holders: readonly string[]): Parameters<typeof fairRelease.encode>[0] {
  const counts = { heldCount: 1, keptCount: 0, ttlMs: 60_000, keptMs: [], channel: CHANNEL };
  return { notAfterMs: 0, locks: holders.map((holder) => ({ key: "a", holder, ...counts })) };
}

function signs(...holders: readonly string[]): Parameters<typeof fairRefresh.encode>[0] {
  return [{ key: "a", channel: CHANNEL, holders }];
}

/** A lock that is held, and so many of ours in its queue, who have given a sign of life. */
async function crowd(count: number): Promise<readonly string[]> {
  const holders = Array.from({ length: count }, (_, n) => waiter(n));
  await redis.plain.hset("a", waiter(-1), 1);
  await redis.plain.pexpire("a", HOUR_MS);
  for (let at = 0; at < count; at += 100) await run(fairAcquire, asks(...holders.slice(at, at + 100)));
  expect(await redis.plain.lrange(QUEUE, 0, -1)).toEqual(holders);
  return holders;
}

async function clear(): Promise<void> {
  await redis.plain.del("a", QUEUE, TIMEOUTS, ALIVE);
}

/** Times the scripts from here on. */
async function startTiming(): Promise<void> {
  await redis.plain.config("SET", "slowlog-max-len", 100_000);
  await redis.plain.config("SET", "slowlog-log-slower-than", 0);
  await redis.plain.call("SLOWLOG", "RESET");
}

/**
 * How long each script took, the shortest first. On a machine with more to do than processors, any one of them may contain
 * the time that another process was given.
 */
async function scriptsMs(): Promise<readonly number[]> {
  await redis.plain.config("SET", "slowlog-log-slower-than", -1);
  const slow = (await redis.plain.call("SLOWLOG", "GET", -1)) as readonly SlowlogEntry[];
  const scripts = slow.filter(([, , , [command]]) => /^eval/i.test(command ?? ""));
  return scripts.map(([, , microseconds]) => microseconds / 1_000).sort((one, other) => one - other);
}

type SlowlogEntry = readonly [id: number, atS: number, microseconds: number, words: readonly string[]];

function median(sorted: readonly number[]): number {
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

describe.each([1, 100, 10_000])(
  "with %d in the queue of a fair lock, a script calls few commands:",
  (count) => {
    test("of one who comes, who asks again, or who gives a sign of life [own-5]", async () => {
      const holders = await crowd(count);
      const [first = "", last = ""] = [holders[0], holders.at(-1)];
      const calls = {
        comes: await callsOf(fairAcquire, asks(waiter(count))),
        "asks again": await callsOf(fairAcquire, asks(last)),
        "asks again as the head": await callsOf(fairAcquire, asks(first)),
        lives: await callsOf(fairRefresh, signs(last)),
        "is gone": await callsOf(fairRefresh, signs("nobody")),
      };
      await redis.plain.zadd(TIMEOUTS, Date.now() + 1_000, last);
      // One more, each 15 s: its score is raised.
      expect(await callsOf(fairRefresh, signs(last))).toBeLessThanOrEqual(MOST_CALLS + 1);
      for (const [what, number] of Object.entries(calls))
        expect(number, what).toBeLessThanOrEqual(MOST_CALLS);
      await clear();
    });

    test("of one that is given the lock by a release, takes it, gives it up, or gives up its place", async () => {
      const holders = await crowd(count);
      const [first = "", last = ""] = [holders[0], holders.at(-1)];
      const calls = { "hands over": await callsOf(fairRelease, releases(waiter(-1))), takes: 0, leaves: 0 };
      expect(await redis.plain.hgetall("a")).toEqual({ [first]: "1" });
      calls.takes = await callsOf(fairAcquire, asks(first));
      calls.leaves = await callsOf(fairRelease, releases(last));
      for (const [what, number] of Object.entries(calls))
        expect(number, what).toBeLessThanOrEqual(MOST_CALLS);
      await clear();
    });

    test("of a group: what goes for the lock is asked for once", async () => {
      const holders = await crowd(count);
      const group = holders.slice(0, 100);
      // Its own score, its sign of life, and twice whether the keys fit together.
      const shared = MOST_CALLS;
      expect(await callsOf(fairAcquire, asks(...group))).toBeLessThanOrEqual(4 * group.length + shared);
      expect(await callsOf(fairRefresh, signs(...group))).toBeLessThanOrEqual(MOST_CALLS);
      await clear();
    });
  },
);

test("a JVM behind 10,000 of ours is as near as behind one, and costs a hand-over no more [own-4]", {
  timeout: 60_000,
}, async () => {
  await crowd(10_000);
  const nowMs = Date.now();
  const [, top] = await redis.plain.zrange(TIMEOUTS, "-1", "-1", "WITHSCORES");
  expect(Number(top) - nowMs).toBeLessThanOrEqual(fairTimes.waitMs + fairTimes.horizonMs + 60_000);
  await redis.plain.rpush(QUEUE, JVM_1);
  await redis.plain.zadd(TIMEOUTS, Number(top) + 4_000, JVM_1);
  await startTiming();
  expect(await callsOf(fairRelease, releases(waiter(-1)))).toBeLessThanOrEqual(MOST_CALLS);
  expect(median(await scriptsMs())).toBeLessThanOrEqual(SLOWEST_MS);
  await clear();
});

test("a hundred who give up in one turn do so in five commands: each is looked for in the queue [own-5]", async () => {
  const time = open();
  const lease = await time.holdfast.getFairLock("a").lock();
  const { holdfast, driver } = time.connect();
  const over = new AbortController();
  const waiting = Array.from({ length: 100 }, () => holdfast.getFairLock("a").lock({ signal: over.signal }));
  const outcomes = Promise.allSettled(waiting);
  await time.clock.advance(100);
  expect(time.server.command("LLEN", QUEUE)).toBe(100);
  const before = driver.names.length;
  over.abort(new Error("nobody wants it any more"));
  await time.clock.advance(100);
  expect((await outcomes).every(({ status }) => status === "rejected")).toBe(true);
  expect(time.server.command("LLEN", QUEUE)).toBe(0);
  expect(driver.names.slice(before)).toEqual(Array(5).fill("fair-release"));
  await lease.unlock();
});

test("ten thousand dead are passed over within a few calls, each of which goes through a part of them [own-5]", {
  timeout: 60_000,
}, async () => {
  const dead = await crowd(10_000);
  for (let at = 0; at < dead.length; at += 1_000)
    await redis.plain.zadd(ALIVE, ...dead.slice(at, at + 1_000).flatMap((holder) => ["1", holder]));
  await redis.plain.del("a");
  await startTiming();
  const living = waiter(20_000);
  let calls = 0;
  for (; (await redis.plain.hget("a", living)) === null; calls += 1) await run(fairAcquire, asks(living));
  expect(calls).toBeLessThanOrEqual(10);
  expect(calls).toBeGreaterThan(1);
  expect(await redis.plain.exists(QUEUE, TIMEOUTS, ALIVE)).toBe(0);
  expect(median(await scriptsMs())).toBeLessThanOrEqual(SLOWEST_MS);
  await clear();
});

test("ten thousand waiters of one process are all served, in order, and hold up nobody else [own-5]", {
  timeout: 240_000,
}, async () => {
  // A busy machine may take ten times as long for the first ten thousand questions, and for as many subscriptions.
  const [holder, crowded] = [redis.holdfast(), redis.holdfast({ commandTimeoutMs: 30_000 })];
  const lease = await holder.getFairLock("a").lock();
  await startTiming();
  const entered: number[] = [];
  const lock = crowded.getFairLock("a");
  const visits = Array.from({ length: 10_000 }, (_, n) => lock.using(() => void entered.push(n)));
  await until(async () => (await redis.plain.llen(QUEUE)) === visits.length);
  // Groups of a hundred.
  const groups = await scriptsMs();
  await lease.unlock();
  expect((await Promise.allSettled(visits)).filter(({ status }) => status === "rejected")).toEqual([]);
  expect(entered).toEqual(visits.map((_, n) => n));
  expect(groups.length).toBeGreaterThanOrEqual(visits.length / 100);
  expect(median(groups)).toBeLessThanOrEqual(SLOWEST_MS);
});
