import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { Waiter } from "../../src/runtime/waiter.js";
import { watched } from "../support/run/watched.js";
import { CountingClock } from "../support/worlds/counting-clock.js";

const value = { outcome: { value: undefined } };

describe("a waiter sleeps", () => {
  test("until it is woken, and then has no timer any more", async () => {
    const clock = new CountingClock();
    const waiter = new Waiter(clock, 1_000, undefined);
    const pause = watched(waiter.pause());
    await clock.advance(999);
    expect([pause.outcome, clock.pendingTimers]).toEqual([undefined, 1]);
    waiter.wake();
    await clock.advance(0);
    expect([pause, clock.pendingTimers]).toEqual([value, 0]);
  });

  test("for as long as it was told to, or until its time is up, whatever comes first", async () => {
    const clock = new CountingClock();
    const waiter = new Waiter(clock, 1_000, undefined);
    const short = waiter.pause(300).then(() => clock.elapsedMs);
    await clock.advance(500);
    expect(await short).toBe(300);
    const long = waiter.pause(5_000).then(() => clock.elapsedMs);
    await clock.advance(5_000);
    expect(await long).toBe(1_000);
    expect(waiter.over).toBe(true);
  });

  test("not at all when it was woken since it last slept, but only once for that", async () => {
    const clock = new CountingClock();
    const waiter = new Waiter(clock, undefined, undefined);
    waiter.wake();
    waiter.wake();
    await waiter.pause();
    const again = watched(waiter.pause());
    await clock.advance(1_000_000);
    expect(again.outcome).toBeUndefined();
    waiter.wake();
  });

  test("without a timer when nothing but a wake-up can end it", () => {
    const clock = new CountingClock();
    void new Waiter(clock, undefined, undefined).pause();
    expect(clock.timersArmed).toBe(0);
  });

  test("with a timer that keeps the process alive: somebody waits for it", () => {
    const clock = new CountingClock();
    void new Waiter(clock, 1_000, undefined).pause();
    expect(clock.timersKeepingAlive).toBe(1);
  });

  test("however often, without growing", async () => {
    const clock = new CountingClock();
    const { signal } = new AbortController();
    const waiter = new Waiter(clock, 1_000, signal);
    for (let i = 0; i < 1_000; i++) {
      const pause = waiter.pause(10);
      waiter.wake();
      await pause;
    }
    expect([clock.pendingTimers, getEventListeners(signal, "abort").length]).toEqual([0, 1]);
  });
});

describe("the time of a waiter", () => {
  test("is up after waitMs, which may be 0, and never without one", async () => {
    const clock = new CountingClock();
    const [none, some, endless] = [0, 10, undefined].map((waitMs) => new Waiter(clock, waitMs, undefined));
    expect([none?.over, some?.over, endless?.over]).toEqual([true, false, false]);
    await clock.advance(10);
    expect([some?.over, endless?.over, some?.waitedMs]).toEqual([true, false, 10]);
    await clock.advance(1_000_000);
    expect(endless?.over).toBe(false);
  });

  test("ends once it is up: a pause is over before it began", async () => {
    const clock = new CountingClock();
    const waiter = new Waiter(clock, 0, undefined);
    await waiter.pause();
    expect(clock.timersArmed).toBe(0);
  });
});

describe("a waiter is cancelled", () => {
  test("by its signal, with that one's reason, in the midst of a pause", async () => {
    const clock = new CountingClock();
    const controller = new AbortController();
    const waiter = new Waiter(clock, 1_000, controller.signal);
    const pause = waiter.pause();
    controller.abort("enough");
    await pause;
    expect([waiter.cancelled, waiter.over, waiter.reason, clock.pendingTimers]).toEqual([
      true,
      true,
      "enough",
      0,
    ]);
  });

  test("from the start by a signal that was aborted before", () => {
    const waiter = new Waiter(new CountingClock(), undefined, AbortSignal.abort("before"));
    expect([waiter.cancelled, waiter.reason]).toEqual([true, "before"]);
  });

  test("once: the first reason stays", () => {
    const waiter = new Waiter(new CountingClock(), undefined, undefined);
    waiter.cancel("first");
    waiter.cancel("second");
    expect(waiter.reason).toBe("first");
  });

  test("by nobody after its end: it has left its signal", () => {
    const controller = new AbortController();
    const waiter = new Waiter(new CountingClock(), undefined, controller.signal);
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
    waiter.dispose();
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
    controller.abort();
    expect(waiter.cancelled).toBe(false);
  });
});

describe("what a waiter waits for besides", () => {
  const waiterWith = () => new Waiter(new CountingClock(), undefined, undefined);

  test("is passed on, be it a value or an error", async () => {
    const error = new Error("refused");
    expect(await waiterWith().unlessCancelled(Promise.resolve("value"))).toBe("value");
    await expect(waiterWith().unlessCancelled(Promise.reject(error))).rejects.toBe(error);
  });

  test("is undefined once the waiter is cancelled, and a later failure is nobody's", async () => {
    const waiter = waiterWith();
    let fail = (_: Error): void => undefined;
    const slow = waiter.unlessCancelled(
      new Promise<string>((_, reject) => {
        fail = reject;
      }),
    );
    waiter.cancel("enough");
    expect(await slow).toBeUndefined();
    fail(new Error("too late"));
    await new Promise(setImmediate);
  });

  test("is undefined at once when the waiter was cancelled before", async () => {
    const waiter = waiterWith();
    waiter.cancel("enough");
    expect(await waiter.unlessCancelled(new Promise(() => undefined))).toBeUndefined();
  });

  test("does not hold the waiter up any more when it is there", async () => {
    const waiter = waiterWith();
    await waiter.unlessCancelled(Promise.resolve());
    expect(() => waiter.cancel("later")).not.toThrow();
    expect(waiter.reason).toBe("later");
  });
});

describe("what is not waited for any more", () => {
  test.each(["before", "meanwhile"])("may fail without being anybody's: cancelled %s", async (when) => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on("unhandledRejection", note);
    try {
      const waiter = new Waiter(new CountingClock(), undefined, undefined);
      if (when === "before") waiter.cancel(new Error("cancelled"));
      let fail = (_: Error): void => undefined;
      const brought = waiter.unlessCancelled(
        new Promise<never>((_, reject) => {
          fail = reject;
        }),
      );
      if (when === "meanwhile") waiter.cancel(new Error("cancelled"));
      expect(await brought).toBeUndefined();
      fail(new Error("too late"));
      // Node tells of it when all that is due has run.
      for (let turns = 0; turns < 3; turns++) await new Promise(setImmediate);
      expect(unhandled).toEqual([]);
    } finally {
      process.off("unhandledRejection", note);
    }
  });
});
