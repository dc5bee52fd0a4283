import { describe, expect, test } from "vitest";
import type { Clock } from "../../src/clock.js";
import { LeaseLostError, NotHeldError } from "../../src/errors.js";
import { events } from "../../src/events.js";
import { answerLate, loseReply } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { watched } from "../support/run/watched.js";
import { EXPIRIES, type Permits, permitTime } from "../support/worlds/permit-time.js";
import { skewedClock } from "../support/worlds/skewed-clock.js";

watchLeaks();
endRecordings();
const open = permitTime();

const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;

function saysThatItIsLost(permits: Permits): void {
  expect(permits.state).toBe("lost");
  expect(permits.remainingMs()).toBe(0);
  expect(() => permits.assertHeld()).toThrow(LeaseLostError);
  expect(permits.signal.aborted).toBe(true);
}

async function failureOf(release: Promise<void>): Promise<unknown> {
  return release.then(
    () => "released",
    (error: unknown) => error,
  );
}

describe("permits with a fixed lease", () => {
  test("are lost a margin before Redis gives them to others, with the reason expired", async () => {
    const { semaphore, clock, expiriesMs } = open();
    const lost = recorded(events.leaseLost);
    await semaphore.trySetPermits(2);
    const permits = await semaphore.acquire(2, { leaseMs: 10_000 });
    const { signal } = permits;
    expect([permits.remainingMs(), expiriesMs()]).toEqual([9_898, [10_000, 10_000]]);
    await clock.advance(9_897);
    permits.assertHeld();
    expect([permits.state, signal.aborted]).toEqual(["held", false]);
    await clock.advance(1);
    expect(signal.reason).toMatchObject({
      code: "ERR_HOLDFAST_LEASE_LOST",
      reason: "expired",
      heldMs: 9_898,
    });
    saysThatItIsLost(permits);
    expect(lost).toMatchObject([{ name: "a", kind: "permit-expirable-semaphore", reason: "expired" }]);
  });

  test("are trusted from before the attempt that was answered", async () => {
    const { semaphore, clock, driver } = open();
    await semaphore.trySetPermits(1);
    const late = answerLate();
    void driver.next(late);
    const entering = semaphore.acquire({ leaseMs: 10_000 });
    await clock.advance(2_000);
    late.arrive();
    expect((await entering).remainingMs()).toBe(7_898);
  });

  test("are trusted from the repeat when the first answer was lost, and Redis keeps them as long [R3]", async () => {
    const { semaphore, clock, driver, expiriesMs, stored } = open();
    await semaphore.trySetPermits(3);
    void driver.next(loseReply);
    const entering = semaphore.acquire(2, { leaseMs: 10_000 });
    await clock.advance(100);
    const permits = await entering;
    const [firstMs, secondMs] = expiriesMs();
    expect(firstMs).toBe(secondMs);
    // They were granted to the first command: what the second finds has run for 20 ms by then.
    expect(firstMs).toBe(9_900);
    expect(permits.remainingMs()).toBeGreaterThan(9_500);
    expect(permits.remainingMs()).toBeLessThan(9_900 - 2);
    expect(stored()).toEqual({ available: 1, acquired: 2 });
  });

  test("are trusted for clockSkewMs less", async () => {
    const { semaphore } = open({ clockSkewMs: 500 });
    await semaphore.trySetPermits(1);
    expect((await semaphore.acquire({ leaseMs: 10_000 })).remainingMs()).toBe(9_398);
  });

  test("tell the truth to the next line after the event loop was blocked past their end [B24]", async () => {
    const { semaphore, clock } = open();
    await semaphore.trySetPermits(2);
    const [asked, captured] = [
      await semaphore.acquire({ leaseMs: 10_000 }),
      await semaphore.acquire({ leaseMs: 10_000 }),
    ];
    const { signal } = captured;
    clock.block(10_000);
    saysThatItIsLost(asked);
    expect(signal.aborted).toBe(false);
    await clock.advance(0);
    expect(signal.aborted).toBe(true);
  });

  test("are lost after the machine was suspended past their end [R11]", async () => {
    const { semaphore, clock } = open();
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ leaseMs: 10_000 });
    clock.suspend(10_000);
    saysThatItIsLost(permits);
  });

  test("are not renewed, and cost no timer while nobody listens", async () => {
    const { semaphore, clock, driver } = open();
    await semaphore.trySetPermits(1);
    await semaphore.acquire({ leaseMs: HOUR_MS });
    const sent = driver.sent.length;
    await clock.advance(60_000);
    expect([driver.sent.length, clock.pendingTimers]).toEqual([sent, 0]);
  });

  test("are not handed out by an answer that comes after their end, and are back once [R2]", async () => {
    const { semaphore, clock, driver, stored } = open();
    await semaphore.trySetPermits(3);
    const late = answerLate();
    void driver.next(late);
    const trying = watched(semaphore.tryAcquire(2, { leaseMs: 1_000 }));
    await clock.advance(990);
    late.arrive();
    await clock.advance(100);
    expect(trying.outcome).toMatchObject({
      error: { code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: true },
    });
    expect(await semaphore.availablePermits()).toBe(3);
    expect(stored()).toEqual({ available: 3, acquired: 0 });
  });

  test("are asked for again while there is time, when an answer comes after their end", async () => {
    const { semaphore, clock, driver, stored } = open();
    await semaphore.trySetPermits(2);
    const late = answerLate();
    void driver.next(late);
    const entering = watched(semaphore.acquire(2, { leaseMs: 1_000, waitMs: 5_000 }));
    await clock.advance(990);
    late.arrive();
    await clock.advance(100);
    expect(entering.outcome).toMatchObject({ value: { state: "held" } });
    expect(stored()).toEqual({ available: 0, acquired: 2 });
  });
});

