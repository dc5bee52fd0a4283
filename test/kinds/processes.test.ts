import { afterEach, describe, expect, test } from "vitest";
import { fencingTokenKey } from "../../src/protocol/names.js";
import { type Child, startProgram } from "../support/child.js";
import { locksOnRedis } from "../support/locks-on-redis.js";
import { type KindOfLock, lockOfKind } from "../support/programs/kind-of-lock.js";

const redis = locksOnRedis();
const NAME = "order:7";
const HOUR_MS = 3_600_000;
const WATCHDOG_MS = 1_500;
/** Processes take turns, on a machine that may be busy with other tests. */
const LONG_MS = 120_000;

const children: Child[] = [];
afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.stop()));
  await redis.plain.del(fencingTokenKey(NAME), "counter");
});

async function start<Name extends "counter-worker" | "lock-taker">(
  program: Name,
  settings: Parameters<typeof startProgram<Name>>[1],
): Promise<Child> {
  const child = await startProgram(program, settings);
  children.push(child);
  return child;
}

/** A client that only a message or the end of a TTL makes ask again. */
function patientLock(kind: KindOfLock) {
  return lockOfKind(redis.holdfast({ safetyPeriodMs: HOUR_MS }), kind, NAME);
}

const exclusive: readonly KindOfLock[] = ["non-reentrant", "fair", "spin", "fenced", "write"];

describe.each(exclusive)("processes that count under a lock of the kind: %s", (kind) => {
  test("lose nothing, and leave nothing behind", { timeout: LONG_MS }, async () => {
    const settings = { port: redis.server.port, lock: NAME, kind, counter: "counter", times: 250 };
    const workers = await Promise.all([1, 2, 3, 4].map(() => start("counter-worker", settings)));
    await Promise.all(workers.map((worker) => worker.ask("count")));
    expect(await redis.plain.get("counter")).toBe("1000");
    await redis.plain.del(fencingTokenKey(NAME), "counter");
    expect(await redis.plain.keys("*")).toEqual([]);
  });
});

describe.each<readonly [killed: KindOfLock, next: KindOfLock]>([
  ["non-reentrant", "non-reentrant"],
  ["fair", "fair"],
  ["spin", "spin"],
  ["fenced", "fenced"],
  ["write", "write"],
  ["write", "read"],
  ["read", "write"],
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
