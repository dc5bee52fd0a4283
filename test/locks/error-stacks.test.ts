import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HoldfastOptions } from "../../src/client-options.js";
import {
  ClientClosedError,
  LeaseLostError,
  NotHeldError,
  NotReplicatedError,
  QuorumError,
  UnavailableError,
  WrongTypeError,
} from "../../src/errors.js";
import { type AcquireEvent, events } from "../../src/events.js";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import { halfOpen } from "../support/faults/proxy-faults.js";
import { expectToldWhere, FRAMES_OF_NODE, rejectionOf } from "../support/run/my-program.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();
const HOUR_MS = 3_600_000;
const commandTimeoutMs = 500;
const { stackTraceLimit } = Error;

beforeAll(() => {
  Error.stackTraceLimit = FRAMES_OF_NODE;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

type Make = (holdfast: Holdfast, name: string) => Lock;
const single: Record<string, Make> = {
  lock: (holdfast, name) => holdfast.getLock(name),
  "non-reentrant lock": (holdfast, name) => holdfast.getNonReentrantLock(name),
  "fair lock": (holdfast, name) => holdfast.getFairLock(name),
  "spin lock": (holdfast, name) => holdfast.getSpinLock(name),
  "fenced lock": (holdfast, name) => holdfast.getFencedLock(name),
  "read lock": (holdfast, name) => holdfast.getReadWriteLock(name).readLock(),
  "write lock": (holdfast, name) => holdfast.getReadWriteLock(name).writeLock(),
};
const all: Record<string, Make> = {
  ...single,
  "multi lock": (holdfast, name) =>
    holdfast.getMultiLock(...name.split("+").map((one) => holdfast.getLock(one))),
  "red lock": (holdfast, name) => holdfast.getRedLock(...name.split("+").map((one) => holdfast.getLock(one))),
};
const nameOf = (kind: string) => (/multi|red/.test(kind) ? `${kind} 1+${kind} 2` : `a ${kind}`);

/** All that asks for a lock, and all that asks about one. */
const acquiring: Record<string, (lock: Lock) => Promise<unknown>> = {
  lock: (lock) => lock.lock(),
  "lock with a threadId": (lock) => lock.lock({ threadId: 7 }),
  tryLock: (lock) => lock.tryLock(),
  "tryLock that waits": (lock) => lock.tryLock({ waitMs: HOUR_MS }),
  using: (lock) => lock.using(() => undefined),
  tryUsing: (lock) => lock.tryUsing(() => undefined),
};
const asking: Record<string, (lock: Lock) => Promise<unknown>> = {
  forceUnlock: (lock) => lock.forceUnlock(),
  isLocked: (lock) => lock.isLocked(),
  remainTimeToLive: (lock) => lock.remainTimeToLive(),
};

/** A client whose server can be made to answer nothing any more. */
async function losable(options: HoldfastOptions = {}) {
  const proxy = await redis.proxy();
  const { holdfast, redis: connection } = redis.connect(
    { commandTimeoutMs, ...options },
    { port: proxy.port },
  );
  await connection.ping();
  return { holdfast, lose: async () => void proxy.inject(halfOpen()) };
}

/** Each method of each kind of lock, all called at once. */
async function expectAllReject(
  holdfast: Holdfast,
  makes: Record<string, Make>,
  calls: Record<string, (lock: Lock) => Promise<unknown>>,
  type: Parameters<typeof expectToldWhere>[1],
  namedFor: (kind: string, call: string) => string = nameOf,
): Promise<void> {
  const cases = Object.entries(makes).flatMap(([kind, make]) =>
    Object.entries(calls).map(([method, call]) => ({ make, call, name: namedFor(kind, method) })),
  );
  const errors = await Promise.all(
    cases.map(async ({ make, call, name }) => {
      const error = await rejectionOf(() => call(make(holdfast, name)));
      expectToldWhere(error, type, name);
      return error;
    }),
  );
  expect(new Set(errors).size).toBe(cases.length);
}

describe("the caller is in the stack and the name in the text", () => {
  test("of an UnavailableError of each method of each kind [own-22]", async () => {
    const { holdfast, lose } = await losable();
    await lose();
    const calls = { ...acquiring, ...asking };
    await expectAllReject(holdfast, single, calls, UnavailableError);
    await expectAllReject(holdfast, { "multi lock": all["multi lock"] as Make }, calls, UnavailableError);
    await expectAllReject(holdfast, { "red lock": all["red lock"] as Make }, acquiring, QuorumError);
    await expectAllReject(holdfast, { "red lock": all["red lock"] as Make }, asking, UnavailableError);
    expectToldWhere(await rejectionOf(() => holdfast.inspect("order:7")), UnavailableError, "order:7");
  });

  test("also of calls that wait when the server goes", async () => {
    const holder = redis.holdfast();
    const { holdfast: waiter, lose } = await losable({ safetyPeriodMs: 200 });
    const names = ["lock", "spin lock", "write lock"].map((kind) => [kind, nameOf(kind)] as const);
    for (const [kind, name] of names) await single[kind]?.(holder, name).lock();
    const waiting = names.flatMap(([kind, name]) =>
      [1, 2].map(async () => {
        expectToldWhere(await rejectionOf(() => single[kind]?.(waiter, name).lock()), UnavailableError, name);
      }),
    );
    await until(async () => (await redis.plain.pubsub("CHANNELS")).length >= 2);
    await lose();
    await Promise.all(waiting);
    await redis.plain.flushall();
  });

  test("of the UnavailableError of a release, and each of two who release has one of its own", async () => {
    for (const [kind, make] of Object.entries(all)) {
      const { holdfast, lose } = await losable();
      const name = nameOf(kind);
      const lease = await make(holdfast, name).lock();
      const again = await make(holdfast, `${kind} twice`).lock();
      await make(holdfast, `${kind} by id`).lock({ threadId: 7 });
      await lose();
      const byLease = rejectionOf(() => lease.unlock());
      const byId = rejectionOf(() => make(holdfast, `${kind} by id`).unlock(7));
      const twice = [rejectionOf(() => again.unlock()), rejectionOf(() => again.unlock())];
      expectToldWhere(await byLease, UnavailableError, name);
      expectToldWhere(await byId, UnavailableError, `${kind} by id`);
      const [first, second] = await Promise.all(twice);
      expect(first).not.toBe(second);
      expectToldWhere(second, UnavailableError, `${kind} twice`);
    }
    await redis.plain.flushall();
  });

  test("of the ClientClosedError of each method of each kind, waiting or not", async () => {
    const holder = redis.holdfast();
    const holdfast = redis.holdfast();
    // Readers let readers in.
    const holding = (kind: string, make: Make) =>
      kind === "read lock" ? (single["write lock"] as Make) : make;
    const leases = await Promise.all(
      Object.entries(all).map(([kind, make]) => holding(kind, make)(holder, nameOf(kind)).lock()),
    );
    const { lock, using, "tryLock that waits": tryLock } = acquiring as Required<typeof acquiring>;
    const waits = { lock, using, tryLock } as typeof acquiring;
    const waiting = expectAllReject(holdfast, all, waits, ClientClosedError);
    await until(async () => (await redis.plain.pubsub("CHANNELS")).length >= 5);
    await holdfast.close();
    await waiting;
    await expectAllReject(holdfast, all, { ...acquiring, ...asking }, ClientClosedError);
    expectToldWhere(await rejectionOf(() => holdfast.inspect("order:7")), ClientClosedError, "order:7");
    await Promise.all(leases.map((lease) => lease.unlock()));
    await redis.plain.flushall();
  });

  test("of a WrongTypeError of each method of each kind, be the key another than the name", async () => {
    const holdfast = redis.holdfast({ nameMapper: (name) => `app:${name}` });
    for (const kind of Object.keys(all)) {
      for (const one of nameOf(kind).split("+")) await redis.plain.set(`app:${one}`, "other");
    }
    await expectAllReject(holdfast, single, { ...acquiring, ...asking }, WrongTypeError);
    await expectAllReject(holdfast, { "multi lock": all["multi lock"] as Make }, acquiring, WrongTypeError);
    await expectAllReject(holdfast, { "red lock": all["red lock"] as Make }, acquiring, QuorumError);
    expectToldWhere(await rejectionOf(() => holdfast.inspect("a lock")), WrongTypeError, "a lock");
    await redis.plain.flushall();
  });

  test("of a NotReplicatedError", async () => {
    const holdfast = redis.holdfast({ replicas: { mode: "require", timeoutMs: 50 } });
    const apart = (kind: string, method: string) =>
      /multi|red/.test(kind) ? `${kind} 1 ${method}+${kind} 2 ${method}` : `${kind} ${method}`;
    const { "red lock": red, ...others } = all as Record<"red lock", Make>;
    await expectAllReject(holdfast, others, acquiring, NotReplicatedError, apart);
    await expectAllReject(holdfast, { "red lock": red }, acquiring, QuorumError, apart);
    await holdfast.close();
    await redis.plain.flushall();
  });

  test.each(Object.entries(all))(
    "of the LeaseLostError of a %s that was lost while it was used",
    async (kind, make) => {
      const name = nameOf(kind);
      const lock = make(redis.holdfast(), name);
      const lost = async () => void (await make(redis.holdfast(), name).forceUnlock());
      const byUsing = await rejectionOf(() =>
        lock.using(async (lease) => {
          await lost();
          await lease.unlock().catch(() => undefined);
          expectToldWhere(await rejectionOf(() => lease.assertHeld()), LeaseLostError, name);
          expectToldWhere(await rejectionOf(() => lease.run(() => undefined)), LeaseLostError, name);
          expectToldWhere(await rejectionOf(() => lease.unlock()), NotHeldError, name);
        }),
      );
      expectToldWhere(byUsing, LeaseLostError, name);
      const scoped = await rejectionOf(async () => {
        await using lease = await lock.lock();
        await lost();
        await lease.unlock().catch(() => undefined);
      });
      expectToldWhere(scoped, LeaseLostError, name);
      await redis.plain.flushall();
    },
  );

  test("of the reason of the lease's signal that a body throws, which stays that very object", async () => {
    const lock = redis.holdfast().getLock("order:7");
    let reason: unknown;
    const error = await rejectionOf(() =>
      lock.using({ leaseMs: 50 }, async ({ signal }) => {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        ({ reason } = signal);
        signal.throwIfAborted();
      }),
    );
    expect(error).toBe(reason);
    expectToldWhere(error, LeaseLostError, "order:7");
  });

  test("of the LeaseLostError of a call inside a lease that was lost", async () => {
    const lock = redis.holdfast().getLock("order:7");
    await rejectionOf(() =>
      lock.using(async () => {
        await redis.plain.del("order:7");
        expectToldWhere(await rejectionOf(() => lock.lock()), LeaseLostError, "order:7");
        expectToldWhere(await rejectionOf(() => lock.tryLock()), LeaseLostError, "order:7");
        expectToldWhere(await rejectionOf(() => lock.using(() => undefined)), LeaseLostError, "order:7");
      }),
    );
  });
});

describe("what is the caller's own stays as it is", () => {
  test("the error of a body, and the reason of a signal, be it one of ours", async () => {
    const [holder, holdfast] = [redis.holdfast(), redis.holdfast()];
    const lease = await holder.getLock("order:7").lock();
    const semaphore = holdfast.getSemaphore("s");
    for (const reason of [new Error("mine"), new ClientClosedError(), new NotHeldError("order:8", "why")]) {
      const calls = [
        () => holdfast.getLock("other").using(() => Promise.reject(reason)),
        () => holdfast.getLock("order:7").lock({ signal: AbortSignal.abort(reason) }),
        () => holdfast.getFairLock("order:7").lock({ signal: AbortSignal.abort(reason) }),
        () => holdfast.getMultiLock(holdfast.getLock("order:7")).lock({ signal: AbortSignal.abort(reason) }),
        () => semaphore.acquire({ signal: AbortSignal.abort(reason) }),
      ];
      for (const call of calls) expect(await rejectionOf(call)).toBe(reason);
      for (const wait of [
        (signal: AbortSignal) => holdfast.getLock("order:7").lock({ signal }),
        (signal: AbortSignal) => holdfast.getRedLock(holdfast.getLock("order:7")).lock({ signal }),
        (signal: AbortSignal) => semaphore.acquire({ signal }),
        (signal: AbortSignal) => holdfast.getCountDownLatch("l").await({ signal }),
      ]) {
        const controller = new AbortController();
        await holdfast.getCountDownLatch("l").trySetCount(1);
        const waiting = rejectionOf(() => wait(controller.signal));
        await until(async () => (await redis.plain.pubsub("CHANNELS")).length > 0);
        controller.abort(reason);
        expect(await waiting).toBe(reason);
      }
    }
    await expect(holdfast.getLock("other").using(() => Promise.reject(undefined))).rejects.toBeUndefined();
    await holdfast.getCountDownLatch("l").delete();
    await lease.unlock();
    await redis.plain.flushall();
  });

  test("the error that an event tells is the one that the call rejects with", async () => {
    const holdfast = redis.holdfast();
    await redis.plain.set("order:7", "other");
    const told: unknown[] = [];
    const noted = ({ error }: AcquireEvent & { error?: unknown }) => told.push(error);
    const ignored = () => undefined;
    const handlers = { start: ignored, end: ignored, asyncStart: ignored, asyncEnd: ignored, error: noted };
    events.acquire.subscribe(handlers);
    try {
      const error = await rejectionOf(() => holdfast.getLock("order:7").lock());
      expectToldWhere(error, WrongTypeError, "order:7");
      expect(told).toEqual([error]);
      expect(told[0]).toBe(error);
    } finally {
      events.acquire.unsubscribe(handlers);
    }
    await redis.plain.del("order:7");
  });
});
