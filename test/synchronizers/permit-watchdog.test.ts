import { describe, expect, test } from "vitest";
import type { Clock } from "../../src/clock.js";
import { ServerReplyError } from "../../src/driver/driver.js";
import { NotHeldError, UnavailableError } from "../../src/errors.js";
import { events } from "../../src/events.js";
import type { CallFault, ScriptedDriver } from "../support/drivers/scripted-driver.js";
import { answerLate, answerWith, neverDeliver, rejectAtOnce } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { EXPIRIES, permitTime } from "../support/worlds/permit-time.js";

watchLeaks();
endRecordings();
const open = permitTime();

const RENEW = "permit-renew";
/** The wheel's: so late a renewal may be. */
const TICK_MS = 100;

/** Every renewal meets the fault from now on. */
function breakRenewals(driver: ScriptedDriver, fault: CallFault): void {
  const standing: CallFault = {
    name: fault.name,
    meet: (deliver, scripted) => {
      void driver.next(standing, RENEW);
      return fault.meet(deliver, scripted);
    },
  };
  void driver.next(standing, RENEW);
}

describe("permits with the watchdog", () => {
  test("are renewed each third of their lease, and never have less than two thirds left", async () => {
    const { semaphore, clock, driver, expiriesMs } = open();
    await semaphore.trySetPermits(3);
    const permits = await semaphore.acquire(2, { watchdog: true });
    expect([permits.remainingMs(), expiriesMs()]).toEqual([29_698, [30_000, 30_000]]);
    let leastMs = Number.POSITIVE_INFINITY;
    for (let seconds = 0; seconds < 95; seconds++) {
      await clock.advance(1_000);
      leastMs = Math.min(leastMs, permits.remainingMs(), ...expiriesMs());
    }
    expect(driver.timesOf(RENEW)).toHaveLength(9);
    for (const [i, atMs] of driver.timesOf(RENEW).entries()) {
      expect(atMs).toBeGreaterThanOrEqual(10_000 * (i + 1));
      expect(atMs).toBeLessThanOrEqual((10_000 + TICK_MS) * (i + 1));
    }
    expect(leastMs).toBeGreaterThan(29_698 - 10_000 - 2 * TICK_MS);
    expect(permits.state).toBe("held");
  });

  test("are renewed by one command for a hundred semaphores, and have one timer together", async () => {
    const { holdfast, server, clock, driver } = open();
    const names = Array.from({ length: 101 }, (_, i) => `s${i}`);
    for (const name of names) server.command("SET", name, 1);
    const all = await Promise.all(
      names.map((name) => holdfast.getPermitExpirableSemaphore(name).acquire({ watchdog: true })),
    );
    await clock.advance(10_000 + TICK_MS);
    expect(driver.timesOf(RENEW)).toHaveLength(2);
    expect(all.filter((permits) => permits.remainingMs() < 29_698 - 2 * TICK_MS)).toEqual([]);
    // The alarm of the commands that renewed has rung by then, and the next beat is not due.
    await clock.advance(5_000);
    expect(clock.pendingTimers).toBe(1);
    server.flush();
  });

  test("are renewed no more after their release, nor after a release by their ids", async () => {
    const { semaphore, clock, driver } = open();
    await semaphore.trySetPermits(2);
    const [first, second] = [
      await semaphore.acquire({ watchdog: true }),
      await semaphore.acquire({ watchdog: true }),
    ];
    await first.release();
    await semaphore.release(second.ids);
    await clock.advance(60_000);
    expect([driver.timesOf(RENEW), clock.pendingTimers]).toEqual([[], 0]);
  });

  test("are lost as stolen when Redis does not know one of them any more, and nothing is taken back [B23]", async () => {
    const { semaphore, connect, clock, stored } = open();
    const lost = recorded(events.leaseLost);
    await semaphore.trySetPermits(3);
    const [mine, others] = [
      await semaphore.acquire(2, { watchdog: true }),
      await semaphore.acquire({ watchdog: true }),
    ];
    const { signal } = mine;
    await connect()
      .holdfast.getPermitExpirableSemaphore("a")
      .release(mine.ids[1] ?? "");
    await clock.advance(10_000 + TICK_MS);
    expect(signal.reason).toMatchObject({ reason: "stolen" });
    expect([mine.state, others.state]).toEqual(["lost", "held"]);
    expect(lost).toHaveLength(1);
    await expect(mine.release()).rejects.toBeInstanceOf(NotHeldError);
    await clock.advance(30_000);
    expect(await semaphore.getPermits()).toBe(3);
    expect(stored()).toEqual({ available: 2, acquired: 1 });
  });

  test("of which some were released by their ids are lost as stolen with one of the others", async () => {
    const { semaphore, connect, clock } = open();
    await semaphore.trySetPermits(3);
    const permits = await semaphore.acquire(3, { watchdog: true });
    const [first = "", second = ""] = permits.ids;
    await semaphore.release(first);
    await clock.advance(10_000 + TICK_MS);
    expect(permits.state).toBe("held");
    await connect().holdfast.getPermitExpirableSemaphore("a").release(second);
    const { signal } = permits;
    await clock.advance(10_000 + TICK_MS);
    expect(signal.reason).toMatchObject({ reason: "stolen" });
  });

  test("are lost when the semaphore was deleted, and its keys do not come back", async () => {
    const { semaphore, connect, clock, stored } = open();
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ watchdog: true });
    const { signal } = permits;
    await connect().holdfast.getPermitExpirableSemaphore("a").delete();
    await clock.advance(10_000 + TICK_MS);
    expect(signal.reason).toMatchObject({ reason: "stolen" });
    expect(stored()).toEqual({ available: undefined, acquired: 0 });
  });

  test.each([
    ["does not answer", neverDeliver],
    ["can not be reached", rejectAtOnce],
  ])("are lost as unreachable at the end of their window when Redis %s", async (_, fault) => {
    const { semaphore, clock, driver } = open();
    const failed = recorded(events.renewalFailed);
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ watchdog: true });
    const { signal } = permits;
    breakRenewals(driver, fault);
    await clock.advance(29_697);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.reason).toMatchObject({ reason: "unreachable", heldMs: 29_698 });
    expect(failed.length).toBeGreaterThan(0);
  });

  test("survive renewals that fail for a while [B4]", async () => {
    const { semaphore, clock, driver } = open();
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ watchdog: true });
    for (let i = 0; i < 5; i++) void driver.next(rejectAtOnce, RENEW);
    await clock.advance(95_000);
    expect(permits.state).toBe("held");
  });

  test.each([500, 45_000])("are lost after a maxHoldMs of %d, and renewed no more", async (maxHoldMs) => {
    const { semaphore, clock, driver } = open();
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ watchdog: true, maxHoldMs });
    const { signal } = permits;
    await clock.advance(maxHoldMs - 1);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.reason).toMatchObject({ reason: "max-hold", heldMs: maxHoldMs });
    const renewals = driver.timesOf(RENEW);
    expect(renewals).toHaveLength(Math.floor(maxHoldMs / 10_000));
    await clock.advance(60_000);
    expect(driver.timesOf(RENEW)).toEqual(renewals);
    expect(await semaphore.availablePermits()).toBe(1);
  });

  test("are not lost again, nor back, when a renewal is answered after the loss [R13]", async () => {
    const { semaphore, clock, driver } = open();
    const lost = recorded(events.leaseLost);
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ watchdog: true });
    const { signal } = permits;
    const late = Array.from({ length: 50 }, answerLate);
    for (const fault of late) void driver.next(fault, RENEW);
    await clock.advance(29_698);
    const reason: unknown = signal.reason;
    expect(reason).toMatchObject({ reason: "unreachable" });
    for (const fault of late) fault.arrive();
    await clock.advance(5_000);
    expect([permits.state, permits.remainingMs(), signal.reason, lost.length]).toEqual([
      "lost",
      0,
      reason,
      1,
    ]);
  });

  test("that were released hear nothing of a renewal that was under way [B22]", async () => {
    const { semaphore, clock, driver } = open();
    const lost = recorded(events.leaseLost);
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ watchdog: true });
    const { signal } = permits;
    const late = answerLate();
    void driver.next(late, RENEW);
    await clock.advance(10_000 + TICK_MS);
    await permits.release();
    late.arrive();
    await clock.advance(60_000);
    expect([permits.state, signal.aborted, lost]).toEqual(["released", false, []]);
  });

  test("are renewed no more once they have got a lease of their own", async () => {
    const { semaphore, clock, driver, expiriesMs } = open();
    await semaphore.trySetPermits(2);
    const [short, long] = [
      await semaphore.acquire({ watchdog: true }),
      await semaphore.acquire({ watchdog: true }),
    ];
    const signals = [short.signal, long.signal];
    expect(await semaphore.updateLeaseTime(short.ids, 12_000)).toBe(true);
    expect(await semaphore.updateLeaseTime(long.ids, 60_000)).toBe(true);
    expect([short.remainingMs(), long.remainingMs(), expiriesMs()]).toEqual([
      11_878,
      59_398,
      [12_000, 60_000],
    ]);
    await clock.advance(12_000);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    await clock.advance(48_000);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect(driver.timesOf(RENEW)).toEqual([]);
    expect(await semaphore.availablePermits()).toBe(2);
  });

  test("are renewed as before when a new lease was refused, as another permit of the list is gone", async () => {
    const { semaphore, clock } = open();
    await semaphore.trySetPermits(2);
    const [mine, gone] = [await semaphore.acquire({ watchdog: true }), await semaphore.acquire()];
    await gone.release();
    expect(await semaphore.updateLeaseTime([...mine.ids, ...gone.ids], 1_000)).toBe(false);
    await clock.advance(95_000);
    expect(mine.state).toBe("held");
  });

  test("are renewed as before when the server has refused to set a new lease", async () => {
    const { semaphore, clock, driver } = open();
    await semaphore.trySetPermits(1);
    const mine = await semaphore.acquire({ watchdog: true });
    void driver.next(answerWith(new ServerReplyError("OOM command not allowed")), "permit-set-lease");
    const refused = semaphore.updateLeaseTime(mine.ids, 1_000);
    await expect(refused).rejects.toMatchObject({ name: UnavailableError.name, outcomeUnknown: false });
    await clock.advance(95_000);
    expect(mine.state).toBe("held");
  });

  test("do not keep the process alive", async () => {
    const { connect, clock } = open();
    const keeping: number[] = [];
    const noting: Clock = {
      monotonicMs: () => clock.monotonicMs(),
      wallMs: () => clock.wallMs(),
      schedule(delayMs, callback, keepAlive) {
        if (keepAlive) keeping.push(delayMs);
        return clock.schedule(delayMs, callback);
      },
    };
    const semaphore = connect({ clock: noting }).holdfast.getPermitExpirableSemaphore("a");
    await semaphore.trySetPermits(2);
    const all = [await semaphore.acquire({ watchdog: true }), await semaphore.acquire({ leaseMs: 60_000 })];
    for (const { signal } of all) expect(signal.aborted).toBe(false);
    await clock.advance(50_000);
    expect(keeping).toEqual([]);
  });
});

