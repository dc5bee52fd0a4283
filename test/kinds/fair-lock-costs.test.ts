import { describe, expect, test } from "vitest";
import { type Clock, systemClock } from "../../src/clock.js";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import type { LockOptions } from "../../src/options.js";
import { JVM_1, JvmThread, QUEUE, WAITER_CHANNEL } from "../support/models/fair-queue.js";
import { until } from "../support/run/until.js";
import {
  type CommandCounts,
  commandCounts,
  countedDuring,
  resetCounts,
  scriptCalls,
} from "../support/servers/command-counts.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { fakeTime } from "../support/worlds/fake-time.js";

const redis = locksOnRedis();
const open = fakeTime();
const HOUR_MS = 60 * 60 * 1_000;
/** A sign of life is given once in so long. */
const PERIOD_MS = 1_500;

const standstill = { monotonicMs: systemClock.monotonicMs(), wallMs: systemClock.wallMs() };

/** Nothing is sent because time has passed: no signs of life, no confirmation, and no question about a place in the queue that is old. */
const timeless: Clock = {
  monotonicMs: () => standstill.monotonicMs,
  wallMs: () => standstill.wallMs,
  schedule: (delayMs, callback, keepAlive) =>
    delayMs > 0 ? { cancel: () => undefined } : systemClock.schedule(delayMs, callback, keepAlive),
};

/** A client that has met the server, so that it asks for neither its version nor its scripts any more. */
async function acquainted(): Promise<Holdfast> {
  // Each attempt is a command of its own.
  // The deadlines of its commands are as long as the test may take.
  const client = redis.holdfast({ clock: timeless, groupCommit: false, commandTimeoutMs: HOUR_MS });
  const lock = client.getFairLock("acquaintance");
  await lock.using(() => undefined);
  return client;
}

async function calls(): Promise<number> {
  return scriptCalls(await commandCounts(redis.plain));
}

/**
 * Each call stands in the queue, and each client has asked once for all its calls when messages began to arrive: those of clients that
 * have waited before arrive already.
 */
async function queued(
  clients: readonly Holdfast[],
  { haveWaited = false } = {},
): Promise<readonly Promise<Lease>[]> {
  await resetCounts(redis.plain);
  const waiting: Promise<Lease>[] = [];
  const asking = new Set<Holdfast>();
  for (const client of clients) {
    waiting.push(client.getFairLock("a").lock());
    if (!haveWaited) asking.add(client);
    await until(async () => (await calls()) >= waiting.length + asking.size);
  }
  // Its answer comes after theirs.
  await Promise.all(clients.map((client) => client.getFairLock("b").isLocked()));
  return waiting;
}

/** A release that gives the lock away, with what its script calls inside the server. */
const handedOver: CommandCounts = {
  evalsha: 1,
  time: 1,
  hgetall: 1,
  zscore: 1,
  zmscore: 1,
  lrange: 1,
  del: 1,
  hset: 1,
  // Before the hold is written, which without a TTL would stay for ever, and once more with it.
  pexpire: 2,
  zrem: 2,
  lrem: 1,
  publish: 1,
};

