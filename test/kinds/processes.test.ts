import { afterEach, describe, expect, test } from "vitest";
import { fairQueueKey, fencingTokenKey } from "../../src/protocol/names.js";
import type { CounterWorkerSettings } from "../support/programs/counter-worker.js";
import { type KindOfLock, lockOfKind } from "../support/programs/kind-of-lock.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import type { Child } from "../support/worlds/child.js";
import { childPrograms } from "../support/worlds/child-programs.js";

const redis = locksOnRedis();
const NAME = "order:7";
const HOUR_MS = 3_600_000;
const WATCHDOG_MS = 1_000;
/** Processes take turns, on a machine that may be busy with other tests. */
const LONG_MS = 120_000;
const TIMES = 60;

afterEach(async () => {
  await redis.plain.del(fencingTokenKey(NAME), "counter", "list", "tokens");
});

const start = childPrograms();

/** Processes that count or watch, and have begun with nothing. */
function workers(
  kinds: readonly KindOfLock[],
  settings: Pick<CounterWorkerSettings, "locked" | "tokens"> = {},
): Promise<readonly Child[]> {
  const { port } = redis.server;
  return Promise.all(
    kinds.map((kind) =>
      start("counter-worker", { port, lock: NAME, kind, counter: "counter", times: TIMES, ...settings }),
    ),
  );
}

/** A client that only a message or the end of a TTL makes ask again. */
function patientLock(kind: KindOfLock) {
  return lockOfKind(redis.holdfast({ safetyPeriodMs: HOUR_MS }), kind, NAME);
}

const exclusive: readonly KindOfLock[] = [
  ...(["non-reentrant", "fair", "non-reentrant fair", "spin", "fenced"] as const),
  ...(["write", "fair write", "multi", "red"] as const),
];

describe.each(exclusive)("processes that count under a lock of the kind: %s", (kind) => {
  test("lose nothing, and leave nothing behind", { timeout: LONG_MS }, async () => {
    const counting = await workers([kind, kind, kind, kind]);
    const answers = await Promise.all(counting.map((worker) => worker.ask("count")));
    expect(answers).toMatchObject(counting.map(() => ({ event: "counted" })));
    expect(await redis.plain.get("counter")).toBe(String(4 * TIMES));
    await redis.plain.del(fencingTokenKey(NAME), "counter");
    expect(await redis.plain.keys("*")).toEqual([]);
  });
});

describe("processes that draw tokens under a fenced lock", () => {
  test("draw each a greater one than whoever had the lock before", { timeout: LONG_MS }, async () => {
    const drawing = await workers(["fenced", "fenced", "fenced", "fenced"], { tokens: "tokens" });
    await Promise.all(drawing.map((worker) => worker.ask("count")));
    const tokens = (await redis.plain.lrange("tokens", 0, -1)).map(BigInt);
    expect(tokens).toHaveLength(4 * TIMES);
    expect(tokens.filter((token, at) => at > 0 && token <= (tokens[at - 1] ?? 0n))).toEqual([]);
  });
});

describe("processes that read while others write", () => {
  /** @returns how often a reader saw the count change while it looked */
  async function watchWriters(kinds: readonly KindOfLock[], settings = {}) {
    const [writer, rival, ...readers] = await workers(kinds, settings);
    const counting = [writer, rival].map((worker) => worker?.ask("count"));
    const answers = await Promise.all(readers.map((reader) => reader.ask("watch")));
    await Promise.all(counting);
    return answers.reduce((total, { changes }) => total + Number(changes), 0);
  }

  test.each([
    ["a read-write lock", ["write", "write", "read", "read"]],
    ["a fair read-write lock", ["fair write", "fair write", "fair read", "fair read"]],
  ] as const)(
    "never see the count change while they have %s, nor lose one",
    {
      timeout: LONG_MS,
    },
    async (_, kinds) => {
      expect(await watchWriters(kinds)).toBe(0);
      expect(await redis.plain.get("counter")).toBe(String(2 * TIMES));
    },
  );

  test("see it change without one, so that the test above can fail", { timeout: LONG_MS }, async () => {
    const kinds: readonly KindOfLock[] = ["write", "write", "read", "read"];
    expect(await watchWriters(kinds, { locked: false })).toBeGreaterThan(0);
  });
});

describe("tasks of three processes in the queue of a non-reentrant fair lock", () => {
  test("enter in the order in which they came", { timeout: LONG_MS }, async () => {
    const { port } = redis.server;
    const settings = { port, lock: NAME, kind: "non-reentrant fair", visits: "list" } as const;
    const processes = await Promise.all([1, 2, 3].map(() => start("fair-waiter", settings)));
    const lease = await redis.holdfast().getNonReentrantFairLock(NAME).lock();
    const waiting: Promise<unknown>[] = [];
    for (let task = 0; task < 12; task += 1) {
      waiting.push(Promise.resolve(processes[task % 3]?.ask("visit", { task })));
      await until(async () => (await redis.plain.llen(fairQueueKey(NAME))) === task + 1);
    }
    await lease.unlock();
    await Promise.all(waiting);
    expect(await redis.plain.lrange("list", 0, -1)).toEqual(waiting.map((_, task) => String(task)));
  });
});

describe.each<readonly [killed: KindOfLock, next: KindOfLock]>([
  ["non-reentrant", "non-reentrant"],
  ["fair", "fair"],
  ["non-reentrant fair", "non-reentrant fair"],
  ["spin", "spin"],
  ["fenced", "fenced"],
  ["write", "write"],
  ["write", "read"],
  ["read", "write"],
  ["multi", "multi"],
  ["red", "red"],
])("a process that is killed with a lock of the kind: %s", (killed, next) => {
  test(`lets one in that waits for a lock of the kind ${next}, when its lease is over [B3]`, async () => {
    const holder = await start("lock-taker", {
      port: redis.server.port,
      lock: NAME,
      kind: killed,
      watchdogMs: WATCHDOG_MS,
    });
    await holder.ask("lock");
    expect(await patientLock(next).tryLock()).toBeNull();
    const waiting = patientLock(next).lock();
    await holder.stop();
    const lease = await waiting;
    expect(lease.state).toBe("held");
    await lease.unlock();
  });
});
