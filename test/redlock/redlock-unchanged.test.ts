import { setTimeout as sleep } from "node:timers/promises";
import type { Redis } from "ioredis";
import { beforeEach, describe, expect, test } from "vitest";
import Redlock, * as exported from "../../src/redlock/index.js";
import {
  ExecutionError,
  Lock,
  type RedlockAbortSignal,
  ResourceLockedError,
} from "../../src/redlock/index.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();
const HOUR_MS = 3_600_000;
const NONE = { retryCount: 0 };
const NOTHING_APPLIED = "The operation was applied to: 0 of the 1 requested resources.";

let client: Redis;
let errors: Error[];
let redlock: Redlock;
beforeEach(() => {
  client = redis.connect().redis;
  errors = [];
  redlock = new Redlock([client]);
  redlock.on("error", (error) => errors.push(error));
});

/** On which somebody waits for a lock: those who wait behind their own client hear that client alone. */
async function channelsOf(key: string): Promise<readonly string[]> {
  return (await redis.plain.pubsub("CHANNELS", `redisson_lock__channel:{${key}}*`)) as string[];
}

const failureOf = (call: Promise<unknown>): Promise<ExecutionError> =>
  call.then(
    () => Promise.reject(new Error("it did not fail")),
    (error: unknown) => error as ExecutionError,
  );
const voteOf = async (error: Pick<ExecutionError, "attempts">) =>
  (await error.attempts[0])?.votesAgainst.get(client);

describe("resources", () => {
  test("none are locked by a lock of nothing, as for an empty list of ids", async () => {
    let lock = await redlock.acquire([], 5_000);
    lock = await lock.extend(5_000);
    expect([lock.resources, (await lock.attempts[0])?.votesFor]).toEqual([[], new Set([client])]);
    await lock.release();
    expect(await redlock.using([], 1_000, async () => 7)).toBe(7);
    expect([await redis.plain.dbsize(), errors]).toEqual([0, []]);
  });

  test("stay the array that was given, and one that is named twice is locked once", async () => {
    const given = ["a", "b", "a"];
    const lock = await redlock.acquire(given, 5_000);
    expect(lock.resources).toBe(given);
    await (await lock.extend(5_000)).release();
    const again = await redlock.acquire(given, 5_000);
    await new Lock(new Redlock([client]), given, again.value, [], again.expiration).release();
    expect([await redis.plain.dbsize(), errors]).toEqual([0, []]);
  });

  test("may be numbers, as ids are, and are no array by mistake only", async () => {
    const lock = await redlock.acquire([42 as never], 5_000);
    expect(await redis.plain.exists("42")).toBe(1);
    await lock.release();
    await expect(redlock.acquire(undefined as never, 5_000)).rejects.toThrow("array of names");
    await expect(redlock.using(new Set(["a"]) as never, 5_000, async () => 1)).rejects.toThrow(TypeError);
  });

  test("that hold anything else are locked, and are had when that is gone", async () => {
    await redis.plain.rpush("a", "x");
    const failure = await failureOf(redlock.acquire(["a"], 5_000, NONE));
    expect([failure.name, (await voteOf(failure))?.name]).toEqual(["ExecutionError", "WrongTypeError"]);
    const waiting = redlock.acquire(["a"], 5_000, { retryDelay: 20 });
    await sleep(30);
    await redis.plain.del("a");
    await (await waiting).release();
  });
});

describe("settings", () => {
  test("of one call go before those of the redlock", async () => {
    const patient = new Redlock([client], { retryCount: -1, driftFactor: 0.5 });
    const lock = await patient.acquire(["a"], 10_000, { driftFactor: 0.1 });
    expect(lock.expiration - Date.now()).toBeGreaterThan(8_000);
    await failureOf(patient.acquire(["a"], 5_000, NONE));
    await failureOf(patient.using(["a"], 5_000, NONE, async () => 1));
    const extended = await patient.extend(lock, 10_000);
    expect(extended.expiration - Date.now()).toBeLessThan(5_000);
    await patient.release(extended, NONE);
  });

  test("a jitter above the delay makes the tries of a call longer, as pauses are never below nothing", async () => {
    const lock = await redlock.acquire(["a"], HOUR_MS);
    const sinceMs = performance.now();
    await failureOf(redlock.acquire(["a"], 5_000, { retryCount: 20, retryDelay: 0, retryJitter: 40 }));
    expect(performance.now() - sinceMs).toBeGreaterThanOrEqual(190);
    await lock.release();
  });

  test.each([Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER, 1e15])(
    "%d tries are for ever",
    async (retryCount) => {
      const lock = await redlock.acquire(["a"], HOUR_MS);
      const waiting = redlock.acquire(["a"], 5_000, { retryCount, retryDelay: 10, retryJitter: 0 });
      await sleep(30);
      await lock.release();
      expect((await waiting).resources).toEqual(["a"]);
      await (await waiting).release();
    },
  );

  test("tries that are no number are none", async () => {
    const lock = await redlock.acquire(["a"], HOUR_MS);
    for (const retryCount of [Number.NaN, -5])
      expect((await failureOf(redlock.acquire(["a"], 5_000, { retryCount }))).name).toBe("ExecutionError");
    await lock.release();
  });
});

