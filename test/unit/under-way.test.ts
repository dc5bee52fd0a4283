import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ClientClosedError } from "../../src/errors.js";
import { Pending, UnderWay } from "../../src/runtime/under-way.js";
import { collectAll } from "../support/run/garbage.js";
import { watched } from "../support/run/watched.js";
import { CountingClock } from "../support/worlds/counting-clock.js";

let clock: CountingClock;
let underWay: UnderWay;
beforeEach(() => {
  clock = new CountingClock();
  underWay = new UnderWay(clock);
});
afterEach(() => expect([underWay.busy, clock.pendingTimers]).toEqual([false, 0]));

/** A command that ends when it is told to. */
function command() {
  const errors: Error[] = [];
  class Sent extends Pending {
    override giveUp(error: Error): void {
      errors.push(error);
      underWay.settled(this);
    }
  }
  const pending = new Sent();
  underWay.add(pending);
  return { errors, end: () => underWay.settled(pending) };
}

describe("idle", () => {
  test("is told at once where nothing is under way", async () => {
    expect(underWay.busy).toBe(false);
    await underWay.idle();
  });

  test("is told when the last command and the last pause are over, not earlier", async () => {
    const [first, second] = [command(), command()];
    const pause = underWay.pause(100, {});
    const idle = watched(underWay.idle());
    first.end();
    await clock.advance(100);
    await pause;
    expect([underWay.busy, idle.outcome]).toEqual([true, undefined]);
    second.end();
    await clock.advance(0);
    expect([underWay.busy, idle.outcome]).toEqual([false, { value: undefined }]);
  });
});

describe("a pause", () => {
  test("lasts as long as it is to", async () => {
    const pause = watched(underWay.pause(100, {}));
    await clock.advance(99);
    expect([underWay.busy, pause.outcome]).toEqual([true, undefined]);
    await clock.advance(1);
    expect(pause.outcome).toEqual({ value: undefined });
  });

  test("keeps the process alive only where it is to", async () => {
    const pauses = [underWay.pause(1, {}), underWay.pause(1, { keepAlive: true })];
    expect(clock.timersKeepingAlive).toBe(1);
    await clock.advance(1);
    await Promise.all(pauses);
  });

  test("that is optional ends when there is no time left, and so do those to come; others go on", async () => {
    const [optional, other] = [underWay.pause(100, { optional: true }), watched(underWay.pause(100, {}))];
    underWay.hurry();
    // No time passes here.
    await optional;
    await underWay.pause(100, { optional: true });
    const late = watched(underWay.pause(100, {}));
    expect([other.outcome, late.outcome]).toEqual([undefined, undefined]);
    await clock.advance(100);
    expect([other.outcome, late.outcome]).toEqual([{ value: undefined }, { value: undefined }]);
  });

  test("that is over is kept by nobody", async () => {
    const ends: WeakRef<() => void>[] = [];
    const schedule = clock.schedule.bind(clock);
    clock.schedule = (ms, end) => {
      ends.push(new WeakRef(end));
      return schedule(ms, end);
    };
    const pauses = Array.from({ length: 10 }, () => underWay.pause(1, { optional: true }));
    await clock.advance(1);
    await Promise.all(pauses);
    await collectAll();
    expect(ends.map((end) => end.deref())).toEqual(Array(10).fill(undefined));
  });
});

describe("once stopped", () => {
  test("all that is under way has ended, and nothing new begins", async () => {
    const { errors } = command();
    const pauses = [underWay.pause(100, {}), underWay.pause(100, { optional: true })];
    const ended = pauses.map((pause) => expect(pause).rejects.toBeInstanceOf(ClientClosedError));
    const idle = underWay.idle();
    underWay.stop();
    await Promise.all([idle, ...ended]);
    expect(errors).toEqual([expect.any(ClientClosedError)]);
    expect(underWay.isStopped).toBe(true);
    await expect(underWay.pause(100, {})).rejects.toBeInstanceOf(ClientClosedError);
    underWay.hurry();
    await expect(underWay.pause(100, { optional: true })).rejects.toBeInstanceOf(ClientClosedError);
    underWay.stop();
  });
});
