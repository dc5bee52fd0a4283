import { describe, expect, test } from "vitest";
import { Holdfast, type HoldfastOptions } from "../../src/index.js";
import { memoryDriver } from "../../src/memory/index.js";
import { commandCounts, resetCounts } from "../support/servers/command-counts.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();
const KEY = "order:7";

/** As JavaScript would pass it: whatever, unchecked by a compiler. */
function whatever<T>(value: unknown): T {
  return value as T;
}

async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    return error;
  }
}

const badDurations: readonly (readonly [what: string, value: unknown, error: typeof TypeError])[] = [
  ["NaN", Number.NaN, RangeError],
  ["negative", -1, RangeError],
  ["minus infinity", Number.NEGATIVE_INFINITY, RangeError],
  ["a fraction", 1_000.5, RangeError],
  ["infinite", Number.POSITIVE_INFINITY, RangeError],
  ["longer than ten years", 10 * 366 * 24 * 3_600_000, RangeError],
  ["2^53", 2 ** 53, RangeError],
  ["a string", "1000", TypeError],
  ["null", null, TypeError],
  ["a bigint", 1_000n, TypeError],
  ["a date", new Date(0), TypeError],
  ["an object", {}, TypeError],
];

describe("durations", () => {
  const callOptions = ["waitMs", "leaseMs", "maxHoldMs"] as const;
  const cases = callOptions.flatMap((option) => [
    ...badDurations
      // To wait for ever is no mistake.
      .filter(([what]) => option !== "waitMs" || what !== "infinite")
      .map(([what, value, error]) => ({ option, what, value, error })),
    ...(option === "waitMs" ? [] : [{ option, what: "zero", value: 0, error: RangeError }]),
  ]);

  test.each(cases)(
    "$option that is $what is refused before anything is sent",
    async ({ option, value, error }) => {
      const lock = redis.holdfast().getLock(KEY);
      await redis.plain.ping();
      await resetCounts(redis.plain);
      const options = whatever<object>({ [option]: value });
      for (const call of [
        () => lock.lock(options),
        () => lock.tryLock(options),
        () => lock.using(options, () => 1),
      ]) {
        const refusal = await errorOf(call);
        expect(refusal).toBeInstanceOf(error);
        expect((refusal as Error).message).toContain(option);
      }
      const { eval: scripts = 0, evalsha = 0 } = await commandCounts(redis.plain);
      expect(scripts + evalsha).toBe(0);
    },
  );

  const clientOptions: readonly (readonly [option: keyof HoldfastOptions, least: number])[] = [
    ["watchdogMs", 100],
    ["commandTimeoutMs", 1],
    ["safetyPeriodMs", 1],
    ["clockSkewMs", 0],
  ];
  const clientCases = clientOptions.flatMap(([option, least]) => [
    ...badDurations.map(([what, value, error]) => ({ option, what, value, error })),
    { option, what: "too short", value: least - 1, error: RangeError },
  ]);

  test.each(clientCases)("a client's $option that is $what is refused", ({ option, value, error }) => {
    const driver = memoryDriver();
    const make = () => new Holdfast(driver, whatever<HoldfastOptions>({ [option]: value }));
    expect(make).toThrow(error);
    expect(make).toThrow(option);
  });

  test.each(badDurations)("graceMs that is %s is refused", async (_, value, error) => {
    const holdfast = new Holdfast(memoryDriver());
    const refusal = await errorOf(() => holdfast.close(whatever({ graceMs: value })));
    expect(refusal).toBeInstanceOf(error);
    expect((refusal as Error).message).toContain("graceMs");
    await holdfast.close();
    expect(await errorOf(() => holdfast.getLock(KEY).lock())).toMatchObject({ code: "ERR_HOLDFAST_CLOSED" });
  });

  test("at the ends of their ranges are taken", async () => {
    const tenYearsMs = 10 * 365 * 24 * 3_600_000;
    const lock = redis.holdfast({ safetyPeriodMs: tenYearsMs, clockSkewMs: 0 }).getLock(KEY);
    const lease = await lock.lock({ leaseMs: tenYearsMs, waitMs: tenYearsMs });
    expect(await redis.plain.pttl(KEY)).toBeGreaterThan(tenYearsMs - 60_000);
    expect(lease.remainingMs()).toBeGreaterThan(0.98 * tenYearsMs);
    await lease.unlock();
    await (await lock.lock({ maxHoldMs: tenYearsMs })).unlock();
    await lock.lock({ leaseMs: 1 });
    await lock.using({ waitMs: 10_000 }, () => undefined);
  });
});

