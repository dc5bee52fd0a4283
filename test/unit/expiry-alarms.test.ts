import { describe, expect, test } from "vitest";
import { type Expiring, ExpiryAlarms } from "../../src/runtime/expiry-alarms.js";
import { HashedWheelTimer } from "../../src/runtime/hashed-wheel-timer.js";
import { CountingClock } from "../support/worlds/counting-clock.js";

/** Ends when either of the clocks has passed its end, and writes down when it noticed. */
class Ending implements Expiring {
  endedAtMs: number | undefined;
  looks = 0;
  #monotonicEndMs: number;
  #wallEndMs: number;

  constructor(
    private readonly clock: CountingClock,
    afterMs: number,
  ) {
    this.#monotonicEndMs = clock.monotonicMs() + afterMs;
    this.#wallEndMs = clock.wallMs() + afterMs;
  }

  move(byMs: number): void {
    this.#monotonicEndMs += byMs;
    this.#wallEndMs += byMs;
  }

  checkMs(): number {
    this.looks += 1;
    if (this.endedAtMs !== undefined) return 0;
    const leftMs = Math.min(
      this.#monotonicEndMs - this.clock.monotonicMs(),
      this.#wallEndMs - this.clock.wallMs(),
    );
    if (leftMs > 0) return leftMs;
    this.endedAtMs = this.clock.elapsedMs;
    return 0;
  }
}

function setUp() {
  const clock = new CountingClock();
  const alarms = new ExpiryAlarms(clock, new HashedWheelTimer(clock, 100));
  return { clock, alarms, ending: (afterMs: number) => new Ending(clock, afterMs) };
}

describe("an alarm", () => {
  test("makes its thing look at the clock exactly when its time is over, not a tick later", async () => {
    const { clock, alarms, ending } = setUp();
    const things = [3, 47.5, 99, 101, 2_000].map(ending);
    for (const thing of things) alarms.set(thing);
    await clock.advance(3_000);
    expect(things.map(({ endedAtMs }) => endedAtMs)).toEqual([3, 47.5, 99, 101, 2_000]);
  });

  test("costs nothing when the end moves: it is armed anew only when it has run out early", async () => {
    const { clock, alarms, ending } = setUp();
    const thing = ending(10_000);
    alarms.set(thing);
    const armed = clock.timersArmed;
    for (let i = 0; i < 1_000; i++) thing.move(10.25);
    expect(clock.timersArmed).toBe(armed);
    await clock.advance(30_000);
    expect(thing.endedAtMs).toBe(20_250);
  });

  test("is one, however often it is set", async () => {
    const { clock, alarms, ending } = setUp();
    const thing = ending(500);
    alarms.set(thing);
    const armed = clock.timersArmed;
    for (let i = 0; i < 10; i++) alarms.set(thing);
    expect(clock.timersArmed).toBe(armed);
  });

  test("is not set for what has ended already", () => {
    const { clock, alarms, ending } = setUp();
    alarms.set(ending(0));
    expect(clock.pendingTimers).toBe(0);
  });

  test("that is cancelled never rings, twice is harmless, and it leaves no timer", async () => {
    const { clock, alarms, ending } = setUp();
    const thing = ending(500);
    alarms.set(thing);
    alarms.cancel(thing);
    alarms.cancel(thing);
    const { looks } = thing;
    await clock.advance(5_000);
    expect([thing.looks, clock.pendingTimers]).toEqual([looks, 0]);
  });

  test("finds within a second or so what only the wall clock has passed [R11]", async () => {
    const { clock, alarms, ending } = setUp();
    const [passed, stays] = [ending(10_000), ending(100_000)];
    alarms.set(passed);
    alarms.set(stays);
    await clock.advance(5_000);
    clock.suspend(50_000);
    await clock.advance(1_100);
    expect(passed.endedAtMs).toBeLessThanOrEqual(6_100);
    expect(stays.endedAtMs).toBeUndefined();
    await clock.advance(100_000);
    expect(stays.endedAtMs).toBeLessThanOrEqual(clock.monotonicMs());
    expect(clock.pendingTimers).toBe(0);
  });

  test("of many things costs one beat for all of them together", async () => {
    const { clock, alarms, ending } = setUp();
    const things = Array.from({ length: 100 }, (_, i) => ending(60_000 + i));
    for (const thing of things) alarms.set(thing);
    const armed = clock.timersArmed;
    await clock.advance(10_500);
    // Ten beats.
    expect(clock.timersArmed - armed).toBeLessThanOrEqual(11);
    for (const thing of things) alarms.cancel(thing);
    await clock.advance(2_000);
    expect(clock.pendingTimers).toBe(0);
  });

  test("of a thing that cancels another in its own end does not ring for that", async () => {
    const { clock, alarms, ending } = setUp();
    const other = ending(100);
    const first: Expiring = {
      checkMs: () => {
        if (clock.elapsedMs < 50) return 50 - clock.elapsedMs;
        alarms.cancel(other);
        return 0;
      },
    };
    alarms.set(first);
    alarms.set(other);
    await clock.advance(1_000);
    expect(other.endedAtMs).toBeUndefined();
  });
});
