import { describe, expect, test } from "vitest";
import { events } from "../../src/events.js";
import { deliverLate } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
endRecordings();
const open = fakeTime();

describe("a lease that ends while its release is under way", () => {
  test("is told as expired: nobody has taken it by force [own-16]", async () => {
    const { holdfast, clock, driver } = open();
    const lost = recorded(events.leaseLost);
    const lease = await holdfast.getLock("a").lock({ leaseMs: 100 });
    const late = deliverLate();
    void driver.next(late, "lock-release");
    const released = watched(lease.unlock());
    await clock.advance(150);
    await late.arrive();
    await clock.advance(0);
    expect(lost).toMatchObject([{ reason: "expired", heldMs: 97 }]);
    expect(released.outcome).toMatchObject({
      error: { code: "ERR_HOLDFAST_NOT_HELD", cause: { reason: "expired", heldMs: 97 } },
    });
  });

  test("is told as expired of permits, too", async () => {
    const { holdfast, clock, driver } = open();
    const lost = recorded(events.leaseLost);
    const semaphore = holdfast.getPermitExpirableSemaphore("a");
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ leaseMs: 100 });
    const late = deliverLate();
    void driver.next(late, "permit-release");
    const released = watched(permits.release());
    await clock.advance(150);
    await late.arrive();
    await clock.advance(0);
    expect(lost).toMatchObject([{ reason: "expired", heldMs: 97 }]);
    expect(released.outcome).toMatchObject({ error: { cause: { reason: "expired" } } });
    await semaphore.delete();
  });

  test("is told as expired with the hold around it, whose time was over as well", async () => {
    const { holdfast, clock, driver } = open();
    const lost = recorded(events.leaseLost);
    const lock = holdfast.getLock("a");
    const outer = await lock.lock({ leaseMs: 100 });
    const inner = await outer.run(() => lock.lock({ leaseMs: 90 }));
    const late = deliverLate();
    void driver.next(late, "lock-release");
    const released = watched(inner.unlock());
    await clock.advance(150);
    await late.arrive();
    await clock.advance(0);
    expect(lost.map(({ reason }) => reason)).toEqual(["expired", "expired"]);
    expect(released.outcome).toMatchObject({ error: { cause: { reason: "expired" } } });
  });
});

describe("force is told as stolen", () => {
  test("when a release finds it before the lease has ended", async () => {
    const { holdfast, server } = open();
    const lease = await holdfast.getLock("a").lock({ leaseMs: 10_000 });
    server.command("DEL", "a");
    await expect(lease.unlock()).rejects.toMatchObject({ cause: { reason: "stolen" } });
  });

  test("when a release finds it, although maxHoldMs was over meanwhile: Redis knows nothing of that", async () => {
    const { holdfast, server, clock, driver } = open();
    const lease = await holdfast.getLock("a").lock({ maxHoldMs: 100 });
    const late = deliverLate();
    void driver.next(late, "lock-release");
    const released = watched(lease.unlock());
    server.command("DEL", "a");
    await clock.advance(150);
    await late.arrive();
    await clock.advance(0);
    expect(released.outcome).toMatchObject({ error: { cause: { reason: "stolen", heldMs: 150 } } });
  });

  test("but not by a re-entry that finds a lease gone whose time is over [own-16]", async () => {
    const { holdfast, clock, driver } = open();
    const lock = holdfast.getLock("a");
    // Nobody listens, so that the answer is the first to look.
    const lease = await lock.lock({ leaseMs: 100 });
    const late = deliverLate();
    void driver.next(late, "lock-acquire");
    const entering = watched(lease.run(() => lock.lock()));
    await clock.advance(150);
    await late.arrive();
    await clock.advance(0);
    expect(entering.outcome).toMatchObject({ error: { reason: "expired", heldMs: 97 } });
  });
});

describe("a lease that is renewed no more ends by its time, though a renewal was under way then", () => {
  test("as of permits that were given another lease [own-39]", async () => {
    const { holdfast, clock, driver } = open();
    const lost = recorded(events.leaseLost);
    const semaphore = holdfast.getPermitExpirableSemaphore("a");
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ watchdog: true });
    const late = deliverLate();
    await Promise.all([driver.next(late, "permit-renew"), clock.advance(10_100)]);
    await semaphore.updateLeaseTime(permits.ids, 1_000);
    await late.arrive();
    await clock.advance(1_000);
    expect(lost).toMatchObject([{ reason: "expired" }]);
    await expect(permits.release()).rejects.toMatchObject({ cause: { reason: "expired" } });
    await semaphore.delete();
  });

  test("as of permits for which another lease is being asked for [own-39]", async () => {
    const { holdfast, clock, driver } = open();
    const semaphore = holdfast.getPermitExpirableSemaphore("a");
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ watchdog: true });
    const [late, updating] = [deliverLate(), deliverLate()];
    await Promise.all([driver.next(late, "permit-renew"), clock.advance(10_100)]);
    void driver.next(updating, "permit-set-lease");
    const updated = semaphore.updateLeaseTime(permits.ids, 1_000);
    await clock.advance(1_000);
    await expect(permits.release()).rejects.toMatchObject({ cause: { reason: "expired" } });
    await Promise.all([late.arrive(), updating.arrive()]);
    await updated;
    await semaphore.delete();
  });

  test("as of permits whose semaphore ends then [own-39]", async () => {
    const { holdfast, clock, driver } = open();
    const lost = recorded(events.leaseLost);
    const semaphore = holdfast.getPermitExpirableSemaphore("a");
    await semaphore.trySetPermits(1, { ttlMs: 10_500 });
    const permits = await semaphore.acquire({ watchdog: true });
    const late = deliverLate();
    await Promise.all([driver.next(late, "permit-renew"), clock.advance(10_100)]);
    await clock.advance(500);
    expect(permits.state).toBe("lost");
    expect(lost).toMatchObject([{ reason: "expired" }]);
    await late.arrive();
  });
});
