import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ClientClosedError, WaitTimeoutError } from "../../src/errors.js";
import type { Semaphore } from "../../src/index.js";
import { answerLate, neverDeliver, rejectAtOnce } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { type Watched, watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";
import {
  available,
  givenByJvm,
  PERMITS_CHANNEL,
  permitListeners,
  SAVER_KEY,
  setAvailable,
} from "../support/worlds/permits.js";

watchLeaks();
const open = fakeTime();

const HOUR_MS = 60 * 60 * 1_000;
const ENTERED = { value: undefined };

/** Of each test: a semaphore of which nothing is left, and a client that only messages make ask again. */
let time: FakeTime;
let semaphore: Semaphore;
beforeEach(() => {
  time = open({ safetyPeriodMs: HOUR_MS });
  setAvailable(time, 0);
  semaphore = time.holdfast.getSemaphore("s");
});
afterEach(() => {
  time.server.command("DEL", "s");
});

/** Whose turn has come. */
function entered(calls: readonly Watched<unknown>[]): number[] {
  return calls.flatMap(({ outcome }, at) => (outcome === undefined ? [] : [at]));
}

describe("a wake-up that is not used", () => {
  test("because its waiter gave up before, is the next one's", async () => {
    const first = watched(semaphore.tryAcquire({ waitMs: 1_000 }));
    const second = watched(semaphore.acquire());
    await time.clock.advance(1_000);
    expect(first.outcome).toEqual({ value: false });
    // Longer than a channel without listeners is kept.
    await time.clock.advance(60_000);
    await givenByJvm(time, 1);
    expect(second.outcome).toEqual(ENTERED);
  });

  test("because it came together with the end of the wait, is passed on [wire-L9]", async () => {
    await time.clock.advance(0);
    time.clock.schedule(1_000, () => void givenByJvm(time, 1));
    const first = watched(semaphore.tryAcquire({ waitMs: 1_000 }));
    const second = watched(semaphore.acquire());
    await time.clock.advance(1_000);
    const outcomes = [first.outcome, second.outcome];
    expect(outcomes).toEqual([{ value: false }, ENTERED]);
  });

  test.each([
    ["is answered late", answerLate],
    ["gets lost", () => ({ ...rejectAtOnce, arrive: () => undefined })],
    ["gets lost without a word", () => ({ ...neverDeliver, arrive: () => undefined })],
  ])("because the attempt that it caused %s and is cancelled, is passed on [wire-L9]", async (_, fault) => {
    const leaving = new AbortController();
    const first = watched(semaphore.acquire({ signal: leaving.signal }));
    const second = watched(semaphore.acquire());
    await time.clock.advance(0);
    const late = fault();
    const met = time.driver.next(late, ({ script }) => script.name === "semaphore-acquire");
    await givenByJvm(time, 1);
    await met;
    leaving.abort("gone");
    await time.clock.advance(0);
    expect(first.outcome).toEqual({ error: "gone" });
    late.arrive();
    await time.clock.advance(100);
    expect(second.outcome).toEqual(ENTERED);
    expect(available(time)).toBe("0");
  });

  test("because all of those who wanted so few are gone, is for those who want more", async () => {
    const leaving = new AbortController();
    const small = watched(semaphore.acquire({ signal: leaving.signal }));
    const big = watched(semaphore.acquire(2));
    await time.clock.advance(0);
    leaving.abort("gone");
    await givenByJvm(time, 2);
    expect([small.outcome, big.outcome]).toEqual([{ error: "gone" }, ENTERED]);
  });

  test("goes to all clients that wait, and the permits to as many as they suffice for", async () => {
    const clients = [1, 2, 3].map(() => time.connect({ safetyPeriodMs: HOUR_MS }).holdfast.getSemaphore("s"));
    const waiting = clients.map((own) => watched(own.acquire()));
    await time.clock.advance(0);
    await givenByJvm(time, 2);
    expect(entered(waiting)).toHaveLength(2);
    await givenByJvm(time, 1);
    expect(entered(waiting)).toHaveLength(3);
  });
});

describe("a wait that is given up", () => {
  test("rejects with the signal's own reason, at once, and leaves nothing", async () => {
    const reason = { why: "not an Error, and still the reason" };
    for (const call of [
      (signal: AbortSignal) => semaphore.acquire({ signal }),
      (signal: AbortSignal) => semaphore.acquire(2, { signal, waitMs: 5_000 }),
      (signal: AbortSignal) => semaphore.tryAcquire({ signal, waitMs: 5_000 }),
      (signal: AbortSignal) => semaphore.using({ signal }, () => undefined),
    ]) {
      const leaving = new AbortController();
      const waiting = watched<unknown>(call(leaving.signal));
      await time.clock.advance(10);
      expect(waiting.outcome).toBeUndefined();
      leaving.abort(reason);
      await new Promise(setImmediate);
      expect(waiting.outcome).toEqual({ error: reason });
      expect(getEventListeners(leaving.signal, "abort")).toEqual([]);
    }
    await time.clock.advance(12_000);
    expect({ listeners: permitListeners(time), timers: time.clock.pendingTimers }).toEqual({
      listeners: 0,
      timers: 0,
    });
    expect(Object.keys(time.server.dump()).filter((key) => !key.startsWith("holdfast_req:"))).toEqual(["s"]);
  });

  test("sends nothing when the signal was aborted before", async () => {
    const signal = AbortSignal.abort("too late");
    await expect(semaphore.acquire({ signal })).rejects.toBe("too late");
    await expect(semaphore.tryAcquire({ signal })).rejects.toBe("too late");
    await expect(semaphore.using({ signal }, () => undefined)).rejects.toBe("too late");
    expect(time.driver.names).toEqual([]);
  });

  test("ends all asking: permits that come later stay [wire-L22]", async () => {
    const { holdfast, driver } = time.connect({ safetyPeriodMs: 4_000 });
    const leaving = new AbortController();
    const waiting = watched(holdfast.getSemaphore("s").acquire(2, { signal: leaving.signal }));
    await time.clock.advance(0);
    leaving.abort("changed my mind");
    await time.clock.advance(0);
    driver.calls.length = 0;
    await givenByJvm(time, 2);
    await time.clock.advance(60_000);
    expect(waiting.outcome).toEqual({ error: "changed my mind" });
    expect(driver.names).toEqual([]);
    expect(available(time)).toBe("2");
  });

  test("together with all that wait for the same, has none of them ask in the place of the first, which asks just now", async () => {
    const leaving = new AbortController();
    const calls = [1, 2, 3].map(() => watched(semaphore.acquire({ signal: leaving.signal })));
    await time.clock.advance(0);
    const late = answerLate();
    const met = time.driver.next(late, "semaphore-acquire");
    time.server.command("PUBLISH", PERMITS_CHANNEL, "1");
    await met;
    time.driver.calls.length = 0;
    leaving.abort("gone");
    await time.clock.advance(0);
    for (const { outcome } of calls) expect(outcome).toEqual({ error: "gone" });
    late.arrive();
    await time.clock.advance(10);
    expect(time.driver.names).toEqual([]);
  });

  test("while it asks is over in the background as soon as that fails: closing waits for nothing more", async () => {
    void time.driver.next(neverDeliver, "semaphore-acquire");
    const leaving = new AbortController();
    const call = watched(semaphore.acquire({ signal: leaving.signal }));
    await time.clock.advance(0);
    leaving.abort("gone");
    await time.clock.advance(10_000);
    expect(call.outcome).toEqual({ error: "gone" });
    const closed = watched(time.holdfast.close());
    await time.clock.advance(10);
    expect(closed.outcome).toEqual({ value: undefined });
  });

  test("in the moments after it was answered has its permits, or gives them back", async () => {
    for (let microtasks = 0; microtasks <= 12; microtasks += 1) {
      setAvailable(time, 1);
      const late = answerLate();
      const met = time.driver.next(late, "semaphore-acquire");
      const leaving = new AbortController();
      const call = watched(semaphore.acquire({ signal: leaving.signal }));
      await met;
      await time.clock.advance(0);
      late.arrive();
      for (let i = 0; i < microtasks; i += 1) await undefined;
      leaving.abort("gone");
      await time.clock.advance(100);
      const hasThem = call.outcome !== undefined && "value" in call.outcome;
      expect({ microtasks, outcome: call.outcome, left: available(time) }).toEqual({
        microtasks,
        outcome: hasThem ? ENTERED : { error: "gone" },
        left: hasThem ? "0" : "1",
      });
    }
  });

  test("leaves nothing when its time is up, but the listener and the timers in it are gone", async () => {
    const staying = new AbortController();
    const waiting = watched(semaphore.acquire(3, { waitMs: 50, signal: staying.signal }));
    await time.clock.advance(50);
    expect(waiting.outcome).toEqual({ error: expect.any(WaitTimeoutError) });
    expect(getEventListeners(staying.signal, "abort")).toEqual([]);
    await time.clock.advance(12_000);
    expect(time.clock.pendingTimers).toBe(0);
  });

  test("while it asks once more has no permits saved up for it, which others may have at once", async () => {
    setAvailable(time, 1);
    const leaving = new AbortController();
    const two = watched(semaphore.acquire(2, { signal: leaving.signal }));
    await time.clock.advance(0);
    const late = answerLate();
    const met = time.driver.next(late, "semaphore-acquire");
    await time.clock.advance(1_500);
    await met;
    expect(time.server.command("GET", SAVER_KEY)).toMatch(/:2:\d+$/);
    leaving.abort("gone");
    await time.clock.advance(0);
    expect(two.outcome).toEqual({ error: "gone" });
    late.arrive();
    await time.clock.advance(10);
    expect(time.server.command("GET", SAVER_KEY)).toMatch(/^-:0:/);
    expect(await time.connect().holdfast.getSemaphore("s").tryAcquire()).toBe(true);
  });

  test("by closing the client ends with ClientClosedError, whatever it waits for", async () => {
    const calls = [
      semaphore.acquire(),
      semaphore.acquire(3),
      semaphore.tryAcquire({ waitMs: 60_000 }),
      semaphore.using(2, () => "never"),
    ];
    const waiting = calls.map((call) => watched<unknown>(call));
    await time.clock.advance(1_500);
    await time.holdfast.close();
    for (const { outcome } of waiting) expect(outcome).toEqual({ error: expect.any(ClientClosedError) });
    time.driver.calls.length = 0;
    for (const call of [
      () => semaphore.acquire(),
      () => semaphore.acquire(0),
      () => semaphore.tryAcquire(),
      () => semaphore.using(() => "never"),
      () => semaphore.trySetPermits(1),
      () => semaphore.release(),
      () => semaphore.releaseIfExists(),
      () => semaphore.addPermits(1),
      () => semaphore.drainPermits(),
      () => semaphore.availablePermits(),
      () => semaphore.delete(),
    ])
      await expect(call()).rejects.toBeInstanceOf(ClientClosedError);
    expect(time.driver.names).toEqual([]);
  });
});
