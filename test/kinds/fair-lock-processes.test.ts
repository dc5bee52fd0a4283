import { describe, expect, test } from "vitest";
import { fairTimes } from "../../src/protocol/fair-scripts.js";
import { ALIVE, QUEUE, TIMEOUTS, WAITER_CHANNEL } from "../support/models/fair-queue.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import type { Child, ChildEvent } from "../support/worlds/child.js";
import { childPrograms } from "../support/worlds/child-programs.js";

const redis = locksOnRedis();
const VISITS = "visits";
/** Processes take turns, on a machine that may be busy with other tests. */
const LONG_MS = 120_000;
/** A dead waiter costs a grant and a refresh; a busy machine may take ten times as long. */
const DEAD_WAITER_MS = 10 * (fairTimes.grantMs + 1_500);
/** A dead process is believed alive for six seconds, in which no more than two grants of four seconds begin. */
const DEAD_GRANTS = 2;

const start = childPrograms();

function waiters(count: number): Promise<readonly Child[]> {
  const settings = { port: redis.server.port, lock: "a", visits: VISITS };
  return Promise.all(Array.from({ length: count }, () => start("fair-waiter", settings)));
}

/** Each task is in the queue before the next one is called. */
async function inOrder(
  processes: readonly Child[],
  tasks: number,
  order: string,
): Promise<readonly Promise<ChildEvent>[]> {
  const waiting: Promise<ChildEvent>[] = [];
  for (let task = 0; task < tasks; task++) {
    const child = processes[task % processes.length];
    if (child === undefined) throw new Error("no process");
    const visit = child.ask(order, { task });
    visit.catch(() => undefined);
    waiting.push(visit);
    await until(async () => (await redis.plain.llen(QUEUE)) === task + 1);
  }
  return waiting;
}

async function visits(): Promise<readonly number[]> {
  return (await redis.plain.lrange(VISITS, 0, -1)).map(Number);
}

/** To whom the lock is given from now on, in a list that grows. */
async function given(): Promise<readonly string[]> {
  const holders: string[] = [];
  const listener = redis.server.client();
  listener.on("pmessage", (_, channel: string, message: string) => {
    const [threadId = ""] = message.split(":");
    holders.push(`${channel.slice(WAITER_CHANNEL.length)}:${threadId}`);
  });
  await listener.psubscribe(`${WAITER_CHANNEL}*`);
  return holders;
}

async function nothingIsLeft(): Promise<void> {
  await redis.plain.del(VISITS);
  await until(async () => (await redis.plain.exists("a")) === 0);
  expect(await redis.plain.exists(QUEUE, TIMEOUTS, ALIVE)).toBe(0);
}

describe("tasks of four processes in the queue of a fair lock", () => {
  test("enter in the order in which they came: 4 processes, 8 tasks each [R21] [B9]", {
    timeout: LONG_MS,
  }, async () => {
    const lease = await redis.holdfast().getFairLock("a").lock();
    const waiting = await inOrder(await waiters(4), 32, "visit");
    await lease.unlock();
    await Promise.all(waiting);
    expect(await visits()).toEqual(Array.from({ length: 32 }, (_, task) => task));
    await nothingIsLeft();
  });

  test("enter in their order when one of the processes is killed, and are delayed by seconds [B9] [wire-L2]", {
    timeout: LONG_MS,
  }, async () => {
    const lease = await redis.holdfast().getFairLock("a").lock();
    const processes = await waiters(4);
    const waiting = await inOrder(processes, 32, "visit");
    const dead = (await redis.plain.lrange(QUEUE, 0, -1)).filter((_, task) => task % 4 === 1);
    const holders = await given();
    await processes[1]?.stop();
    await lease.unlock();
    await Promise.allSettled(waiting);
    const grantedDead = dead.filter((holder) => holders.includes(holder));
    expect(grantedDead.length).toBeLessThanOrEqual(DEAD_GRANTS);
    const alive = Array.from({ length: 32 }, (_, task) => task).filter((task) => task % 4 !== 1);
    expect(await visits()).toEqual(alive);
    await nothingIsLeft();
  });

  test("enter when one is killed right after the lock was given to it", { timeout: LONG_MS }, async () => {
    const lease = await redis.holdfast().getFairLock("a").lock();
    const [victim, next] = await waiters(2);
    victim?.ask("enter", { task: 0 }).catch(() => undefined);
    await until(async () => (await redis.plain.llen(QUEUE)) === 1);
    const behind = next?.ask("visit", { task: 1 });
    await until(async () => (await redis.plain.llen(QUEUE)) === 2);
    await victim?.freeze();
    const startMs = performance.now();
    await lease.unlock();
    await victim?.stop();
    expect(await behind).toMatchObject({ event: "visited", task: 1 });
    expect(performance.now() - startMs).toBeLessThan(DEAD_WAITER_MS);
    expect(await visits()).toEqual([1]);
    await nothingIsLeft();
  });

  test("do not enter beside each other when one stood still while it was given the lock [R4]", {
    timeout: LONG_MS,
  }, async () => {
    const lease = await redis.holdfast().getFairLock("a").lock();
    const [victim, next] = await waiters(2);
    const arrivals = await redis.arrivals();
    const late = victim?.ask("visit", { task: 0 });
    // It asks once more when messages have begun to arrive. One that is stopped with a question open gives up for lack of time.
    await until(() => arrivals.of("fair-refresh") === 1);
    await victim?.ask("listen");
    const behind = next?.ask("enter", { task: 1 });
    await until(async () => (await redis.plain.llen(QUEUE)) === 2);
    await victim?.freeze();
    await lease.unlock();
    const inside = await behind;
    victim?.thaw();
    // It is told of what it was given, too late, and stands in the queue again.
    await until(async () => (await redis.plain.llen(QUEUE)) === 1);
    expect(await redis.plain.hkeys("a")).toEqual([inside?.["holder"]]);
    expect(await visits()).toEqual([1]);
    await next?.stop();
    await redis.holdfast().getFairLock("a").forceUnlock();
    await late;
    expect(await visits()).toEqual([1, 0]);
    await nothingIsLeft();
  });
});