describe("permits without a lease", () => {
  test("are trusted without end, and cost neither a renewal nor a timer", async () => {
    const { semaphore, clock, driver, expiriesMs } = open();
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire();
    const { signal } = permits;
    expect([permits.remainingMs(), expiriesMs()]).toEqual([
      Number.POSITIVE_INFINITY,
      [Number.POSITIVE_INFINITY],
    ]);
    const sent = driver.sent.length;
    await clock.advance(YEAR_MS);
    permits.assertHeld();
    expect([permits.state, signal.aborted, driver.sent.length]).toEqual(["held", false, sent]);
    await permits.release();
  });

  test("come back by no means but a release", async () => {
    const { semaphore, clock, connect } = open();
    await semaphore.trySetPermits(1);
    const { ids } = await semaphore.acquire();
    await clock.advance(YEAR_MS);
    const other = connect().holdfast.getPermitExpirableSemaphore("a");
    expect(await other.tryAcquire()).toBeNull();
    await other.release(ids);
    expect(await other.tryAcquire()).not.toBeNull();
  });
});

describe("permits of a semaphore that ends", () => {
  test.each<[string, { readonly leaseMs?: number; readonly watchdog?: boolean }]>([
    ["a longer lease", { leaseMs: 60_000 }],
    ["no lease", {}],
    ["the watchdog", { watchdog: true }],
  ])("are lost when its time is up, however long they were to last: with %s", async (_, options) => {
    const { semaphore, clock, server } = open();
    await semaphore.trySetPermits(2, { ttlMs: 5_000 });
    await clock.advance(1_000);
    const permits = await semaphore.acquire(options);
    const { signal } = permits;
    expect(permits.remainingMs()).toBeLessThan(4_000);
    expect(permits.remainingMs()).toBeGreaterThan(3_500);
    await clock.advance(3_999);
    expect(signal.aborted).toBe(true);
    saysThatItIsLost(permits);
    await clock.advance(2);
    expect([server.command("EXISTS", "a"), server.command("EXISTS", EXPIRIES)]).toEqual([0, 0]);
  });

  test("are not trusted for longer than that with a new lease time", async () => {
    const { semaphore, clock } = open();
    await semaphore.trySetPermits(2, { ttlMs: 5_000 });
    const permits = await semaphore.acquire({ leaseMs: 1_000 });
    expect(await semaphore.updateLeaseTime(permits.ids, 60_000)).toBe(true);
    expect(permits.remainingMs()).toBeLessThan(5_000);
    await clock.advance(5_000);
    saysThatItIsLost(permits);
  });

  test("are trusted for their own lease when that is shorter", async () => {
    const { semaphore } = open();
    await semaphore.trySetPermits(2, { ttlMs: 60_000 });
    expect((await semaphore.acquire({ leaseMs: 10_000 })).remainingMs()).toBe(9_898);
  });
});

