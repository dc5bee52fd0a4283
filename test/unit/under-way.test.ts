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

const EXPIRED = new Error("its time is up");

class Sent extends Pending {
  readonly errors: Error[] = [];
  readonly expiresMs: number;
  readonly isAside: boolean;

  constructor(expiresMs: number, isAside = false) {
    super();
    this.expiresMs = expiresMs;
    this.isAside = isAside;
  }

  override expire(): void {
    this.giveUp(EXPIRED);
  }

  override giveUp(error: Error): void {
    this.errors.push(error);
    underWay.settled(this);
  }
}

/** A command that ends when it is told to. */
function command(boundMs = Number.POSITIVE_INFINITY) {
  const pending = new Sent(clock.monotonicMs() + boundMs);
  underWay.add(pending);
  return { errors: pending.errors, end: () => underWay.settled(pending) };
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

describe("a command whose time is up", () => {
  test("expires at that moment, in whatever order they were sent", async () => {
    const [long, short, middle] = [command(300), command(100.25), command(200)];
    const ended = () => [long, short, middle].map(({ errors }) => errors.length);
    await clock.advance(100);
    expect(ended()).toEqual([0, 0, 0]);
    await clock.advance(0.25);
    expect(ended()).toEqual([0, 1, 0]);
    await clock.advance(99.75);
    expect(ended()).toEqual([0, 1, 1]);
    await clock.advance(100);
    expect(ended()).toEqual([1, 1, 1]);
    expect(short.errors).toEqual([EXPIRED]);
  });

  test("expires when it was sent after the alarm of an earlier one was set, or has rung for nothing", async () => {
    command(100).end();
    await clock.advance(50);
    const later = command(100);
    await clock.advance(50);
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(49);
    expect(later.errors).toEqual([]);
    await clock.advance(1);
    expect(later.errors).toEqual([EXPIRED]);
  });

  test("has no timer of its own", async () => {
    for (let i = 0; i < 100; i += 1) {
      command(1_000).end();
      await clock.advance(1);
    }
    expect(clock.timersArmed).toBe(1);
    expect(clock.timersKeepingAlive).toBe(0);
    await clock.advance(1_000);
  });

  test("does not expire when another one that expires has ended it", async () => {
    const first = command(100);
    const second = command(100);
    first.errors.push = () => {
      second.end();
      return 1;
    };
    await clock.advance(100);
    expect(second.errors).toEqual([]);
  });

  test("does not expire once all has been stopped", async () => {
    const { errors } = command(100);
    underWay.stop();
    expect(clock.pendingTimers).toBe(0);
    await clock.advance(100);
    expect(errors).toEqual([expect.any(ClientClosedError)]);
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

describe("commands whose time is up together", () => {
  test("are all given up, also when what one of them tells its caller throws", async () => {
    const failure = new Error("told badly");
    class Throwing extends Sent {
      override expire(): void {
        super.expire();
        throw failure;
      }
    }
    underWay.add(new Throwing(clock.monotonicMs() + 100));
    const other = command(100);
    await expect(clock.advance(100)).rejects.toBe(failure);
    await clock.advance(1);
    expect(other.errors).toEqual([EXPIRED]);
  });
});
