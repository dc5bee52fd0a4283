import { describe, expect, test } from "vitest";
import type { Lease } from "../../src/lease.js";
import type { ScriptName } from "../support/all-scripts.js";
import { type KindOfLock, lockOfKind } from "../support/programs/kind-of-lock.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();
const NAMES = ["order:1", "order:2", "order:3"] as const;
const MINUTE_MS = 60_000;

/** What is taken in one turn is one command, whose second key is not what it should be. */
describe("a group of three whose second key has another type", () => {
  /** @param commands how many of the script it takes */
  async function takeAll(
    kind: KindOfLock,
    script: ScriptName,
    commands: number,
  ): Promise<readonly PromiseSettledResult<Lease>[]> {
    const holdfast = redis.holdfast();
    await holdfast.getLock("acquaintance").using(() => undefined);
    const arrivals = await redis.arrivals();
    const calls = NAMES.map((name) => lockOfKind(holdfast, kind, name).lock({ leaseMs: MINUTE_MS }));
    const outcomes = await Promise.allSettled(calls);
    await until(() => arrivals.of(script) === commands);
    return outcomes;
  }

  async function unlockAll(outcomes: readonly PromiseSettledResult<Lease>[]): Promise<void> {
    for (const outcome of outcomes) if (outcome.status === "fulfilled") await outcome.value.unlock();
  }

  test("is answered for each where the script looks at the type", async () => {
    await redis.plain.rpush(NAMES[1], "no lock");
    const outcomes = await takeAll("lock", "lock-acquire", 1);
    expect(outcomes).toMatchObject([
      { status: "fulfilled" },
      { status: "rejected", reason: { code: "ERR_HOLDFAST_WRONG_TYPE" } },
      { status: "fulfilled" },
    ]);
    await unlockAll(outcomes);
    expect(await redis.plain.exists(...NAMES)).toBe(1);
    await redis.plain.del(NAMES[1]);
  });

  test("keeps nothing that nobody knows of where the script breaks off in the middle [own-9]", async () => {
    const mark = `holdfast_rw_writer:{${NAMES[1]}}`;
    await redis.plain.rpush(mark, "no mark");
    // All in one, and then each by itself.
    const outcomes = await takeAll("write", "write-acquire", 4);
    expect(outcomes).toMatchObject([
      { status: "fulfilled" },
      { status: "rejected", reason: { code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: true } },
      { status: "fulfilled" },
    ]);
    expect(outcomes[1]).toMatchObject({ reason: { cause: { code: "WRONGTYPE", fromScript: true } } });
    await unlockAll(outcomes);
    await until(async () => (await redis.plain.exists(...NAMES)) === 0);
    await redis.plain.del(mark);
  });

  test("takes nothing of one that is asked for alone, and that the server can not take as a whole", async () => {
    const mark = `holdfast_rw_writer:{${NAMES[1]}}`;
    await redis.plain.rpush(mark, "no mark");
    const lock = redis.holdfast().getReadWriteLock(NAMES[1]).writeLock();
    await expect(lock.tryLock()).rejects.toMatchObject({
      outcomeUnknown: false,
      cause: { code: "WRONGTYPE" },
    });
    expect(await redis.plain.exists(NAMES[1])).toBe(0);
    await redis.plain.del(mark);
  });
});
