import { describe, expect, test } from "vitest";
import { ClientClosedError, NotHeldError, UnavailableError } from "../../src/errors.js";
import type { Holdfast } from "../../src/holdfast.js";
import {
  answerLate,
  deliverLate,
  deliverTwice,
  loseReply,
  neverDeliver,
  swallowReply,
} from "../support/faults/call-faults.js";
import { watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";
import { CHANNEL, heldByJvm, releasedByJvm } from "../support/worlds/foreign-holder.js";

const HOUR_MS = 3_600_000;
const NAMES = ["a", "b", "c"];

const multiOf = (client: Holdfast) => client.getMultiLock(...NAMES.map((name) => client.getLock(name)));
const stored = (time: FakeTime) => NAMES.filter((name) => Object.keys(time.fields(name)).length > 0);

const UNAVAILABLE = { error: { code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: true } };

describe("a multi lock whose command", () => {
  const open = fakeTime();

  test.each([loseReply, deliverTwice])("meets: $name is had once, and ends once", async (fault) => {
    const time = open();
    void time.driver.next(fault, "lock-acquire");
    const call = multiOf(time.holdfast).lock();
    await time.clock.advance(1_000);
    const lease = await call;
    expect(NAMES.map((name) => Object.values(time.fields(name)))).toEqual([["1"], ["1"], ["1"]]);
    void time.driver.next(fault, "lock-release");
    const unlocked = lease.unlock();
    await time.clock.advance(1_000);
    await unlocked;
    expect(stored(time)).toEqual([]);
  });

  test("is never answered tells so, and every lock that it took is given back", async () => {
    const time = open();
    void time.driver.next(swallowReply, "lock-acquire");
    const call = watched(multiOf(time.holdfast).lock({ leaseMs: HOUR_MS }));
    await time.clock.advance(2_999);
    expect([stored(time), call.outcome]).toEqual([NAMES, undefined]);
    await time.clock.advance(5_000);
    expect(call.outcome).toEqual({ error: expect.any(UnavailableError) });
    expect(stored(time)).toEqual([]);
  });

  test("arrives after it was given up leaves nothing", async () => {
    const time = open();
    const late = deliverLate();
    await time.holdfast.getLock("acquaintance").using(() => undefined);
    void time.driver.next(late, "lock-acquire");
    const call = watched(multiOf(time.holdfast).lock({ leaseMs: HOUR_MS }));
    await time.clock.advance(3_000);
    expect(call.outcome).toEqual({ error: expect.any(UnavailableError) });
    await late.arrive();
    await time.clock.advance(10_000);
    expect(stored(time)).toEqual([]);
  });

  test("is answered when the lease is over brings nothing, and leaves nothing", async () => {
    const time = open();
    const late = answerLate();
    void time.driver.next(late, "lock-acquire");
    const call = watched(multiOf(time.holdfast).tryLock({ leaseMs: 100 }));
    await time.clock.advance(150);
    late.arrive();
    await time.clock.advance(1_000);
    expect([call.outcome, stored(time)]).toMatchObject([UNAVAILABLE, []]);
  });

  test("comes too late by the clock of a server that was set forward is sent once more", async () => {
    const time = open();
    await time.holdfast.getLock("acquaintance").using(() => undefined);
    time.clock.suspend(HOUR_MS);
    const lease = await multiOf(time.holdfast).tryLock();
    expect([lease?.state, stored(time)]).toEqual(["held", NAMES]);
    await lease?.unlock();
  });

  test("can not be delivered gives back what other clients have brought", async () => {
    const time = open();
    const other = time.connect();
    await other.holdfast.getLock("acquaintance").using(() => undefined);
    const lock = time.holdfast.getMultiLock(time.holdfast.getLock("a"), other.holdfast.getLock("b"));
    void other.driver.next(neverDeliver, "lock-acquire");
    const call = watched(lock.tryLock());
    await time.clock.advance(10);
    expect(stored(time)).toEqual(["a"]);
    await time.clock.advance(10_000);
    expect([call.outcome, stored(time)]).toEqual([{ error: expect.any(UnavailableError) }, []]);
  });

  test("is answered after the lease of another member has ended is never handed out, and tried again [wire-S16]", async () => {
    const time = open();
    const other = time.connect();
    const slow = answerLate();
    const lock = time.holdfast.getMultiLock(time.holdfast.getLock("a"), other.holdfast.getLock("b"));
    void other.driver.next(slow, "lock-acquire");
    const call = watched(lock.lock({ leaseMs: 1_000 }));
    await time.clock.advance(1_500);
    expect([call.outcome, stored(time)]).toEqual([undefined, []]);
    slow.arrive();
    await time.clock.advance(100);
    expect(call.outcome).toMatchObject({ value: { state: "held" } });
    expect(stored(time)).toEqual(["a", "b"]);
    if (call.outcome && "value" in call.outcome) await call.outcome.value.unlock();
  });

  test("finds that another member was lost meanwhile brings nothing in tryLock [wire-S16]", async () => {
    const time = open();
    const other = time.connect();
    const slow = answerLate();
    const lock = time.holdfast.getMultiLock(time.holdfast.getLock("a"), other.holdfast.getLock("b"));
    void other.driver.next(slow, "lock-acquire");
    const call = watched(lock.tryLock());
    // Somebody forces the first lock open while the second is asked for.
    await time.clock.advance(10);
    const forced = time.holdfast.getLock("a").forceUnlock();
    await time.clock.advance(10);
    expect(await forced).toBe(true);
    slow.arrive();
    await time.clock.advance(100);
    expect([call.outcome, stored(time)]).toMatchObject([UNAVAILABLE, []]);
  });
});

describe("the lease of a multi lock", () => {
  const open = fakeTime();

  test("that has expired is reported so by its release, at once and without a second try [B16]", async () => {
    const time = open();
    const lease = await multiOf(time.holdfast).lock({ leaseMs: 1_000 });
    await time.clock.advance(2_000);
    time.driver.calls.length = 0;
    await expect(lease.unlock()).rejects.toMatchObject({
      code: "ERR_HOLDFAST_NOT_HELD",
      cause: { reason: "expired" },
    });
    await time.clock.advance(60_000);
    expect(time.driver.names.length).toBeLessThanOrEqual(NAMES.length);
    expect(time.driver.names.every((name) => name === "lock-release")).toBe(true);
  });

  test("aborts its signal at the end of the shortest member's window, and when maxHoldMs is over", async () => {
    const time = open();
    const timed = await multiOf(time.holdfast).lock({ leaseMs: 1_000 });
    const { signal } = timed;
    await time.clock.advance(1_010);
    expect(signal.reason).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "expired" });
    expect([timed.state, timed.remainingMs()]).toEqual(["lost", 0]);
    const bounded = await multiOf(time.holdfast).lock({ maxHoldMs: 60_000 });
    const { signal: later } = bounded;
    await time.clock.advance(59_000);
    expect([bounded.state, later.aborted]).toEqual(["held", false]);
    await time.clock.advance(1_000);
    expect(later.reason).toMatchObject({ reason: "max-hold" });
    await expect(bounded.unlock()).rejects.toThrow(NotHeldError);
  });

  test("is renewed for as long as it is held, and lost with the first member that is gone [wire-S16]", async () => {
    const time = open();
    const lease = await multiOf(time.holdfast).lock();
    const { signal } = lease;
    await time.clock.advance(HOUR_MS);
    expect([lease.state, stored(time)]).toEqual(["held", NAMES]);
    time.server.command("DEL", "b");
    await time.clock.advance(10_000);
    expect(signal.reason).toMatchObject({ lockName: "a+b+c", reason: "stolen" });
    expect(stored(time)).toEqual(["a", "c"]);
    await expect(lease.unlock()).rejects.toThrow(NotHeldError);
    expect(stored(time)).toEqual([]);
  });

  test("is lost when the client of one member is closed; unlock releases the others", async () => {
    const time = open();
    const other = time.connect().holdfast;
    const lock = time.holdfast.getMultiLock(time.holdfast.getLock("a"), other.getLock("b"));
    const lease = await lock.lock();
    const { signal } = lease;
    await other.close({ releaseHeld: true });
    expect(signal.reason).toMatchObject({ reason: "closed" });
    await expect(lease.unlock()).rejects.toThrow(NotHeldError);
    expect(stored(time)).toEqual([]);
    await expect(lock.lock()).rejects.toThrow(ClientClosedError);
    await expect(lock.isLocked()).rejects.toThrow(ClientClosedError);
  });

  test("ends with a lost lease as the outcome of using, unless the body has failed by itself", async () => {
    const time = open();
    const lock = multiOf(time.holdfast);
    const lost = lock.using({ leaseMs: 100 }, () => time.clock.advance(200));
    await expect(lost).rejects.toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "expired" });
    const failure = new Error("the body failed");
    const failed = lock.using(() => Promise.reject(failure));
    await expect(failed).rejects.toBe(failure);
    expect(stored(time)).toEqual([]);
  });
});

