import { afterEach, describe, expect, test, vi } from "vitest";
import { until } from "../support/run/until.js";
import { journalArgs, keepJournal } from "../support/servers/key-journal.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { startRedis } from "../support/servers/redis-server.js";
import type { Child, ProgramSettings } from "../support/worlds/child.js";
import { childPrograms } from "../support/worlds/child-programs.js";

const redis = locksOnRedis(() => startRedis({ args: journalArgs }));
const KEY = "order:7";
const HOUR_MS = 3_600_000;
/** Processes take turns, on a machine that may be busy with other tests. */
const LONG_MS = 120_000;
/** How often each of four processes takes the lock. */
const TIMES = Number(process.env["HOLDFAST_COUNTS"] ?? 250);

const start = childPrograms();
afterEach(() => void vi.unstubAllEnvs());

function taker(settings: Partial<ProgramSettings["lock-taker"]> = {}): Promise<Child> {
  return start("lock-taker", { port: redis.server.port, lock: KEY, ...settings });
}

async function gone(): Promise<void> {
  await until(async () => (await redis.plain.exists(KEY)) === 0);
}

/** A client that only a message or the end of the TTL makes ask again. */
/** Whether a client waits behind a holder that does not look into the queue: it listens to its own channel and to that of the lock. */
async function waits(): Promise<boolean> {
  return (await redis.plain.pubsub("CHANNELS")).length === 2;
}

function patientLock() {
  return redis.holdfast({ safetyPeriodMs: HOUR_MS }).getLock(KEY);
}

describe("processes that count", () => {
  async function count(processes: number, times: number, locked: boolean): Promise<number> {
    const settings = { port: redis.server.port, lock: KEY, counter: "counter", times, locked };
    const workers = await Promise.all(
      Array.from({ length: processes }, () => start("counter-worker", settings)),
    );
    const answers = await Promise.all(workers.map((worker) => worker.ask("count")));
    expect(answers.map(({ event }) => event)).toEqual(workers.map(() => "counted"));
    expect(await redis.plain.exists(KEY)).toBe(0);
    const counted = Number(await redis.plain.get("counter"));
    await redis.plain.del("counter");
    return counted;
  }

  test("lose nothing under the lock", { timeout: LONG_MS }, async () => {
    expect(await count(4, TIMES, true)).toBe(4 * TIMES);
  });

  test("lose counts without it, so that the test above can fail", { timeout: LONG_MS }, async () => {
    expect(await count(4, 500, false)).toBeLessThan(2_000);
  });
});

describe("a holder that is killed", () => {
  test("lets the next one in when its TTL ends, by the waiter's own timer", async () => {
    const holder = await taker({ watchdogMs: 1_500 });
    const { holder: field } = await holder.ask("lock");
    const waiting = patientLock().lock();
    await until(waits);
    const journal = await keepJournal(redis.server);
    expect(await redis.plain.hgetall(KEY)).toEqual({ [String(field)]: "1" });
    await holder.stop();
    const lease = await waiting;
    expect(await redis.plain.hgetall(KEY)).toEqual({ [lease.holder]: "1" });
    await lease.unlock();
    const [expired, ...rest] = (await journal.read()).filter((entry) => !entry.startsWith("expire "));
    // The key fell by itself, and nobody said anything.
    expect(expired).toBe(`expired ${KEY}`);
    expect(rest).toEqual([
      `hset ${KEY}`,
      `zrem holdfast_waiting:{${KEY}}`,
      `del holdfast_waiting:{${KEY}}`,
      `hdel ${KEY}`,
      `del ${KEY}`,
      `0 -> redisson_lock__channel:{${KEY}}`,
    ]);
  });

  test("while it waits leaves no more than its place in the queue, and those behind it are served", async () => {
    const lease = await patientLock().lock();
    const victim = await taker();
    const never = victim.ask("lock").catch(() => "it died");
    await until(waits);
    await victim.stop();
    expect(await never).toBe("it died");
    const next = patientLock().lock();
    await lease.unlock();
    await (await next).unlock();
    // Until somebody looks there, or it ends by itself.
    const queue = `holdfast_waiting:{${KEY}}`;
    if ((await redis.plain.exists(queue)) === 1) expect(await redis.plain.pttl(queue)).toBeGreaterThan(0);
    await redis.plain.del(queue);
  });
});