describe("a lock", () => {
  test("that was shortened by its extension lasts for that", async () => {
    const lock = await (await redlock.acquire(["a"], HOUR_MS)).extend(5_000);
    expect(await redis.plain.pttl("a")).toBeLessThanOrEqual(5_000);
    expect(lock.expiration).toBeLessThan(Date.now() + 5_000);
    await lock.release();
  });

  test("that is lost is not extended: its vote is a ResourceLockedError, with the cause", async () => {
    const lock = await redlock.acquire(["a"], HOUR_MS);
    await redis.plain.del("a");
    const error = await failureOf(lock.extend(5_000));
    expect(error).toBeInstanceOf(ExecutionError);
    const vote = await voteOf(error);
    expect(vote).toBeInstanceOf(ResourceLockedError);
    expect(vote).toMatchObject({ message: NOTHING_APPLIED, cause: { code: "ERR_HOLDFAST_LEASE_LOST" } });
    expect(errors).toEqual([vote]);
  });

  test("that has ended in its time is neither extended nor released a second time", async () => {
    const lock = await redlock.acquire(["a"], 100);
    await until(() => Date.now() > lock.expiration + 20);
    expect((await failureOf(lock.extend(5_000))).message).toBe("Cannot extend an already-expired lock.");
    const next = await redlock.acquire(["a"], HOUR_MS);
    await lock.release();
    expect([lock.expiration, await redis.plain.hgetall("a")]).toEqual([0, { [next.value]: "1" }]);
    await next.release();
  });

  test("of several resources of which one is gone is not extended, and its release frees the others", async () => {
    const lock = await redlock.acquire(["a", "b", "c"], HOUR_MS);
    await redis.plain.del("b");
    expect(await voteOf(await failureOf(lock.extend(5_000)))).toMatchObject({
      message: "The operation was applied to: 0 of the 3 requested resources.",
    });
    await lock.release();
    expect(await redis.plain.exists("a", "c")).toBe(0);
  });

  test("its end is waited for by the next", async () => {
    await redlock.acquire(["a"], 300);
    const sinceMs = performance.now();
    await (await redlock.acquire(["a"], 5_000)).release();
    expect(performance.now() - sinceMs).toBeGreaterThan(200);
  });
});

describe("a routine", () => {
  /** Loses the lock of a routine, and answers its signal. */
  const losing = async (signal: RedlockAbortSignal) => {
    await redis.plain.del("a");
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    return signal;
  };

  test("whose lock is lost has an ExecutionError with its votes in signal.error, told as one event", async () => {
    const failure = await failureOf(
      redlock.using(["a"], 1_000, async (signal) => {
        throw (await losing(signal)).error;
      }),
    );
    expect(failure).toBeInstanceOf(ExecutionError);
    expect(failure).toMatchObject({ cause: { code: "ERR_HOLDFAST_LEASE_LOST" } });
    expect(await voteOf(failure)).toBeInstanceOf(ResourceLockedError);
    expect(errors).toEqual([await voteOf(failure)]);
  });

  test("that does not look rejects with signal.error after a loss", async () => {
    let given: RedlockAbortSignal | undefined;
    const failure = await failureOf(
      redlock.using(["a"], 1_000, async (signal) => {
        given = await losing(signal);
      }),
    );
    expect(failure).toBe(given?.error);
  });

  test("its signal aborts without a reason, so that what takes it rejects with an AbortError", async () => {
    await redlock
      .using(["a"], 1_000, async (signal) => {
        await losing(signal);
        expect(signal.reason).toMatchObject({ name: "AbortError" });
        expect(() => signal.throwIfAborted()).toThrow(expect.objectContaining({ name: "AbortError" }));
      })
      .catch(() => undefined);
  });

  test("may be under another, with settings or without, and need not be async", async () => {
    const value = await redlock.using(["a"], 5_000, () =>
      redlock.using(["b"], 5_000, {}, async () => redis.plain.exists("a", "b")),
    );
    expect(value).toBe(2);
    expect(await redlock.using(["a"], 5_000, undefined as never, (() => 7) as never)).toBe(7);
    await failureOf(redlock.using(["a"], 5_000, () => redlock.using(["a"], 5_000, NONE, async () => 1)));
    await expect(redlock.using(["a"], 1_000.5, async () => 1)).rejects.toThrow("Duration must be an integer");
  });

  test("whose clients are ended under it rejects, without calling that locked", async () => {
    const failure = await failureOf(redlock.using(["a"], 1_000, () => redlock.quit()));
    expect(await voteOf(failure)).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "closed" });
    await redis.plain.del("a");
  });
});

