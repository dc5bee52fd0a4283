import { describe, expect, test } from "vitest";
import { LeaseLostError } from "../../src/errors.js";
import type { Holdfast } from "../../src/holdfast.js";
import { watched } from "../support/run/watched.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { fakeTime } from "../support/worlds/fake-time.js";

const redis = locksOnRedis();
const open = fakeTime();

type Body = (held?: unknown) => unknown;
interface Tried {
  readonly ran: boolean;
  readonly value?: unknown;
}
interface Tries {
  tryUsing(body: Body): Promise<Tried>;
  tryUsing(options: object, body: Body): Promise<Tried>;
}

const kinds: Record<string, (holdfast: Holdfast) => Tries> = {
  "a lock": (holdfast) => holdfast.getLock("a"),
  "a non-reentrant lock": (holdfast) => holdfast.getNonReentrantLock("a"),
  "a fair lock": (holdfast) => holdfast.getFairLock("a"),
  "a non-reentrant fair lock": (holdfast) => holdfast.getNonReentrantFairLock("a"),
  "a spin lock": (holdfast) => holdfast.getSpinLock("a"),
  "a fenced lock": (holdfast) => holdfast.getFencedLock("a"),
  "a write lock": (holdfast) => holdfast.getReadWriteLock("a").writeLock(),
  "a multi lock": (holdfast) => holdfast.getMultiLock(holdfast.getLock("a"), holdfast.getLock("b")),
  "a red lock": (holdfast) => holdfast.getRedLock(holdfast.getLock("a"), holdfast.getLock("b")),
  "a semaphore": (holdfast) => holdfast.getSemaphore("s"),
  "a permit-expirable semaphore": (holdfast) => holdfast.getPermitExpirableSemaphore("p"),
};

async function setPermits(holdfast: Holdfast): Promise<void> {
  await holdfast.getSemaphore("s").trySetPermits(1);
  await holdfast.getPermitExpirableSemaphore("p").trySetPermits(1);
}

describe.each(Object.entries(kinds))("tryUsing of %s", (_, make) => {
  test("runs the body if it is to be had, releases, and tells what the body returned", async () => {
    const [holdfast, rival] = [redis.holdfast(), redis.holdfast()];
    await setPermits(holdfast);
    expect(await make(holdfast).tryUsing(() => undefined)).toEqual({ ran: true, value: undefined });
    const outer = await make(holdfast).tryUsing(async () => {
      let ran = false;
      const inner = await make(rival).tryUsing(() => {
        ran = true;
      });
      expect([inner, ran]).toEqual([{ ran: false }, false]);
      return 7;
    });
    expect(outer).toEqual({ ran: true, value: 7 });
    expect(await make(rival).tryUsing({}, () => 8)).toEqual({ ran: true, value: 8 });
    await redis.plain.flushall();
  });

  test("rejects with the body's own error, and releases", async () => {
    const holdfast = redis.holdfast();
    await setPermits(holdfast);
    const error = new Error("mine");
    await expect(make(holdfast).tryUsing(() => Promise.reject(error))).rejects.toBe(error);
    expect(await make(redis.holdfast()).tryUsing(() => "free")).toEqual({ ran: true, value: "free" });
    await redis.plain.flushall();
  });

  test("refuses what is no function before anything is taken", async () => {
    const holdfast = redis.holdfast();
    const wrong = () => make(holdfast).tryUsing({ waitMs: 5 }, "body" as never);
    await expect(wrong()).rejects.toThrow(/^tryUsing needs a function as/);
    expect(await redis.plain.dbsize()).toBe(0);
  });

  test("waits for as long as waitMs says", async () => {
    const { clock, connect, holdfast, server } = open();
    await setPermits(holdfast);
    let end = (): void => undefined;
    const busy = make(holdfast).tryUsing(() => new Promise<void>((resolve) => (end = resolve)));
    await clock.advance(0);
    const rival = make(connect().holdfast);
    const short = watched(rival.tryUsing({ waitMs: 500 }, () => "short"));
    const long = watched(rival.tryUsing({ waitMs: 20_000 }, () => "long"));
    await clock.advance(1_000);
    expect(short.outcome).toEqual({ value: { ran: false } });
    end();
    await busy;
    await clock.advance(10_000);
    expect(long.outcome).toEqual({ value: { ran: true, value: "long" } });
    server.flush();
  });
});

describe("tryUsing", () => {
  test("of several permits, with options, and of what the body is given", async () => {
    const holdfast = redis.holdfast();
    const semaphore = holdfast.getSemaphore("s");
    await semaphore.trySetPermits(3);
    const inside = await semaphore.tryUsing(2, { waitMs: 0 }, () => semaphore.availablePermits());
    expect(inside).toEqual({ ran: true, value: 1 });
    const leasing = holdfast.getPermitExpirableSemaphore("p");
    await leasing.trySetPermits(3);
    const ids = await leasing.tryUsing(2, { leaseMs: 60_000 }, (permits) => permits.ids.length);
    expect(ids).toEqual({ ran: true, value: 2 });
    expect(await leasing.tryUsing(4, () => 1)).toEqual({ ran: false });
    const lock = holdfast.getFencedLock("a");
    expect(await lock.tryUsing({ leaseMs: 60_000 }, (lease) => typeof lease.token)).toMatchObject({
      value: "bigint",
    });
    await redis.plain.flushall();
  });

  test("enters again what is held around it, and rejects when the lease was lost meanwhile", async () => {
    const lock = redis.holdfast().getLock("a");
    expect(await lock.tryUsing(() => lock.tryUsing((lease) => lease.holdCount))).toEqual({
      ran: true,
      value: { ran: true, value: 2 },
    });
    const lost = lock.tryUsing(async () => {
      await redis.holdfast().getLock("a").forceUnlock();
    });
    await expect(lost).rejects.toBeInstanceOf(LeaseLostError);
  });
});
