import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ClientClosedError, UnavailableError } from "../../src/errors.js";
import type { CountDownLatch } from "../../src/index.js";
import { answerLate, deliverLate, neverDeliver } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { type Watched, watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

const HOUR_MS = 3_600_000;
const COMMAND_MS = 3_000;
const CHANNEL = "redisson_countdownlatch__channel__{l}";
const OPEN = { value: true };

/** Of each test: a latch of 1, and a client that only messages make ask again. */
let time: FakeTime;
let latch: CountDownLatch;
beforeEach(async () => {
  time = open({ safetyPeriodMs: HOUR_MS });
  latch = time.holdfast.getCountDownLatch("l");
  await latch.getCount();
  time.server.command("SET", "l", 1);
  time.driver.calls.length = 0;
});
afterEach(() => {
  time.server.command("DEL", "l");
});

function waiters(count: number, options = {}): Watched<boolean>[] {
  return Array.from({ length: count }, () => watched(latch.await(options)));
}

/** What those brought that have ended, each once. */
function outcomes(calls: readonly Watched<boolean>[]): unknown[] {
  return [...new Set(calls.map(({ outcome }) => JSON.stringify(outcome)))].map((text) =>
    text === undefined ? undefined : JSON.parse(text),
  );
}

/** A JVM counts down to nothing, and its message arrives. */
async function openedByJvm(message = "0"): Promise<void> {
  time.server.command("DEL", "l");
  time.server.command("PUBLISH", CHANNEL, message);
  await time.clock.advance(0);
}

function newlySent(): number {
  return time.driver.calls.splice(0).length;
}

describe("waiters of a latch", () => {
  test("all enter with one countdown, and cost Redis no more than one of them [B25]", async () => {
    const calls = waiters(50);
    await time.clock.advance(60_000);
    expect(outcomes(calls)).toEqual([undefined]);
    expect([newlySent(), time.driver.channels.asked]).toEqual([2, [CHANNEL]]);
    await openedByJvm();
    expect(outcomes(calls)).toEqual([OPEN]);
    expect(newlySent()).toBeLessThanOrEqual(1);
  });

  test("that come to an open latch ask once and listen to nothing", async () => {
    time.server.command("DEL", "l");
    expect(await latch.await()).toBe(true);
    expect([newlySent(), time.driver.channels.asked]).toEqual([1, []]);
  });

  test("all enter when a JVM deletes the latch, though its message says that it is closed [wire-L17]", async () => {
    const calls = waiters(5);
    await time.clock.advance(0);
    await openedByJvm("1");
    expect(outcomes(calls)).toEqual([OPEN]);
  });

  test("see a countdown between their question and their listening [wire-L17]", async () => {
    const subscribe = time.driver.channels.hold();
    const calls = waiters(5);
    await time.clock.advance(10);
    await openedByJvm();
    expect(outcomes(calls)).toEqual([undefined]);
    subscribe();
    await time.clock.advance(0);
    expect(outcomes(calls)).toEqual([OPEN]);
  });

  test("see a countdown that came while their subscriber was away [wire-L17]", async () => {
    const calls = waiters(5);
    await time.clock.advance(0);
    time.driver.channels.mute(true);
    await openedByJvm();
    time.driver.channels.mute(false);
    time.driver.channels.reconnect();
    await time.clock.advance(0);
    expect(outcomes(calls)).toEqual([OPEN]);
  });

  test("see a countdown whose message was lost within the safety period [wire-L13]", async () => {
    const { holdfast, driver } = time.connect({ safetyPeriodMs: 4_000 });
    const calls = Array.from({ length: 5 }, () => watched(holdfast.getCountDownLatch("l").await()));
    await time.clock.advance(0);
    driver.channels.mute(true);
    await openedByJvm();
    await time.clock.advance(3_199);
    expect(outcomes(calls)).toEqual([undefined]);
    await time.clock.advance(801);
    expect(outcomes(calls)).toEqual([OPEN]);
  });

  test("see that the key of the latch has fallen by its TTL, within the safety period [wire-L13]", async () => {
    time.server.command("PEXPIRE", "l", 10_000);
    const { holdfast } = time.connect({ safetyPeriodMs: 4_000 });
    const waiting = watched(holdfast.getCountDownLatch("l").await());
    await time.clock.advance(9_999);
    expect(waiting.outcome).toBeUndefined();
    await time.clock.advance(4_001);
    expect(waiting.outcome).toEqual(OPEN);
  });

  test("listen again when a subscription has failed [B8]", async () => {
    time.driver.channels.failNext(new Error("no more channels"));
    const calls = waiters(3);
    await time.clock.advance(1_000);
    expect(time.driver.channels.asked).toEqual([CHANNEL, CHANNEL]);
    await openedByJvm();
    expect(outcomes(calls)).toEqual([OPEN]);
  });

  test("go on waiting when there is more to count", async () => {
    time.server.command("SET", "l", 3);
    const calls = waiters(3);
    await time.clock.advance(0);
    time.server.command("DECR", "l");
    time.server.command("PUBLISH", CHANNEL, "1");
    await time.clock.advance(0);
    expect(outcomes(calls)).toEqual([undefined]);
    await openedByJvm();
    expect(outcomes(calls)).toEqual([OPEN]);
  });

  test("who come when others are waiting already enter with them", async () => {
    const first = waiters(3);
    await time.clock.advance(1_000);
    const later = waiters(3);
    await openedByJvm();
    expect(outcomes([...first, ...later])).toEqual([OPEN]);
  });

  test("who come while those before them are asking enter as soon as the answer is there", async () => {
    const first = waiters(3);
    await time.clock.advance(1_000);
    const late = answerLate();
    void time.driver.next(late);
    await openedByJvm();
    const later = waiters(3);
    await time.clock.advance(0);
    late.arrive();
    await time.clock.advance(100);
    expect(outcomes([...first, ...later])).toEqual([OPEN]);
  });

  test("ask themselves when the one who asks for them is cancelled [wire-L9]", async () => {
    const leaving = new AbortController();
    const first = watched(latch.await({ signal: leaving.signal }));
    const others = waiters(3);
    await time.clock.advance(0);
    void time.driver.next(neverDeliver);
    await openedByJvm();
    leaving.abort("gone");
    await time.clock.advance(100);
    expect(first.outcome).toEqual({ error: "gone" });
    expect(outcomes(others)).toEqual([OPEN]);
  });

  test("hear at once that Redis can not be asked", async () => {
    const calls = waiters(3);
    await time.clock.advance(0);
    void time.driver.next(neverDeliver);
    time.server.command("PUBLISH", CHANNEL, "1");
    await time.clock.advance(COMMAND_MS + 100);
    for (const { outcome } of calls) expect(outcome).toEqual({ error: expect.any(UnavailableError) });
  });
});

describe("a wait for a latch", () => {
  test("of 5 s ends at 5 s, however often the count was asked for meanwhile [B43]", async () => {
    const waiting = watched(latch.await({ waitMs: 5_000 }));
    for (let i = 0; i < 49; i++) {
      await time.clock.advance(100);
      time.server.command("PUBLISH", CHANNEL, "1");
    }
    await time.clock.advance(99);
    expect(waiting.outcome).toBeUndefined();
    await time.clock.advance(1);
    expect(waiting.outcome).toEqual({ value: false });
  });

  test("of one whose time is up first does not keep others from entering", async () => {
    const first = watched(latch.await({ waitMs: 1_000 }));
    const others = waiters(3);
    await time.clock.advance(60_000);
    expect(first.outcome).toEqual({ value: false });
    await openedByJvm();
    expect(outcomes(others)).toEqual([OPEN]);
  });

  test("that is cancelled rejects with the signal's own reason, at once, and leaves nothing", async () => {
    const leaving = new AbortController();
    const waiting = watched(latch.await({ signal: leaving.signal }));
    const others = waiters(2);
    await time.clock.advance(0);
    leaving.abort("gone");
    await new Promise(setImmediate);
    expect(waiting.outcome).toEqual({ error: "gone" });
    expect(getEventListeners(leaving.signal, "abort")).toEqual([]);
    await openedByJvm();
    expect(outcomes(others)).toEqual([OPEN]);
    await time.clock.advance(12_000);
    expect([time.server.command("PUBLISH", CHANNEL, "1"), time.clock.pendingTimers]).toEqual([0, 0]);
  });

  test("that was cancelled before it began sends nothing", async () => {
    await expect(latch.await({ signal: AbortSignal.abort("too late") })).rejects.toBe("too late");
    expect(newlySent()).toBe(0);
  });

  test("whose time is up leaves nothing", async () => {
    const staying = new AbortController();
    const waiting = watched(latch.await({ waitMs: 50, signal: staying.signal }));
    await time.clock.advance(50);
    expect(waiting.outcome).toEqual({ value: false });
    expect(getEventListeners(staying.signal, "abort")).toEqual([]);
    await time.clock.advance(12_000);
    expect([time.server.command("PUBLISH", CHANNEL, "1"), time.clock.pendingTimers]).toEqual([0, 0]);
    expect(Object.keys(time.server.dump())).toEqual(["l"]);
  });

  test("without time asks once and listens to nothing", async () => {
    expect(await latch.await({ waitMs: 0 })).toBe(false);
    expect([newlySent(), time.driver.channels.asked]).toEqual([1, []]);
  });

  test("ends with ClientClosedError when its client is closed, as does every call from then on", async () => {
    const waiting = [watched(latch.await()), watched(latch.await({ waitMs: 60_000 }))];
    await time.clock.advance(0);
    await time.holdfast.close();
    for (const { outcome } of waiting) expect(outcome).toEqual({ error: expect.any(ClientClosedError) });
    newlySent();
    for (const call of [
      () => latch.await(),
      () => latch.trySetCount(1),
      () => latch.countDown(),
      () => latch.getCount(),
      () => latch.delete(),
    ]) {
      await expect(call()).rejects.toBeInstanceOf(ClientClosedError);
    }
    expect(newlySent()).toBe(0);
  });
});

describe("a copy of a call about a latch", () => {
  test.each<[string, (own: CountDownLatch) => Promise<unknown>]>([
    ["countDown", (own) => own.countDown()],
    ["delete", (own) => own.delete()],
  ])(
    "changes nothing once its repeat has been answered, and others have called since: %s [R9]",
    async (_, call) => {
      time.server.command("SET", "l", 5);
      const copy = deliverLate({ told: true });
      void time.driver.next(copy);
      const called = watched(call(latch));
      await time.clock.advance(100);
      expect(called.outcome).toHaveProperty("value");
      await latch.countDown();
      await latch.countDown();
      time.server.command("SET", "l", 7);
      await copy.arrive();
      await time.clock.advance(COMMAND_MS);
      expect(time.server.command("GET", "l")).toBe("7");
    },
  );

  test("sets no count after it was counted down: trySetCount [R9]", async () => {
    time.server.command("DEL", "l");
    const copy = deliverLate({ told: true });
    void time.driver.next(copy);
    const called = watched(latch.trySetCount(1));
    await time.clock.advance(100);
    expect(called.outcome).toEqual({ value: true });
    await latch.countDown();
    await copy.arrive();
    expect(time.server.command("GET", "l")).toBeNull();
  });

  test("changes nothing after its deadline: countDown goes on behind the scenes and counts once", async () => {
    time.server.command("SET", "l", 5);
    const copy = deliverLate();
    void time.driver.next(copy);
    const called = watched(latch.countDown());
    await time.clock.advance(2 * COMMAND_MS + 100);
    expect(called.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_UNAVAILABLE" } });
    expect(time.server.command("GET", "l")).toBe("4");
    await copy.arrive();
    expect(time.server.command("GET", "l")).toBe("4");
  });
});