describe("errors", () => {
  test("are shown with their messages by JSON and loggers", async () => {
    const shown = JSON.parse(JSON.stringify(new ExecutionError("no", [])));
    expect(shown).toEqual({ name: "ExecutionError", message: "no", attempts: [] });
    const { name, message } = new ResourceLockedError("held");
    expect({ ...new ResourceLockedError("held") }).toEqual({ name, message });
  });

  test("of the server are votes: it is asked again, and has its lock when it is itself again", async () => {
    const user = `redlock-${Date.now()}`;
    await redis.plain.call("ACL", "SETUSER", user, "on", ">x", "~*", "&*", "+@all", "-eval", "-evalsha");
    const weak = redis.connect({}, { username: user, password: "x" }).redis;
    const refused = new Redlock([weak], { retryDelay: 20 });
    const failure = await failureOf(refused.acquire(["a"], 5_000, NONE));
    const [vote] = [...((await failure.attempts[0])?.votesAgainst.values() ?? [])];
    expect(vote).toMatchObject({ code: "ERR_HOLDFAST_UNAVAILABLE", cause: { code: "NOPERM" } });
    const waiting = refused.acquire(["a"], 5_000, { retryCount: -1 });
    await sleep(30);
    await redis.plain.call("ACL", "SETUSER", user, "+@all");
    await (await waiting).release();
    await redis.plain.call("ACL", "DELUSER", user);
  });

  test("of clients that have ended are votes, and end the tries, also those for ever", async () => {
    const lock = await redlock.acquire(["a"], 5_000);
    await redlock.quit();
    for (const call of [() => lock.release(), () => redlock.acquire(["a"], 5_000, { retryCount: -1 })]) {
      const failure = await failureOf(call());
      expect(failure).toBeInstanceOf(ExecutionError);
      expect(await voteOf(failure)).toMatchObject({
        code: expect.stringMatching(/^ERR_HOLDFAST_(CLOSED|UNAVAILABLE)$/),
      });
    }
    const away = redis.connect({}, { retryStrategy: () => null }).redis;
    await away.ping();
    away.disconnect();
    const ended = new Redlock([away]);
    await failureOf(ended.acquire(["a"], 5_000, { retryCount: -1 }));
    for (const each of [redlock, ended]) await expect(each.quit()).rejects.toThrow("Connection is closed");
    await redis.plain.del("a");
  });
});

describe("redlocks", () => {
  test("of one client share its connection for messages, and what they have acquired", async () => {
    await client.ping();
    const before = (await redis.plain.client("LIST")) as string;
    for (let nth = 0; nth < 3; nth += 1) {
      const lock = await new Redlock([client]).acquire(["a"], HOUR_MS);
      const waiting = new Redlock([client]).acquire(["a"], HOUR_MS);
      await until(async () => (await channelsOf("a")).length === 1);
      await new Redlock([client]).release(await new Redlock([client]).extend(lock, HOUR_MS));
      await (await waiting).release();
    }
    const after = (await redis.plain.client("LIST")) as string;
    expect(after.split("\n").length - before.split("\n").length).toBeLessThanOrEqual(1);
  });

  test("of a client that has ended leave nothing open, and go on when it connects again", async () => {
    for (const again of [true, false]) {
      const lock = await redlock.acquire(["a"], HOUR_MS);
      const waiting = redlock.acquire(["a"], HOUR_MS);
      await until(async () => (await channelsOf("a")).length === 1);
      await lock.release();
      const next = await waiting;
      client.disconnect();
      await until(() => client.status === "end");
      if (!again) continue;
      await client.connect();
      await next.release();
    }
    await until(async () => (await redis.plain.pubsub("CHANNELS")).length === 0);
    expect([errors, await redis.plain.del("a")]).toEqual([[], 1]);
  });

  test("are exported by name as well, and may be extended", async () => {
    expect(exported.Redlock).toBe(Redlock);
    class Counting extends Redlock {
      acquired = 0;
      override async acquire(...call: Parameters<Redlock["acquire"]>): Promise<Lock> {
        this.acquired += 1;
        return super.acquire(...call);
      }
    }
    const counting = new Counting([client]);
    const lock = await counting.acquire(["a"], 5_000);
    expect([counting.acquired, lock.redlock]).toEqual([1, counting]);
    await lock.release();
  });
});
