import { expect, test } from "vitest";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { fakeTime } from "../support/worlds/fake-time.js";

const redis = locksOnRedis();
const open = fakeTime();

const NOTHING_HELD = { holders: [], holdCounts: {}, queue: [], token: null, ownHolders: [], kept: false };

test("inspect tells what a semaphore has to give, and how far a latch is to be counted down", async () => {
  const time = open();
  const { holdfast, server } = time;
  await holdfast.getSemaphore("s").trySetPermits(3);
  await holdfast.getSemaphore("s").acquire();
  const semaphore = await holdfast.inspect("s");
  expect(semaphore).toMatchObject({ ...NOTHING_HELD, kind: "semaphore-or-latch", available: 2, ttlMs: -1 });
  expect(semaphore).not.toHaveProperty("taken");
  await holdfast.getCountDownLatch("l").trySetCount(5);
  expect(await holdfast.inspect("l")).toMatchObject({ kind: "semaphore-or-latch", available: 5 });
  server.command("DECRBY", "s", 3);
  expect(await holdfast.inspect("s")).toMatchObject({ available: -1 });
  await holdfast.getSemaphore("s").delete();
  await holdfast.getCountDownLatch("l").delete();
});

test("inspect tells which leased permits are out, the first to return first, and counts those that are over as available", async () => {
  const time = open();
  const semaphore = time.holdfast.getPermitExpirableSemaphore("p");
  await semaphore.trySetPermits(5);
  expect(await time.holdfast.inspect("p")).toMatchObject({ kind: "semaphore-or-latch", available: 5 });
  const [forever, late, early] = [
    await semaphore.acquire(),
    await semaphore.acquire({ leaseMs: 60_000 }),
    await semaphore.acquire({ leaseMs: 1_000 }),
  ];
  await time.clock.advance(10);
  const state = await time.holdfast.inspect("p");
  expect(state).toMatchObject({
    ...NOTHING_HELD,
    kind: "permit-expirable-semaphore",
    available: 2,
    takenCount: 3,
    taken: [
      { id: early.ids[0], endsInMs: 990 },
      { id: late.ids[0], endsInMs: 59_990 },
      { id: forever.ids[0], endsInMs: -1 },
    ],
  });
  await time.clock.advance(990);
  const before = time.server.dump();
  expect(await time.holdfast.inspect("p")).toMatchObject({ available: 3, takenCount: 2 });
  expect(await semaphore.availablePermits()).toBe(3);
  expect(before["p"]).toMatchObject({ value: "2" });
  await semaphore.delete();
});

test("inspect shows a thousand leased permits at most, and counts them all", async () => {
  const time = open();
  const semaphore = time.holdfast.getPermitExpirableSemaphore("p");
  await semaphore.trySetPermits(1_002);
  const soon = await semaphore.acquire(1, { leaseMs: 500 });
  await semaphore.acquire(501, { leaseMs: 1_000 });
  await semaphore.acquire(500, { leaseMs: 1_000 });
  const { taken, takenCount } = await time.holdfast.inspect("p");
  expect([taken?.length, takenCount, taken?.[0]?.id]).toEqual([1_000, 1_002, soon.ids[0]]);
  await semaphore.delete();
});

test("inspect reads on a server what the permits themselves are told, ids and leases alike [P6]", async () => {
  const holdfast = redis.holdfast();
  const semaphore = holdfast.getPermitExpirableSemaphore("p");
  await semaphore.trySetPermits(40);
  const permits = await semaphore.acquire(30, { leaseMs: 60_000 });
  const { available, taken = [], takenCount } = await holdfast.inspect("p");
  expect([available, takenCount, taken.map(({ id }) => id).sort()]).toEqual([
    10,
    30,
    [...permits.ids].sort(),
  ]);
  for (const { endsInMs } of taken) expect(endsInMs).toBeGreaterThan(0);
  await permits.release();
  expect(await holdfast.inspect("p")).toMatchObject({ kind: "semaphore-or-latch", available: 40 });
  await semaphore.delete();
  expect(await holdfast.inspect("p")).toMatchObject({ kind: "none" });
});

test.each([
  ["text", "SET", "x"],
  ["a number with zeros before it", "SET", "007"],
  ["a fraction", "SET", "1.5"],
  ["more than can be counted", "SET", "9007199254740993"],
  ["a long text", "SET", "1".repeat(1_000)],
  ["a list", "RPUSH", "1"],
])("inspect refuses a key with %s, on both servers", async (_, command, value) => {
  const time = open();
  time.server.command(command, "k", value);
  await redis.plain.call(command, "k", value);
  for (const holdfast of [time.holdfast, redis.holdfast()]) {
    await expect(holdfast.inspect("k")).rejects.toMatchObject({ code: "ERR_HOLDFAST_WRONG_TYPE", key: "k" });
  }
  time.server.command("DEL", "k");
  await redis.plain.del("k");
});

test("a semaphore stays a key of the wrong type for what looks at a lock", async () => {
  const time = open();
  await time.holdfast.getSemaphore("s").trySetPermits(1);
  const lock = time.holdfast.getLock("s");
  for (const look of [lock.isLocked(), lock.remainTimeToLive(), lock.forceUnlock()]) {
    await expect(look).rejects.toMatchObject({ code: "ERR_HOLDFAST_WRONG_TYPE", type: "string" });
  }
  await expect(time.holdfast.forceUnlock(await time.holdfast.inspect("s"))).rejects.toThrow(
    /forceUnlock needs a state of kind .*"semaphore-or-latch"/,
  );
  await time.holdfast.getSemaphore("s").delete();
});

test("what lies under the name of the leases is none unless it is a sorted set", async () => {
  const time = open();
  await time.holdfast.getSemaphore("s").trySetPermits(1);
  time.server.command("SET", "{s}:timeout", "x", "PX", 1_000);
  expect(await time.holdfast.inspect("s")).toMatchObject({ kind: "semaphore-or-latch", available: 1 });
  await time.holdfast.getSemaphore("s").delete();
});