describe("permits of a client that is closed", () => {
  test.each<[string, object]>([
    ["a lease", { leaseMs: 60_000 }],
    ["the watchdog", { watchdog: true }],
    ["no lease", {}],
  ])("are lost with the reason closed, and stay in Redis: with %s", async (_, options) => {
    const { connect, clock, stored, server } = open();
    const { holdfast, driver } = connect();
    const semaphore = holdfast.getPermitExpirableSemaphore("a");
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire(options);
    const { signal } = permits;
    await holdfast.close();
    expect(signal.reason).toMatchObject({ reason: "closed" });
    expect(stored()).toEqual({ available: 0, acquired: 1 });
    const sent = driver.sent.length;
    await clock.advance(60_000);
    expect(driver.sent.length).toBe(sent);
    server.command("DEL", "a", EXPIRIES);
  });

  test.each<[string, object]>([
    ["a lease", { leaseMs: 60_000 }],
    ["the watchdog", { watchdog: true }],
    ["no lease", {}],
  ])("are given back with releaseHeld: with %s", async (_, options) => {
    const { connect, stored } = open();
    const { holdfast } = connect();
    const semaphore = holdfast.getPermitExpirableSemaphore("a");
    await semaphore.trySetPermits(3);
    const permits = await semaphore.acquire(2, options);
    await holdfast.close({ releaseHeld: true });
    expect(permits.state).toBe("lost");
    expect(stored()).toEqual({ available: 3, acquired: 0 });
  });

  test("are refused to those who wait for them, with ClientClosedError", async () => {
    const { semaphore, connect } = open();
    await semaphore.trySetPermits(1);
    await semaphore.acquire();
    const { holdfast } = connect();
    const waiting = expect(holdfast.getPermitExpirableSemaphore("a").acquire()).rejects.toMatchObject({
      code: "ERR_HOLDFAST_CLOSED",
    });
    await holdfast.close();
    await waiting;
  });
});
