import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ClientClosedError,
  LeaseLostError,
  NotHeldError,
  NotReplicatedError,
  UnavailableError,
  WrongTypeError,
} from "../../src/errors.js";
import type { Holdfast } from "../../src/holdfast.js";
import { halfOpen } from "../support/faults/proxy-faults.js";
import { expectToldWhere, FRAMES_OF_NODE, rejectionOf } from "../support/run/my-program.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();
const HOUR_MS = 3_600_000;
const ID = "0".repeat(32);
const { stackTraceLimit } = Error;

beforeAll(() => {
  Error.stackTraceLimit = FRAMES_OF_NODE;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

type Calls = Record<string, (holdfast: Holdfast) => Promise<unknown>>;

const waits: Calls = {
  s1: (holdfast) => holdfast.getSemaphore("s1").acquire(),
  s2: (holdfast) => holdfast.getSemaphore("s2").tryAcquire({ waitMs: HOUR_MS }),
  s3: (holdfast) => holdfast.getSemaphore("s3").using(() => undefined),
  p1: (holdfast) => holdfast.getPermitExpirableSemaphore("p1").acquire(),
  p2: (holdfast) => holdfast.getPermitExpirableSemaphore("p2").tryAcquire({ waitMs: HOUR_MS }),
  p3: (holdfast) => holdfast.getPermitExpirableSemaphore("p3").using({ leaseMs: HOUR_MS }, () => undefined),
};
const acquiring: Calls = {
  ...waits,
  s4: (holdfast) => holdfast.getSemaphore("s4").tryAcquire(2),
  s5: (holdfast) => holdfast.getSemaphore("s5").tryUsing(() => undefined),
  p4: (holdfast) => holdfast.getPermitExpirableSemaphore("p4").tryAcquire(2),
  p5: (holdfast) => holdfast.getPermitExpirableSemaphore("p5").tryUsing({ watchdog: true }, () => undefined),
};
const others: Calls = {
  s6: (holdfast) => holdfast.getSemaphore("s6").trySetPermits(1),
  s7: (holdfast) => holdfast.getSemaphore("s7").release(),
  s8: (holdfast) => holdfast.getSemaphore("s8").releaseIfExists(),
  s9: (holdfast) => holdfast.getSemaphore("s9").addPermits(1),
  s10: (holdfast) => holdfast.getSemaphore("s10").drainPermits(),
  s11: (holdfast) => holdfast.getSemaphore("s11").availablePermits(),
  p6: (holdfast) => holdfast.getPermitExpirableSemaphore("p6").setPermits(1),
  p7: (holdfast) => holdfast.getPermitExpirableSemaphore("p7").release(ID),
  p8: (holdfast) => holdfast.getPermitExpirableSemaphore("p8").tryRelease(ID),
  p9: (holdfast) => holdfast.getPermitExpirableSemaphore("p9").acquiredPermits(),
  p10: (holdfast) => holdfast.getPermitExpirableSemaphore("p10").getPermits(),
  p11: (holdfast) => holdfast.getPermitExpirableSemaphore("p11").updateLeaseTime(ID, 5),
  p12: (holdfast) => holdfast.getPermitExpirableSemaphore("p12").getLeaseTime(ID),
  l1: (holdfast) => holdfast.getCountDownLatch("l1").trySetCount(1),
  l2: (holdfast) => holdfast.getCountDownLatch("l2").countDown(),
  l3: (holdfast) => holdfast.getCountDownLatch("l3").getCount(),
};
const awaiting: Calls = { l4: (holdfast) => holdfast.getCountDownLatch("l4").await() };
const deleting: Calls = {
  s12: (holdfast) => holdfast.getSemaphore("s12").delete(),
  l5: (holdfast) => holdfast.getCountDownLatch("l5").delete(),
};
const all = { ...acquiring, ...others, ...awaiting, ...deleting };

async function expectAllReject(
  holdfast: Holdfast,
  calls: Calls,
  type: Parameters<typeof expectToldWhere>[1],
): Promise<void> {
  const errors = await Promise.all(
    Object.entries(calls).map(async ([name, call]) => {
      const error = await rejectionOf(() => call(holdfast));
      expectToldWhere(error, type, name);
      return error;
    }),
  );
  expect(new Set(errors).size).toBe(errors.length);
}

async function losable() {
  const proxy = await redis.proxy();
  const { holdfast, redis: connection } = redis.connect({ commandTimeoutMs: 500 }, { port: proxy.port });
  await connection.ping();
  return { holdfast, lose: () => proxy.inject(halfOpen()) };
}

describe("semaphores and latches: the caller is in the stack and the name in the text", () => {
  test("of an UnavailableError of each method", async () => {
    const { holdfast, lose } = await losable();
    lose();
    await expectAllReject(holdfast, all, UnavailableError);
    // What is tried on behind the scenes has got through meanwhile, or does so now.
    await holdfast.close();
    await redis.plain.flushall();
  });

  test("of a ClientClosedError of each method, waiting or not", async () => {
    const holdfast = redis.holdfast();
    await redis.plain.set("l4", 1);
    const waiting = expectAllReject(holdfast, { ...waits, ...awaiting }, ClientClosedError);
    await until(async () => (await redis.plain.pubsub("CHANNELS")).length >= 7);
    await holdfast.close();
    await waiting;
    await expectAllReject(holdfast, all, ClientClosedError);
    await redis.plain.flushall();
  });

  test("of a WrongTypeError, be the key another than the name", async () => {
    const holdfast = redis.holdfast({ nameMapper: (name) => `app:${name}` });
    const calls = { ...acquiring, ...others, ...awaiting };
    for (const name of Object.keys(calls)) await redis.plain.rpush(`app:${name}`, "other");
    await expectAllReject(holdfast, calls, WrongTypeError);
    await redis.plain.flushall();
  });

  test("of a NotReplicatedError", async () => {
    const holdfast = redis.holdfast({ replicas: { mode: "require", timeoutMs: 50 } });
    for (const name of Object.keys(acquiring)) await redis.plain.set(name, 5);
    await expectAllReject(holdfast, acquiring, NotReplicatedError);
    await holdfast.close();
    await redis.plain.flushall();
  });

  test("of the UnavailableError of a release, and of each of two who release", async () => {
    const { holdfast, lose } = await losable();
    const semaphore = holdfast.getPermitExpirableSemaphore("p1");
    await semaphore.trySetPermits(2);
    const permits = await semaphore.acquire();
    const again = await semaphore.acquire();
    lose();
    const calls = [() => permits.release(), () => again.release(), () => again.release()];
    const errors = await Promise.all(calls.map((call) => rejectionOf(call)));
    for (const error of errors) expectToldWhere(error, UnavailableError, "p1");
    expect(new Set(errors).size).toBe(3);
    await redis.plain.flushall();
  });

  test("of what permits reject with that were lost", async () => {
    const semaphore = redis.holdfast().getPermitExpirableSemaphore("p1");
    await semaphore.trySetPermits(1);
    const byUsing = await rejectionOf(() =>
      semaphore.using(async (permits) => {
        await redis.plain.del("p1", "{p1}:timeout");
        expectToldWhere(await rejectionOf(() => permits.release()), NotHeldError, "p1");
        expectToldWhere(await rejectionOf(() => permits.assertHeld()), LeaseLostError, "p1");
        expectToldWhere(await rejectionOf(() => permits.release()), NotHeldError, "p1");
        expectToldWhere(await rejectionOf(() => semaphore.release(permits.ids)), NotHeldError, "p1");
        expectToldWhere(await rejectionOf(() => semaphore.getLeaseTime(ID)), NotHeldError, "p1");
      }),
    );
    expectToldWhere(byUsing, LeaseLostError, "p1");
    await redis.plain.flushall();
  });
});
