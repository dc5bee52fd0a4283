import { afterEach, describe, expect, test } from "vitest";
import type { WorkOrder } from "../support/programs/permit-user.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import type { Child } from "../support/worlds/child.js";
import { childPrograms } from "../support/worlds/child-programs.js";
import { PERMITS_CHANNEL, SAVER_KEY } from "../support/worlds/permits.js";

const redis = locksOnRedis();
const start = childPrograms();

const CAMPAIGN_MS = Number(process.env["HOLDFAST_CAMPAIGN_MS"] ?? 2_000);
/** Processes take turns, on a machine that may be busy with other tests. */
const LONG_MS = 120_000 + CAMPAIGN_MS;
const HOUR_MS = 3_600_000;
const PERMITS = 5;

afterEach(() => redis.plain.del("s", "l", "inside", "inside:full", SAVER_KEY));

function users(count: number): Promise<readonly Child[]> {
  const settings = { port: redis.server.port, semaphore: "s", latch: "l", inside: "inside" };
  return Promise.all(Array.from({ length: count }, () => start("permit-user", settings)));
}

/** What a process has done. */
interface Work {
  readonly turns: number;
  readonly most: number;
}

/** Lets processes work, each in its own way. */
async function working(orders: readonly WorkOrder[]): Promise<readonly Work[]> {
  const children = await users(orders.length);
  const answers = await Promise.all(children.map((child, at) => child.ask("work", orders[at])));
  expect(answers).toMatchObject(orders.map(() => ({ event: "worked" })));
  expect(await redis.plain.get("inside")).toBe("0");
  for (const child of children) {
    expect(await child.ask("exit")).toMatchObject({ event: "closed" });
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.errors).toBe("");
  }
  return answers.map(({ turns, most }) => ({ turns: Number(turns), most: Number(most) }));
}

function mostOf(work: readonly Work[]): number {
  return Math.max(...work.map(({ most }) => most));
}

describe("processes that use permits", () => {
  test("are never more than there are permits, use all of them, and leave all", {
    timeout: LONG_MS,
  }, async () => {
    const semaphore = redis.holdfast().getSemaphore("s");
    await semaphore.trySetPermits(PERMITS);
    const order = { tasks: 16, forMs: CAMPAIGN_MS, full: PERMITS };
    const work = await working(Array.from({ length: 4 }, () => order));
    expect(mostOf(work)).toBe(PERMITS);
    // None of them starves beside the others.
    for (const { turns } of work) expect(turns).toBeGreaterThan(16);
    expect(await semaphore.availablePermits()).toBe(PERMITS);
  });

  test("are more without the semaphore, so that the test above can fail", { timeout: LONG_MS }, async () => {
    const work = await working([1, 2].map(() => ({ tasks: 16, forMs: 200, guarded: false })));
    expect(mostOf(work)).toBeGreaterThan(PERMITS);
  });

  test("get as many as they want, be it all of them, beside those who want one [B28]", {
    timeout: LONG_MS,
  }, async () => {
    const semaphore = redis.holdfast().getSemaphore("s");
    await semaphore.trySetPermits(PERMITS);
    const forMs = CAMPAIGN_MS;
    const ones = { tasks: 16, forMs };
    const work = await working([ones, ones, { permits: 2, tasks: 2, forMs }, { permits: PERMITS, forMs }]);
    expect(mostOf(work)).toBe(PERMITS);
    for (const { turns } of work) expect(turns).toBeGreaterThan(0);
    expect(await semaphore.availablePermits()).toBe(PERMITS);
  });
});

describe("a process that is killed", () => {
  async function waitingUser(permits: number): Promise<Child> {
    const [child] = await users(1);
    if (child === undefined) throw new Error("no process was started");
    void child.ask("acquire", { permits }).catch(() => "it died");
    await until(async () => (await redis.plain.pubsub("CHANNELS")).includes(PERMITS_CHANNEL));
    return child;
  }

  test("while it waits for a permit leaves nothing, and those behind it are served", async () => {
    await redis.plain.set("s", 0);
    const victim = await waitingUser(1);
    const semaphore = redis.holdfast({ safetyPeriodMs: HOUR_MS }).getSemaphore("s");
    const next = semaphore.acquire();
    await until(async () => (await redis.plain.pubsub("NUMSUB", PERMITS_CHANNEL))[1] === 2);
    await victim.stop();
    await semaphore.release();
    await next;
    expect(await redis.plain.get("s")).toBe("0");
  });

  test("while permits are saved up for it keeps others waiting for three seconds more at most", async () => {
    await redis.plain.set("s", PERMITS - 1);
    const victim = await waitingUser(PERMITS);
    const semaphore = redis.holdfast().getSemaphore("s");
    await until(async () => (await redis.plain.exists(SAVER_KEY)) === 1);
    await victim.stop();
    const savedForMs = await redis.plain.pttl(SAVER_KEY);
    expect(savedForMs).toBeLessThanOrEqual(3_000);
    await semaphore.acquire({ waitMs: 10_000 });
    expect(await redis.plain.exists(SAVER_KEY)).toBe(0);
  });
});

describe("processes that wait for a latch", () => {
  test("all go on when others have counted it down [B25]", async () => {
    const latch = redis.holdfast().getCountDownLatch("l");
    await latch.trySetCount(3);
    const children = await users(3);
    const waiting = children.flatMap((child) => [child.ask("await"), child.ask("await")]);
    const own = latch.await();
    await Promise.all(children.map((child) => child.ask("countDown")));
    expect(await Promise.all(waiting)).toMatchObject(waiting.map(() => ({ event: "awaited", open: true })));
    expect(await own).toBe(true);
    expect(await redis.plain.exists("l")).toBe(0);
  });
});
