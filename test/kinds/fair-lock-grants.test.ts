import { describe, expect, test } from "vitest";
import { LeaseLostError, NotHeldError } from "../../src/errors.js";
import { events } from "../../src/events.js";
import { fairTimes } from "../../src/protocol/fair-scripts.js";
import { kill, toldOurs } from "../support/models/fair-queue.js";
import { untilCollected } from "../support/run/garbage.js";
import { watchLeaks } from "../support/run/leaks.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { leaseOf, queued } from "../support/worlds/fair-waiters.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
endRecordings();
const open = fakeTime({ forgets: true });

const { grantMs } = fairTimes;
const PERIOD_MS = 1_500;
/** When a hold that was given gets its own lease, and the wheel's grain. */
const TICK_MS = 100;
const CONFIRMED_MS = grantMs / 3 + TICK_MS;

describe("a fair lock that is passed on", () => {
  test("costs the release and one message, and the waiter is in", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const next = await queued(time);
    const messages: string[] = [];
    const [channel, message] = toldOurs(next.holder, time.clock.wallMs() + grantMs);
    time.server.subscribe(channel, (each) => messages.push(each));
    const [before, own] = [next.driver.calls.length, time.driver.calls.length];
    await lease.unlock();
    await time.clock.advance(0);
    expect(leaseOf(next)).toMatchObject({ state: "held", holder: next.holder });
    expect(next.driver.calls.length).toBe(before);
    expect(time.driver.names.slice(own)).toEqual(["fair-release"]);
    expect(messages).toEqual([message]);
    expect(time.fields("a")).toEqual({ [next.holder]: "1" });
    expect(time.ttlMs("a")).toBe(grantMs);
    await leaseOf(next).unlock();
  });

  test("by forceUnlock is in the hands of the next at once, and the old holder learns of it", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const next = await queued(time);
    expect(await time.connect().holdfast.getFairLock("a").forceUnlock()).toBe(true);
    await time.clock.advance(0);
    expect(leaseOf(next)).toMatchObject({ state: "held", holder: next.holder });
    await expect(lease.unlock()).rejects.toThrow(NotHeldError);
    await leaseOf(next).unlock();
  });

  test("is kept by its new holder's watchdog after a third of the time it was given for", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const next = await queued(time);
    await lease.unlock();
    await time.clock.advance(0);
    const before = next.driver.calls.length;
    await time.clock.advance(CONFIRMED_MS);
    expect(next.driver.names.slice(before)).toEqual(["fair-release"]);
    expect(time.ttlMs("a")).toBeGreaterThan(30_000 - CONFIRMED_MS);
    await time.clock.advance(120_000);
    expect(leaseOf(next).state).toBe("held");
    expect(time.fields("a")).toEqual({ [next.holder]: "1" });
    await leaseOf(next).unlock();
  });

  test.each([
    [10, 0],
    [499, 0],
    [500, 500 / 3 + TICK_MS],
    [3_999, 3_999 / 3 + TICK_MS],
  ])("to a lease of %i ms gets that end after %i ms at the latest", async (leaseMs, writtenMs) => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const next = await queued(time, { leaseMs });
    await lease.unlock();
    await time.clock.advance(0);
    expect(leaseOf(next).remainingMs()).toBeLessThan(leaseMs);
    await time.clock.advance(writtenMs);
    expect(time.ttlMs("a")).toBeLessThanOrEqual(leaseMs - writtenMs + 1);
    await time.clock.advance(leaseMs - writtenMs + 1);
    expect(leaseOf(next).state).toBe("lost");
    expect(time.fields("a")).toEqual({});
    await expect(leaseOf(next).unlock()).rejects.toThrow(NotHeldError);
  });

  test("to a fixed lease of 10 s ends 10 s after it was entered, not after it was confirmed", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const next = await queued(time, { leaseMs: 10_000 });
    await lease.unlock();
    await time.clock.advance(CONFIRMED_MS);
    expect(time.ttlMs("a")).toBeLessThanOrEqual(10_000 - grantMs / 3);
    await time.clock.advance(10_001 - CONFIRMED_MS);
    expect(time.fields("a")).toEqual({});
    expect(leaseOf(next).state).toBe("lost");
    await expect(leaseOf(next).unlock()).rejects.toThrow(NotHeldError);
  });

  test("and lost before it was confirmed keeps its field until it is given back", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const next = await queued(time, { maxHoldMs: 1_000 });
    await lease.unlock();
    await time.clock.advance(2_000);
    expect([leaseOf(next).state, Object.keys(time.fields("a"))]).toEqual(["lost", [leaseOf(next).holder]]);
    await expect(leaseOf(next).unlock()).rejects.toThrow(NotHeldError);
    await time.clock.advance(0);
    expect(time.fields("a")).toEqual({});
  });

  test("and released before it was confirmed is not confirmed any more, and goes on to the next", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const [next, last] = [await queued(time), await queued(time)];
    await lease.unlock();
    await time.clock.advance(100);
    const before = next.driver.calls.length;
    await leaseOf(next).unlock();
    await time.clock.advance(0);
    expect(leaseOf(last).state).toBe("held");
    await time.clock.advance(2 * CONFIRMED_MS);
    expect(next.driver.names.slice(before)).toEqual(["fair-release"]);
    expect(time.fields("a")).toEqual({ [last.holder]: "1" });
    await leaseOf(last).unlock();
  });

  test("may be entered again before it was confirmed", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const next = await queued(time);
    await lease.unlock();
    await time.clock.advance(0);
    const lock = next.holdfast.getFairLock("a");
    await leaseOf(next).run(async () => {
      const inner = await lock.lock();
      expect(time.fields("a")).toEqual({ [next.holder]: "2" });
      await time.clock.advance(60_000);
      expect([leaseOf(next).state, inner.state]).toEqual(["held", "held"]);
      await inner.unlock();
    });
    expect(time.fields("a")).toEqual({ [next.holder]: "1" });
    await leaseOf(next).unlock();
  });

  test("to somebody from whom it was taken before the confirmation is lost there [R4]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const next = await queued(time);
    await lease.unlock();
    await time.clock.advance(0);
    time.server.command("DEL", "a");
    const other = await time.holdfast.getFairLock("a").lock();
    await time.clock.advance(CONFIRMED_MS);
    expect(leaseOf(next).state).toBe("lost");
    expect(leaseOf(next).signal.reason).toBeInstanceOf(LeaseLostError);
    expect(time.fields("a")).toEqual({ [other.holder]: "1" });
    await expect(leaseOf(next).unlock()).rejects.toThrow(NotHeldError);
    expect(time.fields("a")).toEqual({ [other.holder]: "1" });
    await other.unlock();
  });

  test("is not trusted for longer than Redis keeps it, when it can not be confirmed [R4]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const next = await queued(time);
    // The latest sign of life was answered some time before the lock was given.
    await time.clock.advance(PERIOD_MS + 700);
    await lease.unlock();
    await time.clock.advance(0);
    const given = leaseOf(next);
    expect(given.remainingMs()).toBeLessThan(time.ttlMs("a"));
    kill(next);
    while (time.ttlMs("a") > 100) {
      expect(given.remainingMs()).toBeLessThan(time.ttlMs("a"));
      await time.clock.advance(50);
    }
    await time.clock.advance(time.ttlMs("a") - 1);
    expect(given.state).toBe("lost");
    expect(given.signal.reason).toMatchObject({ reason: "unreachable" });
  });
});

describe("a lease of a fair lock that was given, and forgotten before that was confirmed", () => {
  /** Takes the lock from its holder's hands, keeps the signal and forgets the lease, in a frame of its own. */
  async function keepSignal(time: FakeTime): Promise<AbortSignal> {
    const lease = await time.holdfast.getFairLock("a").lock();
    const signal = time
      .connect()
      .holdfast.getFairLock("a")
      .lock()
      .then((given) => given.signal);
    await time.clock.advance(100);
    await lease.unlock();
    await time.clock.advance(0);
    return signal;
  }

  test("aborts the signal that was kept before its key falls", async () => {
    const time = open();
    const abandoned = recorded(events.leaseAbandoned);
    const signal = await keepSignal(time);
    await untilCollected(() => abandoned.length > 0);
    while (Object.keys(time.fields("a")).length > 0) await time.clock.advance(10);
    expect(signal.aborted).toBe(true);
  });
});
