import { describe, expect, test } from "vitest";
import { events } from "../../src/events.js";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import { neverDeliver } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
endRecordings();
const open = fakeTime();

const KEY = "order:7";
const KEEP = { keepForMs: 5_000 };

const keptBy = ({ holdfast }: Pick<FakeTime, "holdfast">) => ({ [`${holdfast.clientId}:0`]: "1" });

const keepable: readonly [string, (client: Holdfast) => Lock][] = [
  ["a lock", (client) => client.getLock(KEY)],
  ["a non-reentrant lock", (client) => client.getNonReentrantLock(KEY)],
  ["a spin lock", (client) => client.getSpinLock(KEY)],
  ["a fenced lock", (client) => client.getFencedLock(KEY)],
];

const unkeepable: readonly [string, (client: Holdfast) => Lock][] = [
  ["fair-lock", (client) => client.getFairLock(KEY)],
  ["read-lock", (client) => client.getReadWriteLock(KEY).readLock()],
  ["write-lock", (client) => client.getReadWriteLock(KEY).writeLock()],
  ["multi-lock", (client) => client.getMultiLock(client.getLock("a"), client.getLock("b"))],
  ["red-lock", (client) => client.getRedLock(client.getLock("a"))],
];

describe.each(keepable)("using and tryUsing with keepForMs keep %s", (kind, lockOf) => {
  test("after the body, however that ends, by one command, and free it after so long", async () => {
    const time = open();
    const lock = lockOf(time.holdfast);
    time.driver.sent.length = 0;
    expect(await lock.using(KEEP, (lease) => lease.state)).toBe("held");
    expect([time.fields(KEY), time.ttlMs(KEY)]).toEqual([keptBy(time), 5_000]);
    expect(time.driver.sent.map(({ script }) => script)).toContain("lock-keep");
    expect(time.driver.names).not.toContain("lock-release");
    expect(await lock.tryUsing(KEEP, () => "never")).toEqual({ ran: false });
    await time.clock.advance(5_001);
    const failure = new Error("the report failed");
    await expect(lock.tryUsing(KEEP, () => Promise.reject(failure))).rejects.toBe(failure);
    expect([time.fields(KEY), time.ttlMs(KEY)]).toEqual([keptBy(time), 5_000]);
    await time.clock.advance(5_001);
    expect(await lock.tryUsing(KEEP, () => "ran")).toEqual({ ran: true, value: "ran" });
    if (kind === "a fenced lock") time.server.flush();
  });
});

describe("a body under keepForMs", () => {
  test("that releases its lease frees the lock, and nothing is kept", async () => {
    const time = open();
    await time.holdfast.getLock(KEY).using(KEEP, (lease) => lease.unlock());
    expect(time.fields(KEY)).toEqual({});
  });

  test("whose lease was lost keeps nothing, and is told of the loss", async () => {
    const time = open();
    const used = watched(
      time.holdfast
        .getLock(KEY)
        .using(
          { ...KEEP, leaseMs: 1_000 },
          () => new Promise<void>((end) => time.clock.schedule(1_000, end)),
        ),
    );
    await time.clock.advance(1_000);
    expect(used.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_LEASE_LOST" } });
    expect(time.fields(KEY)).toEqual({});
  });

  test("that leaves another hold of its thread: the lock is released with that, and the event tells that it was not kept", async () => {
    const time = open();
    const failed = recorded(events.releaseFailed);
    const lock = time.holdfast.getLock(KEY);
    const inner = await lock.using(KEEP, () => lock.lock());
    expect(failed).toMatchObject([{ name: KEY, error: { message: expect.stringContaining("other holds") } }]);
    expect(time.fields(KEY)).toEqual({ [inner.holder]: "1" });
    await inner.unlock();
    expect(time.fields(KEY)).toEqual({});
  });

  test("whose release is not answered has its result, and the lock is kept in the background", async () => {
    const time = open();
    const failed = recorded(events.releaseFailed);
    const lock = time.holdfast.getLock(KEY);
    const used = watched(
      lock.using({ keepForMs: 10_000 }, () => {
        void time.driver.next(neverDeliver, "lock-keep");
        return "done";
      }),
    );
    await time.clock.advance(3_000);
    expect([used.outcome, failed.length]).toEqual([{ value: "done" }, 1]);
    await time.clock.advance(1_000);
    expect(time.fields(KEY)).toEqual(keptBy(time));
  });

  test("may enter the lock once more, which keepForMs may not", async () => {
    const time = open();
    const lock = time.holdfast.getLock(KEY);
    const outer = await lock.using(KEEP, async (lease) => {
      await lock.using(() => undefined);
      const again = lock.using(KEEP, () => "never");
      await expect(again).rejects.toThrow(TypeError);
      await expect(again).rejects.toThrow(
        `lock "${KEY}" was not taken: its thread has other holds of it, and keepForMs is for the last hold`,
      );
      expect([lease.state, time.fields(KEY)]).toEqual(["held", { [lease.holder]: "1" }]);
      return lease;
    });
    expect([outer.state, time.fields(KEY)]).toEqual(["released", keptBy(time)]);
  });
});

describe("keepForMs is refused before anything is sent", () => {
  test.each(unkeepable)("by a %s", async (kind, lockOf) => {
    const { holdfast, driver } = open();
    const lock = lockOf(holdfast);
    const body = () => expect.fail("the body was run");
    for (const call of [() => lock.using(KEEP, body), () => lock.tryUsing(KEEP, body)]) {
      const refused = call();
      await expect(refused).rejects.toThrow(TypeError);
      await expect(refused).rejects.toThrow(`was not taken: a ${kind} can not be kept, and keepForMs is for`);
    }
    expect(driver.names).toEqual([]);
  });

  test.each([...keepable, ...unkeepable])(
    "by lock and tryLock, whose lease is to be given it: %s",
    async (_, lockOf) => {
      const { holdfast, driver } = open();
      const lock = lockOf(holdfast);
      for (const call of ["lock", "tryLock"] as const) {
        const refused = lock[call](KEEP as object);
        await expect(refused).rejects.toThrow(TypeError);
        await expect(refused).rejects.toThrow("pass it to lease.unlock({ keepForMs: 5000 })");
      }
      expect(driver.names).toEqual([]);
    },
  );

  test.each([
    ["a text", "5", 'keepForMs must be a number of milliseconds, got "5"'],
    ["no time", 0, "keepForMs must be a whole number of milliseconds from 1"],
    ["for ever", Number.POSITIVE_INFINITY, "keepForMs must be a whole number"],
  ])("where it is %s", async (_, keepForMs, message) => {
    const { holdfast } = open();
    const options = { keepForMs: keepForMs as number };
    await expect(holdfast.getLock(KEY).using(options, () => "never")).rejects.toThrow(message);
    await expect(holdfast.getLock(KEY).tryUsing(options, () => "never")).rejects.toThrow(message);
  });
});
