import { describe, expect, test } from "vitest";
import type { HoldfastOptions } from "../../src/client-options.js";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import { watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

const open = fakeTime();
const HOUR_MS = 3_600_000;

/** A client with options, and a lock "a", a lock "b" and all else that is waited for, none of which can be had. */
async function blocked(
  options: HoldfastOptions,
): Promise<{ readonly time: FakeTime; readonly holdfast: Holdfast }> {
  const time = open();
  await time.holdfast.getLock("a").lock({ leaseMs: HOUR_MS });
  await time.holdfast.getSemaphore("s").trySetPermits(0);
  await time.holdfast.getPermitExpirableSemaphore("p").trySetPermits(0);
  await time.holdfast.getCountDownLatch("l").trySetCount(1);
  return { time, holdfast: time.connect(options).holdfast };
}

async function unblock({ time }: { readonly time: FakeTime }): Promise<void> {
  time.server.flush();
  await time.clock.advance(60_000);
}

const locks: readonly (readonly [kind: string, make: (holdfast: Holdfast) => Lock])[] = [
  ["a lock", (holdfast) => holdfast.getLock("a")],
  ["a fair lock", (holdfast) => holdfast.getFairLock("a")],
  ["a spin lock", (holdfast) => holdfast.getSpinLock("a")],
  ["a multi lock", (holdfast) => holdfast.getMultiLock(holdfast.getLock("b"), holdfast.getLock("a"))],
  ["a red lock", (holdfast) => holdfast.getRedLock(holdfast.getLock("a"))],
];

describe("the client's waitMs", () => {
  test.each(locks)("bounds lock and using of %s", async (_, make) => {
    const scene = await blocked({ waitMs: 2_000 });
    const lock = make(scene.holdfast);
    const calls = [watched<unknown>(lock.lock()), watched<unknown>(lock.using(() => undefined))];
    await scene.time.clock.advance(1_990);
    expect(calls.map(({ outcome }) => outcome)).toEqual([undefined, undefined]);
    await scene.time.clock.advance(200);
    for (const { outcome } of calls)
      expect(outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_WAIT_TIMEOUT" } });
    await unblock(scene);
  });

  test.each(locks)(
    "is overruled by that of a call, and is nothing to tryLock and tryUsing: %s",
    async (_, make) => {
      const scene = await blocked({ waitMs: 2_000 });
      const lock = make(scene.holdfast);
      const tried = [watched<unknown>(lock.tryLock()), watched<unknown>(lock.tryUsing(() => undefined))];
      const longer = watched<unknown>(lock.lock({ waitMs: 5_000 }));
      const forEver = watched<unknown>(lock.lock({ waitMs: Number.POSITIVE_INFINITY }));
      await scene.time.clock.advance(0);
      expect(tried.map(({ outcome }) => outcome)).toEqual([{ value: null }, { value: { ran: false } }]);
      await scene.time.clock.advance(4_900);
      expect(longer.outcome).toBeUndefined();
      await scene.time.clock.advance(400);
      expect(longer.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_WAIT_TIMEOUT" } });
      await scene.time.clock.advance(60_000);
      expect(forEver.outcome).toBeUndefined();
      await unblock(scene);
      expect(forEver.outcome).toHaveProperty("value");
    },
  );

  test("bounds what waits for permits and a latch, and nothing that only tries", async () => {
    const scene = await blocked({ waitMs: 2_000 });
    const { holdfast, time } = scene;
    const [s, p, l] = [
      holdfast.getSemaphore("s"),
      holdfast.getPermitExpirableSemaphore("p"),
      holdfast.getCountDownLatch("l"),
    ];
    const tried = [watched<unknown>(s.tryAcquire()), watched<unknown>(p.tryAcquire())];
    const bounded = [
      watched<unknown>(s.acquire()),
      watched<unknown>(s.using(() => undefined)),
      watched<unknown>(p.acquire({ leaseMs: 5 })),
      watched<unknown>(p.using(() => undefined)),
    ];
    const latch = watched(l.await());
    const forEver = watched(l.await({ waitMs: Number.POSITIVE_INFINITY }));
    await time.clock.advance(0);
    expect(tried.map(({ outcome }) => outcome)).toEqual([{ value: false }, { value: null }]);
    await time.clock.advance(1_990);
    expect(bounded.some(({ outcome }) => outcome !== undefined)).toBe(false);
    await time.clock.advance(200);
    for (const { outcome } of bounded)
      expect(outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_WAIT_TIMEOUT" } });
    expect(latch.outcome).toEqual({ value: false });
    expect(forEver.outcome).toBeUndefined();
    await unblock(scene);
    await holdfast.getCountDownLatch("l").delete();
    expect(forEver.outcome).toEqual({ value: true });
  });

  test("is for ever where nobody says anything, and a multi lock's is that of the client which made it", async () => {
    const scene = await blocked({});
    const { time, holdfast } = scene;
    const other = time.connect({ waitMs: 50 }).holdfast;
    const patient = watched(holdfast.getMultiLock(other.getLock("a"), other.getLock("b")).lock());
    const hasty = watched(other.getMultiLock(holdfast.getLock("a"), holdfast.getLock("b")).lock());
    await time.clock.advance(60_000);
    expect(patient.outcome).toBeUndefined();
    expect(hasty.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_WAIT_TIMEOUT" } });
    await unblock(scene);
  });

  test.each([-1, 1.5, "5", null, Number.NaN, Number.NEGATIVE_INFINITY])("can not be %s", (waitMs) => {
    expect(() => open().connect({ waitMs: waitMs as number })).toThrow(/waitMs must be/);
  });
});
