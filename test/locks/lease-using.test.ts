import { describe, expect, test } from "vitest";
import { LeaseLostError, NotHeldError, UnavailableError } from "../../src/errors.js";
import { events } from "../../src/events.js";
import type { Lease } from "../../src/lease.js";
import type { Lock } from "../../src/locks/lock.js";
import { answerLate, neverDeliver } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
endRecordings();
const open = fakeTime();

const ofTheBody = new Error("of the body");
const fails = () => Promise.reject(ofTheBody);

/** By then a watchdog that has nothing to do has noticed. */
const QUIET_MS = 11_000;

describe("using", () => {
  test("resolves with what the body answers, now or later, and releases", async () => {
    const { holdfast, server } = open();
    const lock = holdfast.getLock("a");
    expect(await lock.using(() => 1)).toBe(1);
    expect(await lock.using({ leaseMs: 1_000 }, async () => 2)).toBe(2);
    expect(server.dump()).toEqual({});
  });

  test("rejects with the very error of the body, thrown now or later, and releases", async () => {
    const { holdfast, server } = open();
    const lock = holdfast.getLock("a");
    const throws = () => {
      throw ofTheBody;
    };
    await expect(lock.using(throws)).rejects.toBe(ofTheBody);
    await expect(lock.using(fails)).rejects.toBe(ofTheBody);
    expect(server.dump()).toEqual({});
  });

  test("rejects with the body's error, not with the loss of the lease [B19]", async () => {
    const { holdfast, clock } = open();
    const lost = recorded(events.leaseLost);
    const using = holdfast.getLock("a").using({ leaseMs: 1_000 }, async () => {
      await clock.advance(2_000);
      throw ofTheBody;
    });
    await expect(using).rejects.toBe(ofTheBody);
    expect(lost).toHaveLength(1);
  });

  test("rejects with the body's error, not with that of the release, which an event tells [B19]", async () => {
    const { holdfast, driver, clock } = open();
    const failed = recorded(events.releaseFailed);
    for (let i = 0; i < 2; i++) void driver.next(neverDeliver, "lock-release");
    const using = holdfast.getLock("a").using(fails);
    using.catch(() => undefined);
    await clock.advance(4_000);
    await expect(using).rejects.toBe(ofTheBody);
    expect(failed).toMatchObject([{ name: "a", kind: "lock", error: expect.any(UnavailableError) }]);
  });

  test("rejects with the body's error when a renewal is under way, which then tells nothing [B19]", async () => {
    const { holdfast, driver, clock, server } = open();
    const [lost, failed] = [recorded(events.leaseLost), recorded(events.renewalFailed)];
    const renewal = answerLate();
    void driver.next(renewal, "lock-renew");
    let held: Lease | undefined;
    const using = holdfast.getLock("a").using(async (lease) => {
      held = lease;
      expect(lease.signal.aborted).toBe(false);
      await clock.advance(10_100);
      throw ofTheBody;
    });
    await expect(using).rejects.toBe(ofTheBody);
    renewal.arrive();
    await clock.advance(QUIET_MS);
    expect([held?.state, held?.signal.aborted, lost, failed]).toEqual(["released", false, [], []]);
    expect(server.dump()).toEqual({});
    expect(clock.pendingTimers).toBe(0);
  });

  test("leaves no timer behind, however it ends [B19]", async () => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    const signals: AbortSignal[] = [];
    await lock.using((lease) => void signals.push(lease.signal));
    await lock.using({ leaseMs: 5_000 }, (lease) => void signals.push(lease.signal));
    await lock.using({ maxHoldMs: 5_000 }, (lease) => void signals.push(lease.signal));
    await lock.using(fails).catch(() => undefined);
    await clock.advance(QUIET_MS);
    expect(clock.pendingTimers).toBe(0);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false]);
  });

  test("rejects with the loss when the lease was lost while the body ran", async () => {
    const { holdfast, clock } = open();
    let signal: AbortSignal | undefined;
    const using = holdfast.getLock("a").using({ leaseMs: 1_000 }, async (lease) => {
      ({ signal } = lease);
      await clock.advance(2_000);
      return "done";
    });
    const error = await using.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LeaseLostError);
    expect(error).toBe(signal?.reason);
  });

  test("rejects with the loss when only the release finds out, and tells that release by its event", async () => {
    const { holdfast, server } = open();
    const failed = recorded(events.releaseFailed);
    const using = holdfast.getLock("a").using(() => void server.command("DEL", "a"));
    await expect(using).rejects.toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "stolen" });
    expect(failed).toMatchObject([{ error: expect.any(NotHeldError) }]);
  });

  test("rejects with the loss also when the body was told it by its own unlock", async () => {
    const { holdfast, clock } = open();
    const using = holdfast.getLock("a").using({ leaseMs: 1_000 }, async (lease) => {
      await clock.advance(2_000);
      await lease.unlock().catch(() => undefined);
    });
    await expect(using).rejects.toBeInstanceOf(LeaseLostError);
  });

  test("resolves when the work was done and only the release failed, which an event tells", async () => {
    const { holdfast, driver, clock, fields } = open();
    const failed = recorded(events.releaseFailed);
    for (let i = 0; i < 2; i++) void driver.next(neverDeliver, "lock-release");
    const using = holdfast.getLock("a").using((lease) => lease.holder);
    await clock.advance(4_000);
    const holder = await using;
    expect(failed).toMatchObject([{ holder, error: expect.any(UnavailableError) }]);
    await clock.advance(10_000);
    expect(fields("a")).toEqual({});
  });

  test("lets the body release itself, and does not release once more", async () => {
    const { holdfast, driver } = open();
    await holdfast.getLock("a").using((lease) => lease.unlock());
    expect(driver.names.filter((name) => name === "lock-release")).toHaveLength(1);
  });

  test("waits for a release that its body has begun", async () => {
    const { holdfast, driver, clock, fields } = open();
    const slow = answerLate();
    void driver.next(slow, "lock-release");
    let done = false;
    const using = holdfast
      .getLock("a")
      .using((lease) => {
        void lease.unlock();
      })
      .then(() => {
        done = true;
      });
    await clock.advance(100);
    expect(done).toBe(false);
    slow.arrive();
    await using;
    expect(fields("a")).toEqual({});
  });

  test("does not run a body that is no function, nor with options that are wrong, and takes nothing", async () => {
    const { holdfast, driver } = open();
    const lock = holdfast.getLock("a");
    const wrong: unknown = "not a function";
    await expect(lock.using(wrong as () => void)).rejects.toBeInstanceOf(TypeError);
    await expect(lock.using({ leaseMs: 0 }, () => "ran")).rejects.toBeInstanceOf(RangeError);
    expect(driver.calls).toEqual([]);
  });
});