describe("other options", () => {
  test.each([
    ["options that are null", null, "options"],
    ["options that are a number", 5_000, "options"],
    ["a lease and a longest hold at once", { leaseMs: 1_000, maxHoldMs: 1_000 }, "leaseMs and maxHoldMs"],
    ["a signal that is none", { signal: { aborted: false } }, "signal"],
    ["a thread id that is a string", { threadId: "57" }, "threadId"],
    ["a thread id that is a bigint", { threadId: 57n }, "threadId"],
    ["a thread id of 0", { threadId: 0 }, "threadId"],
    ["a negative thread id", { threadId: -57 }, "threadId"],
    ["a thread id with a fraction", { threadId: 5.7 }, "threadId"],
    ["a thread id that is NaN", { threadId: Number.NaN }, "threadId"],
    ["a thread id beyond the integers", { threadId: 2 ** 53 }, "threadId"],
  ])("%s are refused", async (_, options, named) => {
    const lock = redis.holdfast().getLock(KEY);
    const calls = [() => lock.lock(whatever(options)), () => lock.tryLock(whatever(options))];
    for (const call of calls) {
      const refusal = await errorOf(call);
      expect(refusal instanceof TypeError || refusal instanceof RangeError).toBe(true);
      expect((refusal as Error).message).toContain(named);
    }
    expect(await redis.plain.exists(KEY)).toBe(0);
  });

  test("a thread id of the client's own range stands for a live lease, or is refused", async () => {
    const lock = redis.holdfast().getLock(KEY);
    expect(await errorOf(() => lock.lock({ threadId: 2 ** 32 + 1_000 }))).toMatchObject({
      code: "ERR_HOLDFAST_NOT_HELD",
      message: expect.stringContaining(String(2 ** 32 + 1_000)),
    });
    const lease = await lock.lock({ threadId: 2 ** 32 - 1 });
    expect(lease.threadId).toBe(2 ** 32 - 1);
    await lease.unlock();
  });

  test.each(["unlock", "isHeldByThread", "getHoldCount"] as const)(
    "%s refuses a thread id that is none",
    async (method) => {
      const lock = redis.holdfast().getLock(KEY);
      expect(await errorOf(() => lock[method](0))).toBeInstanceOf(RangeError);
      expect(await errorOf(() => lock[method](whatever("1")))).toBeInstanceOf(TypeError);
    },
  );

  test("using without a function is refused before anything is taken", async () => {
    const lock = redis.holdfast().getLock(KEY);
    expect(await errorOf(() => lock.using(whatever(undefined)))).toBeInstanceOf(TypeError);
    expect(await errorOf(() => lock.using({ leaseMs: 1_000 }, whatever("body")))).toBeInstanceOf(TypeError);
    expect(await redis.plain.exists(KEY)).toBe(0);
  });

  test("a client's nameMapper and reentry are checked", () => {
    const driver = memoryDriver();
    const make = (options: object) => () => new Holdfast(driver, whatever<HoldfastOptions>(options));
    expect(make({ nameMapper: "app:" })).toThrow(TypeError);
    expect(make({ reentry: "always" })).toThrow(/reentry.*always/);
    expect(() => new Holdfast(driver).getLock(KEY, whatever({ reentry: 1 }))).toThrow(/reentry/);
  });
});

describe("names", () => {
  test.each([[""], [undefined], [null], [7], [{}], [["order:7"]]])("%j is none", async (name) => {
    const holdfast = redis.holdfast();
    const refusal = { code: "ERR_HOLDFAST_INVALID_NAME" };
    expect(await errorOf(() => holdfast.getLock(whatever(name)))).toMatchObject(refusal);
    expect(await errorOf(() => holdfast.inspect(whatever(name)))).toMatchObject(refusal);
    const mapping = redis.holdfast({ nameMapper: () => whatever(name) });
    expect(await errorOf(() => mapping.getLock(KEY))).toMatchObject({
      ...refusal,
      message: expect.stringContaining(KEY),
    });
  });

  test.each(["a{b", "a}b", "}{", "{}", "a{}b", "{", "}", "a}b{c}", "{{a}", "a b\n", "*", "\u0000", "é🔒"])(
    "%j is as good as any on a standalone server [wire-A8]",
    async (name) => {
      const [holder, rival] = [redis.holdfast(), redis.holdfast({ safetyPeriodMs: 3_600_000 })];
      const lease = await holder.getLock(name).lock();
      expect(await redis.plain.keys("*")).toEqual([name]);
      expect(await rival.getLock(name).tryLock()).toBeNull();
      const waiting = rival.getLock(name).lock();
      await lease.unlock();
      await (await waiting).unlock();
      expect((await holder.inspect(name)).kind).toBe("none");
    },
  );
});