describe("waiting for a multi lock", () => {
  const open = fakeTime();

  test("is woken by message alone, and costs nothing meanwhile", async () => {
    const time = open();
    heldByJvm(time, HOUR_MS);
    const { holdfast, driver } = time.connect({ safetyPeriodMs: HOUR_MS });
    const call = watched(multiOf(holdfast).lock());
    await time.clock.advance(1_000);
    const asked = driver.calls.length;
    await time.clock.advance(HOUR_MS / 2);
    expect([call.outcome, driver.calls.length - asked, stored(time)]).toEqual([undefined, 0, ["a"]]);
    expect(driver.channels.asked).toEqual([`${CHANNEL}:${holdfast.clientId}`, CHANNEL]);
    await releasedByJvm(time);
    expect(call.outcome).toMatchObject({ value: { state: "held" } });
    if (call.outcome && "value" in call.outcome) await call.outcome.value.unlock();
  });

  test("for a lock of one client holds none of another client's meanwhile [B13]", async () => {
    const time = open();
    const other = time.connect().holdfast;
    time.server.command("HSET", "b", "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:57", 1);
    time.server.command("PEXPIRE", "b", HOUR_MS);
    const lock = time.holdfast.getMultiLock(time.holdfast.getLock("a"), other.getLock("b"));
    const call = watched(lock.lock());
    for (let i = 0; i < 10; i++) {
      await time.clock.advance(1_000);
      expect([stored(time), call.outcome]).toEqual([["b"], undefined]);
    }
    time.server.command("DEL", "b");
    time.server.command("PUBLISH", "redisson_lock__channel:{b}", "0");
    await time.clock.advance(100);
    expect(stored(time)).toEqual(["a", "b"]);
    if (call.outcome && "value" in call.outcome) await call.outcome.value.unlock();
  });

  test("ends in time, and tells who was in the way", async () => {
    const time = open();
    heldByJvm(time, HOUR_MS);
    const lock = multiOf(time.holdfast);
    const [thrown, refused] = [watched(lock.lock({ waitMs: 50 })), watched(lock.tryLock({ waitMs: 50 }))];
    await time.clock.advance(49);
    expect([thrown.outcome, refused.outcome]).toEqual([undefined, undefined]);
    await time.clock.advance(1);
    expect(thrown.outcome).toMatchObject({
      error: { code: "ERR_HOLDFAST_WAIT_TIMEOUT", lockName: "a+b+c", obstacle: { own: false }, waitedMs: 50 },
    });
    expect(refused.outcome).toEqual({ value: null });
    time.server.flush();
  });

  test("ends when the client of any member is closed", async () => {
    const time = open();
    const other = time.connect().holdfast;
    heldByJvm(time, HOUR_MS);
    const lock = time.holdfast.getMultiLock(time.holdfast.getLock("a"), other.getLock("b"));
    const call = watched(lock.lock());
    await time.clock.advance(100);
    await other.close();
    await time.clock.advance(100);
    expect(call.outcome).toEqual({ error: expect.any(ClientClosedError) });
    time.server.flush();
  });

  test("tells an error of Redis as it is, and holds nothing then", async () => {
    const time = open();
    time.server.command("SET", "b", "no lock");
    await expect(multiOf(time.holdfast).tryLock()).rejects.toMatchObject({
      code: "ERR_HOLDFAST_WRONG_TYPE",
      key: "b",
    });
    await expect(multiOf(time.holdfast).lock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_WRONG_TYPE" });
    expect(stored(time)).toEqual([]);
    time.server.command("DEL", "b");
  });
});
