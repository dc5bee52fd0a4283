import { expect, test } from "vitest";
import { events } from "../../src/events.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { answerLate, deliverLate, loseReply, neverDeliver } from "../support/faults/call-faults.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { watched } from "../support/run/watched.js";
import { permitTime } from "../support/worlds/permit-time.js";

const open = permitTime();
endRecordings();

test("a new lease is trusted from its first command, however many answers were lost [R3]", async () => {
  const { semaphore, driver, clock, expiriesMs } = open();
  await semaphore.trySetPermits(1);
  const permits = await semaphore.acquire({ leaseMs: 60_000 });
  for (let lost = 0; lost < 6; lost++) void driver.next(loseReply);
  const updating = watched(semaphore.updateLeaseTime(permits.ids, 10_000));
  await clock.advance(2_900);
  expect(updating.outcome).toEqual({ value: true });
  expect(permits.remainingMs()).toBeLessThanOrEqual(Math.min(...expiriesMs()));
});

test("permits whose new lease is in doubt are not renewed because another one was refused meanwhile", async () => {
  const { semaphore, driver, clock } = open();
  await semaphore.trySetPermits(1);
  const permits = await semaphore.acquire({ watchdog: true });
  void driver.next(neverDeliver);
  const doubtful = watched(semaphore.updateLeaseTime(permits.ids, 60_000));
  const refused = await semaphore.updateLeaseTime([...permits.ids, "0".repeat(32)], 60_000);
  await clock.advance(3_100);
  expect([refused, doubtful.outcome]).toMatchObject([false, { error: { outcomeUnknown: true } }]);
  await clock.advance(25_000);
  expect(driver.timesOf("permit-renew")).toEqual([]);
});

test("permits whose new lease is in doubt abort their signal when the shorter one is over", async () => {
  const { semaphore, driver, clock } = open();
  await semaphore.trySetPermits(1);
  const permits = await semaphore.acquire({ leaseMs: 60_000 });
  const { signal } = permits;
  void driver.next(neverDeliver);
  const updating = watched(semaphore.updateLeaseTime(permits.ids, 1_000));
  await clock.advance(987);
  expect(signal.aborted).toBe(false);
  await clock.advance(1);
  expect(signal.reason).toMatchObject({ reason: "expired" });
  expect(updating.outcome).toBeUndefined();
  await clock.advance(3_000);
});

test("permits are renewed again once a new lease was refused, during which a renewal of them has failed", async () => {
  const { semaphore, driver, clock } = open();
  await semaphore.trySetPermits(1);
  const permits = await semaphore.acquire({ watchdog: true });
  const renewing = driver.next(neverDeliver, "permit-renew");
  await clock.advance(10_500);
  await renewing;
  const late = answerLate();
  void driver.next(late);
  const updating = semaphore.updateLeaseTime([...permits.ids, "0".repeat(32)], 60_000);
  await clock.advance(2_800);
  late.arrive();
  expect(await updating).toBe(false);
  await clock.advance(30_000);
  expect(permits.state).toBe("held");
});

test("of two new leases the shorter one is trusted when the longer one, set before it, is confirmed after it", async () => {
  const { semaphore, driver, clock, expiriesMs } = open();
  await semaphore.trySetPermits(1);
  const permits = await semaphore.acquire({ leaseMs: 60_000 });
  const late = answerLate();
  void driver.next(late);
  const longer = semaphore.updateLeaseTime(permits.ids, 50_000);
  await clock.advance(10);
  expect(await semaphore.updateLeaseTime(permits.ids, 1_000)).toBe(true);
  late.arrive();
  expect(await longer).toBe(true);
  expect(permits.remainingMs()).toBeLessThanOrEqual(Math.min(...expiriesMs()));
});

test("a renewal that is confirmed after a new lease does not make it last longer", async () => {
  const { semaphore, driver, clock, expiriesMs } = open();
  await semaphore.trySetPermits(1);
  const permits = await semaphore.acquire({ watchdog: true });
  const late = answerLate();
  const renewing = driver.next(late, "permit-renew");
  await clock.advance(11_000);
  await renewing;
  expect(await semaphore.updateLeaseTime(permits.ids, 1_000)).toBe(true);
  late.arrive();
  await clock.advance(10);
  expect(permits.remainingMs()).toBeLessThanOrEqual(Math.min(...expiriesMs()));
});

test("a late copy of an acquisition does not undo a new lease [R2]", async () => {
  const { semaphore, driver, clock, expiriesMs } = open();
  await semaphore.trySetPermits(1);
  const copy = deliverLate({ told: true });
  void driver.next(copy);
  const entering = semaphore.acquire();
  await clock.advance(100);
  const permits = await entering;
  await semaphore.updateLeaseTime(permits.ids, 1_000);
  await copy.arrive();
  expect(expiriesMs()[0]).toBeLessThanOrEqual(1_000);
});

test("closing with releaseHeld gives back what is left of permits of which one was released by its id", async () => {
  const { semaphore, holdfast, connect, stored, clock } = open();
  await semaphore.trySetPermits(2);
  const { ids } = await semaphore.acquire(2);
  await connect().holdfast.getPermitExpirableSemaphore("a").release(ids.slice(0, 1));
  const closing = holdfast.close({ releaseHeld: true });
  await clock.advance(100);
  await closing;
  expect(stored()).toEqual({ available: 2, acquired: 0 });
});

test("permits that nobody wants any more when they are granted are given back, and nobody is told of a loss", async () => {
  const { semaphore, driver, clock, connect, stored } = open();
  const lost = recorded(events.leaseLost);
  await semaphore.trySetPermits(2);
  const one = await connect().holdfast.getPermitExpirableSemaphore("a").acquire();
  const leaving = new AbortController();
  const both = watched(semaphore.acquire(2, { signal: leaving.signal, leaseMs: 60_000 }));
  await clock.advance(1_100);
  const late = answerLate();
  void driver.next(late, "permit-acquire");
  await one.release();
  await clock.advance(0);
  leaving.abort("enough");
  await clock.advance(10);
  late.arrive();
  await clock.advance(10);
  expect([both.outcome, lost]).toEqual([{ error: "enough" }, []]);
  expect(stored()).toEqual({ available: 2, acquired: 0 });
});

test("one whose lease is over before the answers come does not fail those who stand in line with it", async () => {
  const { semaphore, driver, clock } = open();
  await semaphore.trySetPermits(1);
  const slow: CallFault = {
    name: "answered after 50 ms",
    async meet(deliver) {
      const answer = await deliver();
      await new Promise<void>((resume) => void clock.schedule(50, resume));
      return answer;
    },
  };
  for (let calls = 0; calls < 30; calls++) void driver.next(slow, "permit-acquire");
  const hasty = watched(semaphore.acquire({ leaseMs: 20, waitMs: 600 }));
  const patient = watched(semaphore.acquire({ leaseMs: 60_000 }));
  await clock.advance(3_000);
  // It was given permits each time, and not told that there are none.
  expect(hasty.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: true } });
  expect(patient.outcome).toMatchObject({ value: { state: "held" } });
});