describe("a key that is something else", () => {
  test.each([
    ["string", () => redis.plain.set(KEY, "order")],
    ["list", () => redis.plain.rpush(KEY, "a", "b")],
    ["set", () => redis.plain.sadd(KEY, "a")],
    ["zset", () => redis.plain.zadd(KEY, 1, "a")],
    ["stream", () => redis.plain.xadd(KEY, "*", "a", "1")],
  ] as const)("a %s is named in the error of every method, and not changed", async (type, fill) => {
    await fill();
    const before = await redis.plain.dump(KEY);
    const holdfast = redis.holdfast();
    const lock = holdfast.getLock(KEY);
    const calls = [
      () => lock.lock(),
      () => lock.tryLock(),
      () => lock.tryLock({ waitMs: 3_600_000 }),
      () => lock.using(() => undefined),
      () => lock.forceUnlock(),
      () => lock.isLocked(),
      () => lock.remainTimeToLive(),
      () => holdfast.inspect(KEY),
    ];
    for (const call of calls) {
      expect(await errorOf(call)).toMatchObject({
        code: "ERR_HOLDFAST_WRONG_TYPE",
        key: KEY,
        type,
        message: expect.stringMatching(new RegExp(`"${KEY}".*${type}`)),
      });
    }
    expect(await redis.plain.dump(KEY)).toBe(before);
    expect(await redis.plain.pttl(KEY)).toBe(-1);
    await redis.plain.del(KEY);
  });

  test("in the place of a lock that was held is a lost lease, and is not changed by the release", async () => {
    const lock = redis.holdfast().getLock(KEY);
    const lease = await lock.lock();
    await redis.plain.set(KEY, "order");
    expect(await errorOf(() => lock.getHoldCount(lease.threadId))).toMatchObject({
      code: "ERR_HOLDFAST_WRONG_TYPE",
    });
    expect(await errorOf(() => lease.unlock())).toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
    expect(lease.state).toBe("lost");
    expect(await redis.plain.get(KEY)).toBe("order");
    await redis.plain.del(KEY);
  });

  test("is told to all who wait, as soon as they ask again", async () => {
    await redis.plain.hset(KEY, "somebody", "1");
    const lock = redis.holdfast({ safetyPeriodMs: 200 }).getLock(KEY);
    const waiting = [lock.lock(), lock.lock(), lock.tryLock({ waitMs: 3_600_000 })];
    const errors = Promise.all(waiting.map((call) => errorOf(() => call)));
    await redis.plain.multi().del(KEY).set(KEY, "order").exec();
    for (const error of await errors)
      expect(error).toMatchObject({ code: "ERR_HOLDFAST_WRONG_TYPE", type: "string" });
    await redis.plain.del(KEY);
  });
});

describe("a closed client", () => {
  test("refuses everything that needs it, and says so", async () => {
    const holdfast = redis.holdfast();
    const lock = holdfast.getLock(KEY);
    const lease = await lock.lock({ leaseMs: 60_000 });
    await holdfast.close();
    const calls = [
      () => lock.lock(),
      () => lock.tryLock(),
      () => lock.using(() => undefined),
      () => lock.forceUnlock(),
      () => lock.isLocked(),
      () => lock.remainTimeToLive(),
      () => lock.getHoldCount(57),
      () => lock.isHeldByThread(57),
      () => lock.isHeldByCurrentThread(),
      () => holdfast.getLock("another").lock(),
      () => holdfast.inspect(KEY),
      () => holdfast.asThread(() => undefined),
    ];
    for (const call of calls) expect(await errorOf(call)).toMatchObject({ code: "ERR_HOLDFAST_CLOSED" });
    expect(await errorOf(() => lease.unlock())).toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
    expect(lease.signal.reason).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "closed" });
    await redis.plain.del(KEY);
  });
});
