import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { UnavailableError } from "../../src/errors.js";
import type { Semaphore } from "../../src/index.js";
import { neverDeliver } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { type Watched, watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";
import {
  asked,
  available,
  givenByJvm,
  PERMITS_CHANNEL,
  permitListeners,
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

/** Calls that wait for so many permits each, in this order. */
function waiters(...permits: readonly number[]): Watched<void>[] {
  return permits.map((wanted) => watched(semaphore.acquire(wanted)));
}

/** Whose turn has come. */
function entered(calls: readonly Watched<unknown>[]): number[] {
  return calls.flatMap(({ outcome }, at) => (outcome === undefined ? [] : [at]));
}

/** What was asked since the last look. */
function newlyAsked(): number {
  const times = asked(time.driver);
  time.driver.calls.length = 0;
  return times;
}

describe("when a wait ends", () => {
  test("a wait of 5 s ends at 5 s, however often permits were asked for meanwhile [B43]", async () => {
    const [head, second] = [
      watched(semaphore.tryAcquire(1, { waitMs: 5_000 })),
      watched(semaphore.acquire({ waitMs: 5_000 })),
    ];
    for (let i = 0; i < 49; i++) {
      await time.clock.advance(100);
      time.server.command("PUBLISH", PERMITS_CHANNEL, "1");
    }
    await time.clock.advance(99);
    expect(newlyAsked()).toBeGreaterThan(45);
    expect([head.outcome, second.outcome]).toEqual([undefined, undefined]);
    await time.clock.advance(1);
    expect(head.outcome).toEqual({ value: false });
    expect(second.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_WAIT_TIMEOUT", waitedMs: 5_000 } });
  });

  test("a lost message costs a waiter the safety period at most [wire-L13]", async () => {
    const { holdfast, driver } = time.connect({ safetyPeriodMs: 4_000 });
    const waiting = [1, 2].map(() => watched(holdfast.getSemaphore("s").acquire()));
    await time.clock.advance(0);
    driver.channels.mute(true);
    await givenByJvm(time, 2);
    await time.clock.advance(3_199);
    expect(entered(waiting)).toEqual([]);
    await time.clock.advance(801);
    expect(entered(waiting)).toEqual([0, 1]);
  });

  test("a waiter asks once for each safety period, and is not forgotten [wire-L13]", async () => {
    const { holdfast, driver } = time.connect({ safetyPeriodMs: 4_000 });
    const waiting = watched(holdfast.getSemaphore("s").acquire());
    await time.clock.advance(40_000);
    expect(asked(driver)).toBeGreaterThanOrEqual(10);
    expect(asked(driver)).toBeLessThanOrEqual(2 + 40_000 / 3_200);
    setAvailable(time, 1);
    await time.clock.advance(4_000);
    expect(waiting.outcome).toEqual(ENTERED);
  });

  test("a waiter outlives the semaphore that it came to, deleted or expired, and enters the next", async () => {
    const waiting = waiters(1, 2);
    await time.clock.advance(0);
    expect(await semaphore.delete()).toBe(true);
    await semaphore.trySetPermits(1, { ttlMs: 1_000 });
    await time.clock.advance(0);
    expect(entered(waiting)).toEqual([0]);
    await time.clock.advance(1_001);
    expect(available(time)).toBeNull();
    const other = time.connect().holdfast.getSemaphore("s");
    expect(await other.trySetPermits(2)).toBe(true);
    await time.clock.advance(0);
    expect(entered(waiting)).toEqual([0, 1]);
  });

  test("a subscription that failed is tried again soon, and is then as good as any [B8]", async () => {
    time.driver.channels.failNext(new Error("no more channels"));
    const waiting = waiters(1);
    await time.clock.advance(0);
    expect(time.driver.channels.asked).toEqual([PERMITS_CHANNEL]);
    await time.clock.advance(1_000);
    expect(time.driver.channels.asked).toEqual([PERMITS_CHANNEL, PERMITS_CHANNEL]);
    await givenByJvm(time, 1);
    expect(entered(waiting)).toEqual([0]);
  });

  test("a waiter asks again when the subscription stands, for it may have come too late [B6]", async () => {
    const subscribe = time.driver.channels.hold();
    const waiting = waiters(1, 1, 2);
    await time.clock.advance(10);
    await givenByJvm(time, 4);
    expect(entered(waiting)).toEqual([]);
    subscribe();
    await time.clock.advance(0);
    expect(entered(waiting)).toEqual([0, 1, 2]);
  });

  test("a waiter asks again when the subscriber has come back from a break [B6]", async () => {
    const waiting = waiters(1, 2);
    await time.clock.advance(0);
    time.driver.channels.mute(true);
    await givenByJvm(time, 3);
    expect(entered(waiting)).toEqual([]);
    time.driver.channels.mute(false);
    time.driver.channels.reconnect();
    await time.clock.advance(0);
    expect(entered(waiting)).toEqual([0, 1]);
  });

  test("all waiters of a server that fails hear of it at once", async () => {
    const waiting = waiters(1, 1, 2);
    await time.clock.advance(0);
    void time.driver.next(neverDeliver, () => asked(time.driver) > 0);
    void time.driver.next(neverDeliver, () => asked(time.driver) > 0);
    time.server.command("PUBLISH", PERMITS_CHANNEL, "1");
    await time.clock.advance(3_100);
    for (const { outcome } of waiting) expect(outcome).toEqual({ error: expect.any(UnavailableError) });
  });
});

describe("waiters of one client", () => {
  test("are served in the order in which they came", async () => {
    const served: number[] = [];
    const calls = Array.from({ length: 20 }, (_, i) => semaphore.using(() => served.push(i)));
    await time.clock.advance(0);
    await givenByJvm(time, 1);
    await Promise.all(calls);
    expect(served).toEqual(Array.from({ length: 20 }, (_, i) => i));
  });

  test("enter as many at once as the permits suffice for, with one command each [wire-L15]", async () => {
    const waiting = waiters(...Array.from({ length: 10 }, () => 1));
    await time.clock.advance(0);
    newlyAsked();
    await givenByJvm(time, 4);
    expect(entered(waiting)).toEqual([0, 1, 2, 3]);
    expect(newlyAsked()).toBe(4);
    await givenByJvm(time, 7);
    expect(entered(waiting)).toHaveLength(10);
    expect(newlyAsked()).toBe(6);
    expect(available(time)).toBe("1");
  });

  test("enter as many at once as the permits suffice for, also when they want several", async () => {
    const waiting = waiters(3, 3, 3);
    await time.clock.advance(0);
    newlyAsked();
    await givenByJvm(time, 8);
    expect(entered(waiting)).toEqual([0, 1]);
    expect(newlyAsked()).toBe(2);
    expect(available(time)).toBe("2");
  });

  test("that come when there are permits enough enter in their order, and ask once each", async () => {
    setAvailable(time, 5);
    const served: number[] = [];
    for (let i = 0; i < 5; i++) void semaphore.acquire().then(() => served.push(i));
    await time.clock.advance(0);
    expect(served).toEqual([0, 1, 2, 3, 4]);
    expect(newlyAsked()).toBe(5);
    expect(time.driver.channels.asked).toEqual([]);
  });

  test("that want less pass one that wants more than there is [wire-L14] [B28]", async () => {
    const waiting = waiters(2, 1, 3, 1);
    await time.clock.advance(0);
    await givenByJvm(time, 1);
    expect(entered(waiting)).toEqual([1]);
    await givenByJvm(time, 1);
    expect(entered(waiting)).toEqual([1, 3]);
    await givenByJvm(time, 2);
    expect(entered(waiting)).toEqual([0, 1, 3]);
    await givenByJvm(time, 3);
    expect(entered(waiting)).toEqual([0, 1, 2, 3]);
    expect(available(time)).toBe("0");
  });

  test("wait in vain for what is less than nothing, and hear of no such balance [wire-L16]", async () => {
    const waiting = waiters(1);
    await time.clock.advance(0);
    newlyAsked();
    await semaphore.addPermits(-3);
    await semaphore.release(3);
    await time.clock.advance(0);
    expect([entered(waiting), newlyAsked()]).toEqual([[], 0]);
    await semaphore.release();
    await time.clock.advance(0);
    expect(entered(waiting)).toEqual([0]);
  });

  test("cost Redis the attempts of one waiter, whatever their number [wire-L10]", async () => {
    const waiting = waiters(...Array.from({ length: 200 }, () => 1));
    await time.clock.advance(30_000);
    expect(newlyAsked()).toBe(2);
    // Others were faster: from now on the client stands in the queue, and listens there, too.
    time.server.command("PUBLISH", PERMITS_CHANNEL, "1");
    await time.clock.advance(0);
    expect(newlyAsked()).toBe(2);
    await givenByJvm(time, 1);
    expect([entered(waiting), newlyAsked()]).toEqual([[0], 1]);
    expect(time.driver.channels.asked).toEqual([
      PERMITS_CHANNEL,
      expect.stringMatching(/^redisson_sc:\{s\}:[-0-9a-f]{36}:1$/),
    ]);
  });

  test("stop listening ten seconds after the last of them has gone", async () => {
    const waiting = watched(semaphore.tryAcquire({ waitMs: 1_000 }));
    await time.clock.advance(1_000);
    expect(waiting.outcome).toEqual({ value: false });
    await time.clock.advance(9_000);
    expect(permitListeners(time)).toBe(1);
    await time.clock.advance(2_000);
    expect(permitListeners(time)).toBe(0);
  });
});

describe("tryAcquire without a wait", () => {
  test("asks once, listens to nothing and stands in no line [B44]", async () => {
    await semaphore.availablePermits();
    for (const options of [undefined, {}, { waitMs: 0 }]) {
      time.driver.calls.length = 0;
      expect(await semaphore.tryAcquire(2, options)).toBe(false);
      expect(time.driver.names).toEqual(["semaphore-acquire"]);
    }
    expect(time.driver.channels.asked).toEqual([]);
    const waiting = waiters(1);
    await time.clock.advance(0);
    time.driver.calls.length = 0;
    expect(await semaphore.tryAcquire()).toBe(false);
    expect(time.driver.names).toEqual(["semaphore-acquire"]);
    expect(entered(waiting)).toEqual([]);
  });

  test("may overtake those who wait, when there is a permit and they do not know yet", async () => {
    const waiting = waiters(1);
    await time.clock.advance(0);
    time.driver.channels.mute(true);
    await givenByJvm(time, 1);
    expect(await semaphore.tryAcquire()).toBe(true);
    expect(entered(waiting)).toEqual([]);
    time.driver.channels.mute(false);
    await semaphore.release();
    await time.clock.advance(0);
    expect(entered(waiting)).toEqual([0]);
  });
});