describe("a release", () => {
  test("may be asked for twice: one command, and no error [B14]", async () => {
    const { semaphore, driver, stored } = open();
    await semaphore.trySetPermits(2);
    const permits = await semaphore.acquire({ leaseMs: 10_000 });
    const sent = driver.sent.length;
    await Promise.all([permits.release(), permits.release()]);
    await permits.release();
    expect(driver.sent.length - sent).toBe(1);
    expect([permits.state, permits.signal.aborted, permits.remainingMs()]).toEqual(["released", false, 0]);
    expect(() => permits.assertHeld()).toThrow(NotHeldError);
    expect(stored()).toEqual({ available: 2, acquired: 0 });
  });

  test("of permits that are lost is refused, with the loss as cause, and gives nothing back twice [B27] [B36]", async () => {
    const { semaphore, connect, clock, stored } = open();
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ leaseMs: 10_000 });
    await clock.advance(10_000);
    const reason: unknown = permits.signal.reason;
    const theirs = await connect().holdfast.getPermitExpirableSemaphore("a").acquire({ leaseMs: HOUR_MS });
    for (let i = 0; i < 3; i++) {
      expect(await failureOf(permits.release())).toMatchObject({
        code: "ERR_HOLDFAST_NOT_HELD",
        cause: reason,
      });
    }
    await clock.advance(1_000);
    expect(stored()).toEqual({ available: 0, acquired: 1 });
    expect(theirs.state).toBe("held");
  });

  test("of permits that the client has given up, and Redis has not, gives them back at once", async () => {
    const { semaphore, clock, stored } = open();
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ leaseMs: 100_000 });
    await clock.advance(99_000);
    expect(await failureOf(permits.release())).toBeInstanceOf(NotHeldError);
    await clock.advance(0);
    expect(stored()).toEqual({ available: 1, acquired: 0 });
  });

  test("is refused when Redis does not know the permits any more, and they are lost as stolen", async () => {
    const { semaphore, server, stored } = open();
    const lost = recorded(events.leaseLost);
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire();
    server.command("DEL", EXPIRIES);
    expect(await failureOf(permits.release())).toBeInstanceOf(NotHeldError);
    expect(permits.signal.reason).toMatchObject({ reason: "stolen" });
    expect(lost).toMatchObject([{ reason: "stolen" }]);
    expect(stored()).toEqual({ available: 0, acquired: 0 });
  });

  test("by their ids releases the handle: it is not lost, and there is nothing more to release", async () => {
    const { semaphore, clock, driver } = open();
    const lost = recorded(events.leaseLost);
    await semaphore.trySetPermits(3);
    const handles = [
      await semaphore.acquire(2, { leaseMs: 10_000 }),
      await semaphore.acquire({ watchdog: true }),
    ];
    const signals = handles.map(({ signal }) => signal);
    await semaphore.release(handles[0]?.ids ?? []);
    expect(await semaphore.tryRelease(handles[1]?.ids ?? [])).toBe(true);
    expect(handles.map(({ state }) => state)).toEqual(["released", "released"]);
    const sent = driver.sent.length;
    for (const handle of handles) await handle.release();
    await clock.advance(60_000);
    expect(driver.sent.length).toBe(sent);
    expect([signals.map(({ aborted }) => aborted), lost]).toEqual([[false, false], []]);
    expect(await semaphore.availablePermits()).toBe(3);
  });
});

describe("a release of one of several permits by its id", () => {
  test("leaves the handle the others, which it releases", async () => {
    const { semaphore, stored } = open();
    await semaphore.trySetPermits(5);
    const permits = await semaphore.acquire(3, { leaseMs: 10_000 });
    const [first = "", ...others] = permits.ids;
    expect(await semaphore.tryRelease(first)).toBe(true);
    expect([permits.state, permits.ids, stored()]).toEqual(["held", others, { available: 3, acquired: 2 }]);
    await permits.release();
    expect([permits.state, permits.signal.aborted, stored()]).toEqual([
      "released",
      false,
      { available: 5, acquired: 0 },
    ]);
  });

  test("of permits with the watchdog lets the others be renewed", async () => {
    const { semaphore, clock, stored } = open();
    await semaphore.trySetPermits(5);
    const permits = await semaphore.acquire(3, { watchdog: true });
    await semaphore.release(permits.ids[1] ?? "");
    await clock.advance(95_000);
    expect([permits.state, stored()]).toEqual(["held", { available: 3, acquired: 2 }]);
    await permits.release();
    expect(stored()).toEqual({ available: 5, acquired: 0 });
  });
});

