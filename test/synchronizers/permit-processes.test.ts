import { afterEach, describe, expect, test } from "vitest";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { childPrograms } from "../support/worlds/child-programs.js";
import { EXPIRIES } from "../support/worlds/permit-time.js";

const redis = locksOnRedis();
afterEach(() => redis.plain.del("a", EXPIRIES, "inside", "inside:full"));
const start = childPrograms();

const HOUR_MS = 3_600_000;
/** `npm run test:long` asks for 20 s. */
const CAMPAIGN_MS = Number(process.env["HOLDFAST_CAMPAIGN_MS"] ?? 2_000);
/** Processes take turns, on a machine that may be busy with other tests. */
const LONG_MS = 2 * CAMPAIGN_MS + 60_000;

function holder(settings: { readonly watchdogMs?: number } = {}) {
  return start("permit-holder", { port: redis.server.port, semaphore: "a", ...settings });
}

/** A semaphore of a client that only a message or the end of a lease makes ask again. */
async function semaphoreWith(permits: number) {
  const semaphore = redis.holdfast({ safetyPeriodMs: HOUR_MS }).getPermitExpirableSemaphore("a");
  await semaphore.trySetPermits(permits);
  return semaphore;
}

describe("4 processes with 16 tasks each over 5 permits", () => {
  async function workers() {
    const all = await Promise.all([holder(), holder(), holder(), holder()]);
    return async (orders: readonly object[], forMs: number) => {
      const order = { tasks: 16, counter: "inside", forMs };
      const asked = all.map((worker, i) => worker.ask("campaign", { ...order, ...orders[i] }));
      const answers = await Promise.all(asked);
      expect(answers.map(({ event, error }) => [event, error])).toEqual(
        all.map(() => ["visited", undefined]),
      );
      expect(await redis.plain.get("inside")).toBe("0");
      return {
        most: Math.max(...answers.map(({ most }) => Number(most))),
        lost: answers.map(({ lost }) => lost),
        visits: answers.map(({ visits }) => Number(visits)),
      };
    };
  }

  test(`never let more than 5 in, use all of them, and leave none behind in ${CAMPAIGN_MS / 1_000} s`, {
    timeout: LONG_MS,
  }, async () => {
    const semaphore = await semaphoreWith(5);
    const campaign = await workers();
    // So that what follows can fail.
    const unguarded = { guarded: false };
    expect((await campaign([unguarded, unguarded, unguarded, unguarded], 200)).most).toBeGreaterThan(5);
    await redis.plain.del("inside:full");
    const ways = [{ leaseMs: 30_000 }, { watchdog: true }, {}, { leaseMs: 30_000 }];
    const { most, lost, visits } = await campaign(
      ways.map((way) => ({ ...way, full: 5 })),
      CAMPAIGN_MS,
    );
    expect([most, lost]).toEqual([5, [0, 0, 0, 0]]);
    expect(Math.min(...visits), visits.join(", ")).toBeGreaterThan(0);
    expect([await semaphore.availablePermits(), await semaphore.acquiredPermits()]).toEqual([5, 0]);
    // Some want several at once.
    const mixed = [1, 1, 2, 3].map((permits) => ({ leaseMs: 30_000, permits }));
    const several = await campaign(mixed, CAMPAIGN_MS);
    expect(several.most).toBeLessThanOrEqual(5);
    expect(Math.min(...several.visits), several.visits.join(", ")).toBeGreaterThan(0);
    expect([await semaphore.availablePermits(), await semaphore.acquiredPermits()]).toEqual([5, 0]);
  });
});

describe("the permits of a process that is killed", () => {
  test.each<[string, { readonly watchdogMs?: number }, object]>([
    ["a fixed lease", {}, { leaseMs: 700 }],
    ["the watchdog", { watchdogMs: 700 }, { watchdog: true }],
  ])(
    "come back when their lease ends, and let a waiter in by its own timer: with %s",
    async (_, settings, options) => {
      const semaphore = await semaphoreWith(2);
      const victim = await holder(settings);
      await victim.ask("acquire", { permits: 2, ...options });
      const waiting = semaphore.acquire(2);
      expect(await semaphore.availablePermits()).toBe(0);
      await victim.stop();
      const permits = await waiting;
      expect(permits.ids).toHaveLength(2);
      expect(await semaphore.acquiredPermits()).toBe(2);
      await permits.release();
      expect(await semaphore.getPermits()).toBe(2);
    },
  );

  test("without a lease stay out until somebody releases them by their ids", async () => {
    const semaphore = await semaphoreWith(1);
    const victim = await holder();
    const { ids } = await victim.ask("acquire");
    await victim.stop();
    expect(await semaphore.tryAcquire()).toBeNull();
    await semaphore.release(ids as string[]);
    expect(await semaphore.tryAcquire()).not.toBeNull();
  });

  test("that it waited for go to those behind it, and none is lost", async () => {
    const semaphore = await semaphoreWith(1);
    const permits = await semaphore.acquire();
    const victim = await holder();
    const never = victim.ask("acquire", { leaseMs: 500 }).catch(() => "it died");
    const waiting = semaphore.acquire();
    await victim.stop();
    expect(await never).toBe("it died");
    await permits.release();
    await (await waiting).release();
    expect(await semaphore.getPermits()).toBe(1);
  });
});

describe("a process that is stopped for longer than its lease", () => {
  test("knows of the loss when it goes on, and takes nothing back [B23] [B24]", async () => {
    const semaphore = await semaphoreWith(1);
    const stopped = await holder({ watchdogMs: 700 });
    await stopped.ask("acquire", { watchdog: true });
    await stopped.freeze();
    const permits = await semaphore.acquire();
    stopped.thaw();
    expect(await stopped.ask("state")).toMatchObject({ state: "lost" });
    expect(await stopped.ask("release")).toMatchObject({
      event: "failed",
      error: { code: "ERR_HOLDFAST_NOT_HELD" },
    });
    expect(await semaphore.acquiredPermits()).toBe(1);
    await permits.release();
    expect(await semaphore.availablePermits()).toBe(1);
  });
});