describe("await using", () => {
  const disposed = async (lock: Lock, leaseMs: number, body: () => Promise<unknown>) => {
    await using lease = await lock.lock({ leaseMs });
    expect(lease.state).toBe("held");
    return await body();
  };

  test("releases at the end of the block, also when that throws", async () => {
    const { holdfast, server } = open();
    const lock = holdfast.getLock("a");
    expect(await disposed(lock, 1_000, async () => "done")).toBe("done");
    expect(server.dump()).toEqual({});
    await expect(disposed(lock, 1_000, fails)).rejects.toBe(ofTheBody);
    expect(server.dump()).toEqual({});
  });

  test("does not mind a lease that the block has released itself", async () => {
    const { holdfast, driver } = open();
    const release = async () => {
      await using lease = await holdfast.getLock("a").lock();
      await lease.unlock();
    };
    await release();
    expect(driver.names.filter((name) => name === "lock-release")).toHaveLength(1);
  });

  test("throws the loss of the lease", async () => {
    const { holdfast, clock } = open();
    const block = disposed(holdfast.getLock("a"), 1_000, () => clock.advance(2_000));
    await expect(block).rejects.toBeInstanceOf(LeaseLostError);
  });

  test("throws both errors in one where the block fails and the lease is lost [B19]", async () => {
    const { holdfast, clock } = open();
    const block = disposed(holdfast.getLock("a"), 1_000, async () => {
      await clock.advance(2_000);
      throw ofTheBody;
    });
    const error = await block.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "SuppressedError", error: expect.any(LeaseLostError) });
    expect((error as { suppressed: unknown }).suppressed).toBe(ofTheBody);
  });

  test("does not throw because a release failed, which an event tells", async () => {
    const { holdfast, driver, clock } = open();
    const failed = recorded(events.releaseFailed);
    for (let i = 0; i < 2; i++) void driver.next(neverDeliver, "lock-release");
    const block = disposed(holdfast.getLock("a"), 30_000, async () => "done");
    await clock.advance(4_000);
    expect(await block).toBe("done");
    expect(failed).toHaveLength(1);
  });
});