describe("a new lease time", () => {
  test("lengthens and shortens the trust in a handle of this client", async () => {
    const { semaphore, clock, expiriesMs } = open();
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ leaseMs: 10_000 });
    const { signal } = permits;
    await clock.advance(5_000);
    expect(await semaphore.updateLeaseTime(permits.ids, 100_000)).toBe(true);
    expect([permits.remainingMs(), expiriesMs()]).toEqual([98_998, [100_000]]);
    await clock.advance(50_000);
    expect(signal.aborted).toBe(false);
    expect(await semaphore.updateLeaseTime(permits.ids, 1_000)).toBe(true);
    expect(permits.remainingMs()).toBe(988);
    await clock.advance(987);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.reason).toMatchObject({ reason: "expired" });
  });

  test("lengthens the trust in a handle as often as it is given one", async () => {
    const { semaphore } = open();
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ leaseMs: 10_000 });
    await semaphore.updateLeaseTime(permits.ids, 20_000);
    await semaphore.updateLeaseTime(permits.ids, 60_000);
    expect(permits.remainingMs()).toBe(59_398);
  });

  test("ends permits that were permanent", async () => {
    const { semaphore, clock } = open();
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire();
    const { signal } = permits;
    await semaphore.updateLeaseTime(permits.ids, 10_000);
    await clock.advance(9_898);
    expect(signal.aborted).toBe(true);
  });

  test("of one of two permits shortens the trust in both, and lengthens it in neither", async () => {
    const { semaphore } = open();
    await semaphore.trySetPermits(2);
    const permits = await semaphore.acquire(2, { leaseMs: 10_000 });
    const [id = ""] = permits.ids;
    await semaphore.updateLeaseTime(id, 100_000);
    expect(permits.remainingMs()).toBe(9_898);
    await semaphore.updateLeaseTime(id, 1_000);
    expect(permits.remainingMs()).toBe(988);
  });

  test("that is refused, as one of the permits is gone, changes the trust in none", async () => {
    const { semaphore } = open();
    await semaphore.trySetPermits(2);
    const [mine, gone] = [await semaphore.acquire({ leaseMs: 10_000 }), await semaphore.acquire()];
    await gone.release();
    for (const leaseMs of [100_000, 1_000]) {
      expect(await semaphore.updateLeaseTime([...mine.ids, ...gone.ids], leaseMs)).toBe(false);
      expect(mine.remainingMs()).toBe(9_898);
    }
  });

  test("comes too late for a handle that is lost, though Redis still knew the permit", async () => {
    const { semaphore, clock } = open();
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ leaseMs: 10_000 });
    await clock.advance(9_950);
    saysThatItIsLost(permits);
    await semaphore.updateLeaseTime(permits.ids, 100_000);
    saysThatItIsLost(permits);
  });
});

describe("clocks", () => {
  const WRONG_MS = 20 * 60_000;

  test.each([WRONG_MS, -WRONG_MS])(
    "of a client that are wrong by %d ms change nothing [wire-S9]",
    async (aheadMs) => {
      const { semaphore, connect, clock, expiriesMs, stored } = open();
      const wrong = connect({ clock: skewedClock(clock, aheadMs) }).holdfast.getPermitExpirableSemaphore("a");
      await semaphore.trySetPermits(2);
      const [right, theirs] = [
        await semaphore.acquire({ leaseMs: 10_000 }),
        await wrong.acquire({ leaseMs: 10_000 }),
      ];
      expect(expiriesMs()).toEqual([10_000, 10_000]);
      expect(theirs.remainingMs()).toBe(9_898);
      await clock.advance(9_000);
      for (const any of [semaphore, wrong]) {
        expect(await any.availablePermits()).toBe(0);
        expect(await any.tryAcquire()).toBeNull();
        expect(await any.getLeaseTime(right.ids[0] ?? "")).toBe(1_000);
      }
      expect([right.state, theirs.state]).toEqual(["held", "held"]);
      expect(await wrong.updateLeaseTime(right.ids, 10_000)).toBe(true);
      expect(expiriesMs()).toEqual([1_000, 10_000]);
      await clock.advance(1_000);
      expect(await wrong.availablePermits()).toBe(1);
      expect(stored()).toEqual({ available: 1, acquired: 1 });
    },
  );

  test("that were set back or forward end the trust early, never late [R11]", async () => {
    const time = open();
    let setByMs = 0;
    const settable: Clock = {
      monotonicMs: () => time.clock.monotonicMs(),
      wallMs: () => time.clock.wallMs() + setByMs,
      schedule: (delayMs, callback) => time.clock.schedule(delayMs, callback),
    };
    const semaphore = time.connect({ clock: settable }).holdfast.getPermitExpirableSemaphore("a");
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ leaseMs: 10_000 });
    setByMs = -HOUR_MS;
    expect(permits.remainingMs()).toBe(9_898);
    setByMs = 5_000;
    expect(permits.remainingMs()).toBe(4_898);
    setByMs = 10_000;
    saysThatItIsLost(permits);
  });
});
