import { describe, expect, test } from "vitest";
import { ReentryError, UpgradeNotSupportedError } from "../../src/errors.js";
import { fencingTokenKey } from "../../src/protocol/names.js";
import { backends, openedFor } from "../support/backends.js";
import { deliverLate } from "../support/call-faults.js";
import { fakeTime } from "../support/fake-time.js";
import { watchLeaks } from "../support/leaks.js";
import { watched } from "../support/watched.js";

watchLeaks();

const SEVEN = { threadId: 7 };

describe.each(backends)("calls under one chosen id at once, on $name", (backend) => {
  const server = openedFor(backend);
  const counts = async () => Object.values(await server().fields("a"));

  test("that wait for its release begin one stay, which keeps all others out to its end", async () => {
    const lock = server().client().getLock("a");
    const first = await lock.lock(SEVEN);
    const released = first.unlock();
    const [second, third] = await Promise.all([lock.lock(SEVEN), lock.lock(SEVEN)]);
    await released;
    expect(await counts()).toEqual(["2"]);
    await second.unlock();
    expect([third.state, await server().client().getLock("a").tryLock()]).toEqual(["held", null]);
    await lock.unlock(7);
    expect(third.state).toBe("released");
  });

  test.each(["getNonReentrantLock", "getNonReentrantFairLock"] as const)(
    "enter the lock of %s once: the second is refused",
    async (kind) => {
      const lock = server().client()[kind]("a");
      const [first, second] = [lock.lock(SEVEN), lock.lock(SEVEN)];
      await expect(second).rejects.toThrow(ReentryError);
      expect(await counts()).toEqual(["1"]);
      await (await first).unlock();
    },
  );

  test("that wait for its release enter a lock that is not reentrant once: the second is refused", async () => {
    const lock = server().client().getNonReentrantLock("a");
    const released = (await lock.lock(SEVEN)).unlock();
    const [first, second] = [lock.lock(SEVEN), lock.lock(SEVEN)];
    await expect(second).rejects.toThrow(ReentryError);
    await released;
    await (await first).unlock();
  });

  test("of a read lock and its write lock: the one who would upgrade is refused", async () => {
    const pair = server().client().getReadWriteLock("a");
    const [reads, writes] = [pair.readLock().lock(SEVEN), pair.writeLock().lock(SEVEN)];
    await expect(writes).rejects.toThrow(UpgradeNotSupportedError);
    await (await reads).unlock();
  });

  test("of a write lock and its read lock: the writer reads as well", async () => {
    const pair = server().client().getReadWriteLock("a");
    const writes = pair.writeLock().lock(SEVEN);
    const reads = pair.readLock().lock(SEVEN);
    for (const lease of await Promise.all([writes, reads])) expect(lease.state).toBe("held");
    await (await reads).unlock();
    await (await writes).unlock();
  });
});

describe("a stay under a chosen id, after one that was lost", () => {
  const open = fakeTime();

  test("has a greater fencing token, though its field was still there", async () => {
    const { holdfast, clock, fields, server } = open();
    const lock = holdfast.getFencedLock("a");
    const hung = await lock.lock({ ...SEVEN, maxHoldMs: 1_000 });
    await clock.advance(1_000);
    expect([hung.state, fields("a")]).toEqual(["lost", { [hung.holder]: "1" }]);
    const next = await lock.tryLock(SEVEN);
    expect(next?.holder).toBe(hung.holder);
    expect(next?.token).toBeGreaterThan(hung.token);
    await next?.unlock();
    server.command("DEL", fencingTokenKey("a"));
  });

  test("begins when no copy of the lost one's command can arrive any more", async () => {
    const { holdfast, driver, clock, fields } = open();
    const lock = holdfast.getLock("a");
    await lock.isLocked();
    const copy = deliverLate({ told: true });
    void driver.next(copy, "lock-acquire");
    const lost = watched(lock.lock({ ...SEVEN, leaseMs: 300 }));
    await clock.advance(400);
    expect(lost.outcome).toMatchObject({ value: { state: "lost" } });
    const next = watched(lock.lock(SEVEN));
    await clock.advance(100);
    expect(next.outcome).toBeUndefined();
    await copy.arrive();
    await clock.advance(10_000);
    expect([next.outcome, Object.values(fields("a"))]).toMatchObject([{ value: { holdCount: 1 } }, ["1"]]);
    await lock.unlock(7);
    expect(fields("a")).toEqual({});
  });
});