function commandsOf(counts: CommandCounts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

describe("what a fair lock costs the server", () => {
  test("two script calls when nobody is in the way, and no message", async () => {
    const lock = (await acquainted()).getFairLock("a");
    const counts = await countedDuring(redis.plain, () => lock.using(() => undefined));
    expect(scriptCalls(counts)).toBe(2);
    expect(counts["publish"]).toBeUndefined();
    expect(await redis.plain.pubsub("CHANNELS")).toEqual([]);
  });

  test("one script call to give up a place in the queue", async () => {
    const [holder, waiter] = [await acquainted(), await acquainted()];
    const lease = await holder.getFairLock("a").lock({ leaseMs: HOUR_MS });
    const leaving = new AbortController();
    const waiting = waiter.getFairLock("a").lock({ signal: leaving.signal });
    await until(async () => (await redis.plain.pubsub("CHANNELS")).length === 1);
    await waiter.getFairLock("b").isLocked();
    const counts = await countedDuring(redis.plain, async () => {
      leaving.abort(new Error("left"));
      await expect(waiting).rejects.toThrow("left");
      await until(async () => (await redis.plain.llen(QUEUE)) === 0);
    });
    expect(scriptCalls(counts)).toBe(1);
    expect(counts["publish"]).toBeUndefined();
    await lease.unlock();
  });

  test("one script call and one message for a hand-over between two of our waiters", async () => {
    const clients = await Promise.all([acquainted(), acquainted(), acquainted()]);
    const holder = await acquainted();
    const lease = await holder.getFairLock("a").lock({ leaseMs: HOUR_MS });
    const waiting = await queued(clients);
    await resetCounts(redis.plain);
    await lease.unlock();
    for (const [i, entering] of waiting.entries()) {
      const next = await entering;
      const counts = await commandCounts(redis.plain);
      expect(counts).toEqual(handedOver);
      expect(await redis.plain.hgetall("a")).toEqual({ [next.holder]: "1" });
      await resetCounts(redis.plain);
      await next.unlock();
      if (i === waiting.length - 1) expect(await calls()).toBe(1);
    }
  });

  test.each([
    [undefined, 2],
    [3_000, 2],
    [500, 2],
    // It is given for longer than that, and its own TTL is written at once.
    [499, 3],
  ])(
    "%j ms of lease: %i script calls and one message for each that waits, by clients that have waited before",
    async (leaseMs, calls) => {
      const pass = await passing({ ...(leaseMs !== undefined && { leaseMs }) }, calls > 2);
      const { subscribe, unsubscribe, publish, ...counts } = await countedDuring(redis.plain, () => pass(10));
      expect({ calls: scriptCalls(counts), publish, subscribe, unsubscribe }).toEqual({
        calls: 10 * calls,
        publish: 10,
      });
      await pass(0);
    },
  );

  /** Two clients that have the lock by turns: each has waited for it. */
  async function passing(
    options: LockOptions,
    isShortened: boolean,
  ): Promise<(turns: number) => Promise<void>> {
    const locks = [(await acquainted()).getFairLock("a"), (await acquainted()).getFairLock("a")] as const;
    let lease = await locks[0].lock(options);
    let turn = 0;
    const pass = async (turns: number) => {
      for (let each = 0; each < turns; each += 1) {
        turn += 1;
        const entering = locks[turn % 2 === 0 ? 0 : 1].lock(options);
        await until(async () => (await redis.plain.llen(QUEUE)) === 1);
        await lease.unlock();
        lease = await entering;
        // Those who wait by then would be told that it ends sooner than it was given.
        if (isShortened) await until(async () => (await redis.plain.pttl("a")) <= (options.leaseMs ?? 0));
      }
      if (turns === 0) await lease.unlock();
    };
    await pass(2);
    // The answers come after those to all that was sent before.
    for (const lock of locks) await lock.isLocked();
    return pass;
  }

  test("one script call and one message to tell a JVM that it is its turn", async () => {
    const holder = await acquainted();
    const lease = await holder.getFairLock("a").lock({ leaseMs: HOUR_MS });
    const thread = new JvmThread((command, ...args) => redis.plain.call(command, ...args) as Promise<string>);
    await thread.queues(Date.now());
    const counts = await countedDuring(redis.plain, () => lease.unlock());
    expect({ calls: scriptCalls(counts), messages: counts["publish"] }).toEqual({ calls: 1, messages: 1 });
    await thread.givesUp();
    expect(thread.channel).toBe(WAITER_CHANNEL + JVM_1);
  });

  test("the same for each release when a thousand tasks of one client wait [B39]", {
    timeout: 180_000,
  }, async () => {
    const client = await acquainted();
    const holder = await acquainted();
    const lease = await holder.getFairLock("a").lock({ leaseMs: HOUR_MS });
    const [second, third] = await crowd(client, 2);
    const small = await countedDuring(redis.plain, () => handOver(lease, second));
    await handOver(await second, third);
    await (await third)?.unlock();
    const again = await holder.getFairLock("a").lock({ leaseMs: HOUR_MS });
    const waiting = await crowd(client, 1_000, { haveWaited: true });
    let current: Lease | undefined = again;
    for (const entering of waiting.slice(0, 50)) {
      const before = current;
      const counts = await countedDuring(redis.plain, () => handOver(before, entering));
      current = await entering;
      expect(scriptCalls(counts)).toBe(1);
      expect(commandsOf(counts) - (counts["unsubscribe"] ?? 0)).toBeLessThanOrEqual(commandsOf(small));
    }
    for (const entering of waiting.slice(50)) {
      await handOver(current, entering);
      current = await entering;
    }
    await current?.unlock();
  });

  test("one script call each 1.5 s for the signs of life of 500 tasks of one client, whichever locks they wait for [B39]", async () => {
    const { holdfast, connect, clock, driver } = open();
    const holder = connect().holdfast;
    const locks = ["a", "b"].map((name) => holdfast.getFairLock(name));
    const leases = await Promise.all(["a", "b"].map((name) => holder.getFairLock(name).lock()));
    const visits = Array.from({ length: 500 }, (_, at) => locks[at % 2]?.using(() => undefined));
    // All stand in the queue, and hear their channels.
    await clock.advance(PERIOD_MS / 2);
    const before = driver.sent.length;
    await clock.advance(4 * PERIOD_MS);
    const sent = driver.sent.slice(before).map(({ script }) => script);
    expect(sent).toEqual(Array.from({ length: 4 }, () => "fair-refresh"));
    for (const lease of leases) await lease.unlock();
    await clock.advance(PERIOD_MS);
    await Promise.all(visits);
  });

  async function crowd(
    client: Holdfast,
    count: number,
    waited?: { readonly haveWaited: boolean },
  ): Promise<readonly Promise<Lease>[]> {
    const waiting = await queued(
      Array.from({ length: count }, () => client),
      waited,
    );
    expect(await redis.plain.llen(QUEUE)).toBe(count);
    return waiting;
  }

  async function handOver(lease: Lease | undefined, next: Promise<Lease> | undefined): Promise<void> {
    await lease?.unlock();
    await next;
  }
});
