import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { HoldfastError } from "../../src/errors.js";
import type { Semaphore } from "../../src/index.js";
import {
  answerLate,
  deliverLate,
  deliverTwice,
  type LateDelivery,
  loseReply,
  neverDeliver,
  rejectAtOnce,
  swallowReply,
} from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { type FakeTime, type FakeTimeClient, fakeTime } from "../support/worlds/fake-time.js";
import { available, PERMITS_CHANNEL, setAvailable } from "../support/worlds/permits.js";

watchLeaks();
const open = fakeTime();

const COMMAND_MS = 3_000;
const HOUR_MS = 3_600_000;

let time: FakeTime;
let semaphore: Semaphore;
let heard: string[];
beforeEach(async () => {
  time = open({ safetyPeriodMs: HOUR_MS });
  semaphore = time.holdfast.getSemaphore("s");
  await time.holdfast.getSemaphore("acquaintance").availablePermits();
  heard = [];
  time.server.subscribe(PERMITS_CHANNEL, (message) => heard.push(message));
});
afterEach(() => {
  time.server.command("DEL", "s");
});

/** The next call is held up on its way, whether its caller is told so or not. */
function heldUp({ driver }: FakeTimeClient, told: boolean): LateDelivery {
  const copy = deliverLate({ told });
  void driver.next(copy);
  return copy;
}

describe("a client that is closed while it asks", () => {
  test.each([
    ["comes meanwhile", answerLate, true],
    ["never comes", () => ({ ...swallowReply, arrive: () => undefined }), true],
    ["was not to come: the command is lost", () => ({ ...neverDeliver, arrive: () => undefined }), false],
  ])("gives back what its command has taken, whose answer %s", async (_, fault, arrives) => {
    setAvailable(time, 10);
    const other = time.connect();
    await other.holdfast.getSemaphore("acquaintance").availablePermits();
    const late = fault();
    void other.driver.next(late, "semaphore-acquire");
    const called = watched(other.holdfast.getSemaphore("s").acquire(2));
    await time.clock.advance(100);
    expect(available(time)).toBe(arrives ? "8" : "10");
    const closing = other.holdfast.close();
    await time.clock.advance(100);
    late.arrive();
    await time.clock.advance(10_000);
    await closing;
    expect(called.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_CLOSED" } });
    expect(available(time)).toBe("10");
  });

  test("finishes a release that has not arrived yet", async () => {
    setAvailable(time, 8);
    const other = time.connect();
    await other.holdfast.getSemaphore("acquaintance").availablePermits();
    void other.driver.next(rejectAtOnce, "semaphore-add");
    const called = watched(other.holdfast.getSemaphore("s").release(2));
    const closing = other.holdfast.close();
    await time.clock.advance(10_000);
    await closing;
    expect([called.outcome, available(time)]).toEqual([{ value: undefined }, "10"]);
  });
});

describe("a call whose command is never answered", () => {
  test.each<[string, (own: Semaphore, signal: AbortSignal) => Promise<unknown>]>([
    ["acquire", (own, signal) => own.acquire(2, { signal })],
    ["tryAcquire", (own, signal) => own.tryAcquire(2, { signal })],
    ["tryAcquire with a wait", (own, signal) => own.tryAcquire(2, { signal, waitMs: HOUR_MS })],
    ["using", (own, signal) => own.using(2, { signal }, () => "never")],
  ])("gives back once what it has taken when it is cancelled: %s", async (_, call) => {
    setAvailable(time, 5);
    const leaving = new AbortController();
    void time.driver.next(swallowReply);
    const cancelled = watched(call(semaphore, leaving.signal));
    await time.clock.advance(10);
    expect(available(time)).toBe("3");
    leaving.abort("gone");
    await new Promise(setImmediate);
    expect(cancelled.outcome).toEqual({ error: "gone" });
    await time.clock.advance(2 * COMMAND_MS);
    expect([available(time), heard]).toEqual(["5", ["5"]]);
  });

  test.each([loseReply, deliverTwice, rejectAtOnce])(
    "gives back once what it has taken though the call that does so meets the fault: $name",
    async (fault) => {
      setAvailable(time, 5);
      const leaving = new AbortController();
      void time.driver.next(swallowReply);
      const cancelled = watched(semaphore.acquire(2, { signal: leaving.signal }));
      await time.clock.advance(10);
      void time.driver.next(fault, "semaphore-cancel");
      leaving.abort("gone");
      await time.clock.advance(2 * COMMAND_MS);
      expect(time.driver.calls.map((call) => call.fault)).toContain(fault.name);
      expect([cancelled.outcome, available(time), heard]).toEqual([{ error: "gone" }, "5", ["5"]]);
    },
  );

  test("gives nothing back when it is cancelled and was refused [wire-S10]", async () => {
    setAvailable(time, 1);
    const leaving = new AbortController();
    void time.driver.next(swallowReply);
    const cancelled = watched(semaphore.acquire(2, { signal: leaving.signal }));
    await time.clock.advance(10);
    leaving.abort("gone");
    await time.clock.advance(2 * COMMAND_MS);
    expect([cancelled.outcome, available(time), heard]).toEqual([{ error: "gone" }, "1", []]);
  });

  test.each([
    ["for ever", {}],
    ["for less", { waitMs: 30 }],
  ])("gives back what it has taken when it would have waited %s", async (_, options) => {
    setAvailable(time, 5);
    void time.driver.next(swallowReply);
    const failed = watched(semaphore.acquire(2, options));
    await time.clock.advance(2 * COMMAND_MS);
    expect(failed.outcome).toEqual({ error: expect.any(HoldfastError) });
    expect([available(time), heard]).toEqual(["5", ["5"]]);
  });
});

describe("giving permits back behind the scenes", () => {
  test("wakes those who wait", async () => {
    setAvailable(time, 2);
    const leaving = new AbortController();
    const other = time.connect();
    await other.holdfast.getSemaphore("acquaintance").availablePermits();
    const answer = heldUp(other, false);
    const taker = watched(other.holdfast.getSemaphore("s").acquire(2, { signal: leaving.signal }));
    await time.clock.advance(10);
    void answer.arrive();
    leaving.abort("gone");
    const waiting = watched(semaphore.acquire(2));
    await time.clock.advance(100);
    expect([taker.outcome, waiting.outcome]).toEqual([{ error: "gone" }, { value: undefined }]);
    expect(available(time)).toBe("0");
  });

  test("goes on until it is done, while Redis can not be reached", async () => {
    setAvailable(time, 2);
    const leaving = new AbortController();
    const answer = heldUp(time, false);
    const taker = watched(semaphore.acquire(2, { signal: leaving.signal }));
    await time.clock.advance(10);
    const lost = Array.from({ length: 4 }, () => heldUp(time, true));
    leaving.abort("gone");
    void answer.arrive();
    await time.clock.advance(100);
    expect([taker.outcome, available(time)]).toEqual([{ error: "gone" }, "0"]);
    await time.clock.advance(COMMAND_MS);
    expect(available(time)).toBe("2");
    for (const copy of lost) await copy.arrive();
    expect([available(time), heard]).toEqual(["2", ["2"]]);
  });
});