describe("a holder that is stopped for longer than its lease", () => {
  test("knows of the loss on the very next line that looks at state and signal [B24] [R11]", async () => {
    const holder = await taker({ watchdogMs: 2_000 });
    await holder.ask("lock");
    // It will stand still for most of its lease; no busy machine holds it up for so long.
    const looked = holder.ask("awaitStop", { ms: 700 });
    await holder.next("awaiting-stop");
    await holder.freeze();
    await gone();
    const next = await patientLock().lock();
    holder.thaw();
    expect(await looked).toMatchObject({ state: "lost", aborted: true, remainingMs: 0 });
    expect(await redis.plain.hgetall(KEY)).toEqual({ [next.holder]: "1" });
    await next.unlock();
  });

  test("is told by a signal that it took before, without looking, and takes nothing back [B23] [B24]", async () => {
    // The first has a watchdog that looks at it now and then, the second has nobody.
    for (const options of [{}, { leaseMs: 600 }]) {
      const holder = await taker({ watchdogMs: 600 });
      await holder.ask("lock", options);
      await holder.freeze();
      await gone();
      const next = await patientLock().lock({ leaseMs: HOUR_MS });
      holder.thaw();
      const { error } = await holder.next("lost");
      expect(error).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST" });
      expect(await holder.ask("state")).toMatchObject({ state: "lost", aborted: true });
      expect(await holder.ask("tryLock")).toMatchObject({ event: "busy" });
      expect(await redis.plain.hgetall(KEY)).toEqual({ [next.holder]: "1" });
      await next.unlock();
    }
  });

  test("can not release what is another's by now [B36]", async () => {
    const holder = await taker();
    const rival = await taker();
    await holder.ask("lock", { leaseMs: 400 });
    await holder.freeze();
    await gone();
    const { holder: field } = await rival.ask("lock");
    const journal = await keepJournal(redis.server);
    holder.thaw();
    expect(await holder.ask("unlock")).toMatchObject({
      event: "failed",
      error: { code: "ERR_HOLDFAST_NOT_HELD" },
    });
    // Clean-up behind the scenes is over when it has closed.
    expect(await holder.ask("exit")).toMatchObject({ event: "closed" });
    expect(await redis.plain.hgetall(KEY)).toEqual({ [String(field)]: "1" });
    expect((await journal.read()).filter((entry) => !entry.startsWith("expire "))).toEqual([]);
    expect(await rival.ask("state")).toMatchObject({ state: "held" });
    expect(await rival.ask("unlock")).toMatchObject({ event: "released" });
  });
});

describe("what keeps a process alive", () => {
  test("a lock that it holds and has forgotten does not, and falls within its TTL", async () => {
    const holder = await taker({ watchdogMs: 2_000 });
    // It has to wait at first, and so has a subscriber, which keeps it alive no more than the rest.
    await redis.plain.hset(KEY, "somebody", "1");
    const locked = holder.ask("lock");
    await until(waits);
    await redis.plain.multi().del(KEY).publish(`redisson_lock__channel:{${KEY}}`, "0").exec();
    expect(await locked).toMatchObject({ event: "held" });
    expect(await holder.ask("forget")).toMatchObject({ event: "forgotten" });
    expect(await holder.exited).toEqual({ code: 0, signal: null });
    expect(holder.errors).toBe("");
    const journal = await keepJournal(redis.server);
    expect(await redis.plain.pttl(KEY)).toBeLessThanOrEqual(2_000);
    await gone();
    expect(await journal.read()).toEqual([`expired ${KEY}`]);
  });

  test("waiting for a lock does, with nothing else to do", async () => {
    const child = await start("lone-waiter", { leaseMs: 500 });
    await child.next("entered");
    // Holding does not.
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });
});

describe("a process with --unhandled-rejections=strict", () => {
  test("survives that Redis goes away in the middle of renewals, and goes on when it is back [B21] [wire-S15]", async () => {
    vi.stubEnv("NODE_OPTIONS", "--unhandled-rejections=strict");
    const holder = await taker({ watchdogMs: 900, commandTimeoutMs: 300 });
    await holder.ask("lock");
    const waiting = holder.ask("lock");
    await until(async () => (await redis.plain.pubsub("CHANNELS")).length === 1);
    // The renewal is sent and not answered; then its connection breaks, and there is none to be had.
    await redis.server.pause();
    const { error } = await holder.next("lost");
    expect(error).toMatchObject({
      code: "ERR_HOLDFAST_LEASE_LOST",
      message: expect.stringContaining("renewed"),
    });
    await redis.server.kill();
    expect(await waiting).toMatchObject({ event: "failed", error: { code: "ERR_HOLDFAST_UNAVAILABLE" } });
    await holder.next("connection-error");
    expect(await holder.ask("unlock")).toMatchObject({
      event: "failed",
      error: { code: "ERR_HOLDFAST_NOT_HELD" },
    });
    await redis.server.restart();
    await until(async () => (await holder.ask("tryLock")).event === "held");
    expect(await holder.ask("unlock")).toMatchObject({ event: "released" });
    expect(await holder.ask("exit")).toMatchObject({ event: "closed" });
    expect(await holder.exited).toEqual({ code: 0, signal: null });
    expect(holder.errors).toBe("");
  });
});
