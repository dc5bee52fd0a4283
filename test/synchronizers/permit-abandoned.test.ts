import { describe, expect, test } from "vitest";
import { events } from "../../src/events.js";
import type { Holdfast } from "../../src/holdfast.js";
import { collectAll, untilCollected } from "../support/run/garbage.js";
import { watchLeaks } from "../support/run/leaks.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { type PermitExpirableSemaphore, permitTime } from "../support/worlds/permit-time.js";

watchLeaks();
endRecordings();
const open = permitTime({ forgets: true });

const RENEW = "permit-renew";

describe("permits that are forgotten", () => {
  /** Takes a permit and forgets it, in a frame of its own. */
  async function forget(holdfast: Holdfast, options: object): Promise<void> {
    const permits = await holdfast.getPermitExpirableSemaphore("a").acquire(options);
    expect(permits.state).toBe("held");
  }

  test("are told by an event, are renewed no more, and come back when their lease ends", async () => {
    const { holdfast, semaphore, clock, driver } = open();
    const [abandoned, lost] = [recorded(events.leaseAbandoned), recorded(events.leaseLost)];
    await semaphore.trySetPermits(1);
    await forget(holdfast, { watchdog: true });
    await clock.advance(10_000 + 100);
    await untilCollected(() => abandoned.length > 0);
    expect(abandoned).toMatchObject([{ name: "a", kind: "permit-expirable-semaphore" }]);
    const renewals = driver.timesOf(RENEW);
    expect(renewals).toHaveLength(1);
    await clock.advance(30_000);
    expect([driver.timesOf(RENEW), lost, clock.pendingTimers]).toEqual([renewals, [], 0]);
    expect(await semaphore.availablePermits()).toBe(1);
  });

  test("are trusted by whoever kept their signal until their lease ends", async () => {
    const { semaphore, clock, driver } = open();
    const abandoned = recorded(events.leaseAbandoned);
    await semaphore.trySetPermits(1);
    const keepSignal = async () => (await semaphore.acquire({ watchdog: true })).signal;
    const signal = await keepSignal();
    await untilCollected(() => abandoned.length > 0);
    await clock.advance(29_000);
    expect(signal.aborted).toBe(false);
    await clock.advance(698);
    expect(signal.reason).toMatchObject({ reason: "expired" });
    expect(driver.timesOf(RENEW)).toEqual([]);
  });

  test("and have a fixed lease are told nothing of: whoever has their ids may have given them back", async () => {
    const { holdfast, semaphore, clock } = open();
    const lost = recorded(events.leaseLost);
    await semaphore.trySetPermits(1);
    const takeIds = async () =>
      (await holdfast.getPermitExpirableSemaphore("a").acquire({ leaseMs: 60_000 })).ids;
    const ids = await takeIds();
    await collectAll();
    await semaphore.release(ids);
    await clock.advance(60_000);
    expect(lost).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("are not taken for forgotten while the body of their using goes on", async () => {
    const { semaphore, clock, stored } = open();
    const abandoned = recorded(events.leaseAbandoned);
    await semaphore.trySetPermits(1);
    await semaphore.using({ watchdog: true }, async () => {
      await collectAll();
      await clock.advance(60_000);
      expect(await semaphore.availablePermits()).toBe(0);
    });
    expect(abandoned).toEqual([]);
    expect(stored()).toEqual({ available: 1, acquired: 0 });
  });

  test("after their release or their loss are nothing to tell", async () => {
    const { semaphore, clock } = open();
    const abandoned = recorded(events.leaseAbandoned);
    await semaphore.trySetPermits(3);
    const takeAndLose = async () => {
      await (await semaphore.acquire({ watchdog: true })).release();
      const { ids } = await semaphore.acquire({ watchdog: true });
      await semaphore.release(ids);
      const short = await semaphore.acquire({ watchdog: true, maxHoldMs: 50 });
      await clock.advance(60);
      expect(short.state).toBe("lost");
    };
    await takeAndLose();
    await collectAll();
    expect(abandoned).toEqual([]);
  });
});

describe("a handle that was forgotten, of which only ids and signal were kept", () => {
  async function idsAndSignal(semaphore: PermitExpirableSemaphore) {
    const { ids, signal } = await semaphore.acquire({ leaseMs: 60_000 });
    return { ids, signal };
  }

  test("is not lost when it was released by its ids", async () => {
    const { semaphore, clock } = open();
    const lost = recorded(events.leaseLost);
    await semaphore.trySetPermits(1);
    const { ids, signal } = await idsAndSignal(semaphore);
    await collectAll();
    await semaphore.release(ids);
    await clock.advance(60_000);
    expect([signal.aborted, lost]).toEqual([false, []]);
  });

  test("aborts its signal at the end of a new and shorter lease", async () => {
    const { semaphore, clock } = open();
    await semaphore.trySetPermits(1);
    const { ids, signal } = await idsAndSignal(semaphore);
    await collectAll();
    await semaphore.updateLeaseTime(ids, 1_000);
    await clock.advance(1_000);
    expect(signal.aborted).toBe(true);
  });

  test("aborts its signal when its client is closed", async () => {
    const { semaphore, holdfast } = open();
    await semaphore.trySetPermits(1);
    const { signal } = await idsAndSignal(semaphore);
    await collectAll();
    await holdfast.close();
    expect(signal.reason).toMatchObject({ reason: "closed" });
  });

  test("leaves no timer behind when its signal was not kept either", async () => {
    const { semaphore, clock } = open();
    await semaphore.trySetPermits(1);
    const { ids } = await semaphore.acquire({ leaseMs: 60_000 });
    await collectAll();
    await clock.advance(60_001);
    expect([await semaphore.tryRelease(ids), await semaphore.availablePermits()]).toEqual([false, 1]);
  });
});
