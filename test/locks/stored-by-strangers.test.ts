import { expect, test } from "vitest";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { listed } from "../support/worlds/listed.js";

const redis = locksOnRedis();
const COUNTER = "redisson_lock_token:{a}";
const HOLDER = "4f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:58";

test.each(["seven", "1.5", "1e3", "0x10", "", " 7", "07", "-0", "9223372036854775808", "7".repeat(100)])(
  "a fencing counter that holds %j is told as it is, and is no obstacle to looking at its lock and freeing it [P13]",
  async (stored) => {
    const holdfast = redis.holdfast();
    await redis.plain.set(COUNTER, stored);
    await redis.plain.hset("a", HOLDER, 1);
    const state = await holdfast.inspect("a");
    expect(state).toMatchObject({ kind: "fenced-lock", token: null, foreignToken: stored });
    await expect(holdfast.getFencedLock("a").getToken()).rejects.toMatchObject({
      code: "ERR_HOLDFAST_WRONG_TYPE",
      key: COUNTER,
      message: expect.stringContaining("fencing counter"),
    });
    const [found] = await listed(holdfast.locks({ sources: ["scan"] }));
    expect(found).toMatchObject({ kind: stored.length > 20 ? "lock" : "fenced-lock", token: null });
    expect(await holdfast.forceUnlock(state)).toBe("released");
    await redis.plain.del(COUNTER);
  },
);

test.each(["0", "-3", "7", "9223372036854775807"])("a fencing counter of %s is a token", async (stored) => {
  const holdfast = redis.holdfast();
  await redis.plain.set(COUNTER, stored);
  await redis.plain.hset("a", HOLDER, 1);
  const state = await holdfast.inspect("a");
  expect([state.token, "foreignToken" in state]).toEqual([BigInt(stored), false]);
  expect(await holdfast.getFencedLock("a").getToken()).toBe(BigInt(stored));
  await redis.plain.del(COUNTER, "a");
});

test("a TTL of 200 million years, a hold count that is none, and a field that objects inherit, are told [P13]", async () => {
  const holdfast = redis.holdfast();
  await redis.plain.hset("a", HOLDER, "1e3", "__proto__", "2");
  await redis.plain.pexpire("a", "9000000000000000000");
  const state = await holdfast.inspect("a");
  expect(state.holders).toEqual([HOLDER, "__proto__"]);
  expect(state.holdCounts[HOLDER]).toBeNaN();
  expect(state.ttlMs).toBeGreaterThan(8e18);
  await redis.plain.del("a");
});

test("members of a set of leases that are no ids are no permits, and ends of any size are told [P13]", async () => {
  const holdfast = redis.holdfast();
  const id = "0".repeat(16);
  await redis.plain.set("p", 3);
  await redis.plain.zadd("{p}:timeout", "inf", id, "1e300", "1".repeat(16), "inf", "short");
  const hex = (text: string) => Buffer.from(text).toString("hex");
  const state = await holdfast.inspect("p");
  expect(state.taken).toEqual([
    { id: hex("1".repeat(16)), endsInMs: -1 },
    { id: hex(id), endsInMs: -1 },
  ]);
  expect(await holdfast.forceRelease(state, { ids: [hex(id)] })).toBe("released");
  await redis.plain.del("p", "{p}:timeout");
});
