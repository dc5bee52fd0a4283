import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../src/memory/index.js";

describe("FakeClock", () => {
  it("starts at a present-day epoch, or where it is told to", () => {
    expect(new FakeClock().wallMs()).toBeGreaterThan(1_790_000_000_000);
    expect(new FakeClock({ epochMs: 1_000 }).wallMs()).toBe(1_000);
  });

  it("moves both clocks, and shows each timer the time at which it is due", async () => {
    const clock = new FakeClock();
    const startMs = { wall: clock.wallMs(), monotonic: clock.monotonicMs() };
    const seen: number[][] = [];
    const note = () => seen.push([clock.wallMs() - startMs.wall, clock.monotonicMs() - startMs.monotonic]);
    clock.schedule(100, note);
    clock.schedule(30, note);
    await clock.advance(99.5);
    expect(seen).toEqual([[30, 30]]);
    await clock.advance(0.5);
    expect(seen).toEqual([
      [30, 30],
      [100, 100],
    ]);
    note();
    expect(seen.at(-1)).toEqual([100, 100]);
  });

  it("fires timers by due time, then by the order in which they were scheduled", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 20 }), async (delaysMs) => {
        const clock = new FakeClock();
        const fired: number[] = [];
        delaysMs.forEach((delayMs, at) => void clock.schedule(delayMs, () => fired.push(at)));
        await clock.advance(5);
        const wanted = delaysMs.map((delayMs, at) => ({ delayMs, at })).sort((a, b) => a.delayMs - b.delayMs);
        expect(fired).toEqual(wanted.map(({ at }) => at));
      }),
      { numRuns: 50 },
    );
  });

  it("fires a timer of delay 0 by itself, in a later turn, in order, without moving", async () => {
    const clock = new FakeClock();
    const startMs = clock.monotonicMs();
    const fired: string[] = [];
    const last = new Promise<void>((resolve) => {
      clock.schedule(0, () => fired.push("first"));
      clock.schedule(0, () => fired.push("second"));
      clock.schedule(0, resolve);
    });
    await Promise.resolve();
    expect(fired).toEqual([]);
    await last;
    expect(fired).toEqual(["first", "second"]);
    expect(clock.monotonicMs()).toBe(startMs);
  });

  it("lets the work that a timer sets off settle before the next timer fires", async () => {
    const clock = new FakeClock();
    const events: string[] = [];
    const work = async (name: string) => {
      events.push(`${name} begins`);
      for (let turn = 0; turn < 10; turn++) {
        await new Promise<void>((resolve) => clock.schedule(0, resolve));
        await new Promise(process.nextTick);
        await new Promise(setImmediate);
      }
      events.push(`${name} ends at ${clock.monotonicMs() - startMs}`);
    };
    const startMs = clock.monotonicMs();
    clock.schedule(10, () => void work("one"));
    clock.schedule(10, () => void work("two"));
    await clock.advance(1_000);
    expect(events).toEqual(["one begins", "one ends at 10", "two begins", "two ends at 10"]);
  });

  it("fires within the same advance what is scheduled on the way", async () => {
    const clock = new FakeClock();
    let ticks = 0;
    const tick = () => {
      ticks += 1;
      clock.schedule(10, tick);
    };
    clock.schedule(10, tick);
    await clock.advance(95);
    expect(ticks).toBe(9);
    expect(clock.pendingTimers).toBe(1);
  });

  it("settles work that was under way before, also when no time passes", async () => {
    const clock = new FakeClock();
    let settled = false;
    clock.schedule(0, () => clock.schedule(0, () => (settled = true)));
    await clock.advance(0);
    expect(settled).toBe(true);
  });

  it("runs overlapping advances one after the other", async () => {
    const clock = new FakeClock();
    const startMs = clock.monotonicMs();
    const firedMs: number[] = [];
    for (const delayMs of [5, 15]) clock.schedule(delayMs, () => firedMs.push(clock.monotonicMs() - startMs));
    await Promise.all([clock.advance(10), clock.advance(10)]);
    expect(firedMs).toEqual([5, 15]);
    expect(clock.monotonicMs() - startMs).toBe(20);
  });

  it("never fires what was cancelled, and cancelling again or late does no harm", async () => {
    const clock = new FakeClock();
    let fired = 0;
    const timers = [0, 10].map((delayMs) => clock.schedule(delayMs, () => fired++));
    expect(clock.pendingTimers).toBe(2);
    for (const timer of [...timers, ...timers]) timer.cancel();
    expect(clock.pendingTimers).toBe(0);
    const late = clock.schedule(1, () => fired++);
    await clock.advance(20);
    late.cancel();
    expect(fired).toBe(1);
  });

  it("moves only the wall clock while the machine is suspended", async () => {
    const clock = new FakeClock({ epochMs: 1_000_000 });
    const startMs = clock.monotonicMs();
    let fired = false;
    clock.schedule(1_000, () => (fired = true));
    clock.suspend(60_000);
    await clock.advance(999);
    expect({ fired, wallMs: clock.wallMs() }).toEqual({ fired: false, wallMs: 1_060_999 });
    await clock.advance(1);
    expect({ fired, elapsedMs: clock.monotonicMs() - startMs }).toEqual({ fired: true, elapsedMs: 1_000 });
  });

  it("runs nothing while the event loop is blocked, and afterwards fires by itself what is overdue", async () => {
    const clock = new FakeClock();
    const startMs = clock.monotonicMs();
    const firedMs: [string, number][] = [];
    const note = (name: string) => () => firedMs.push([name, clock.monotonicMs() - startMs]);
    clock.schedule(20, note("second"));
    clock.schedule(10, note("first"));
    clock.schedule(10, () => void Promise.resolve().then(note("promise of a timer")));
    clock.schedule(50, note("not yet"));
    clock.block(40);
    await Promise.resolve();
    expect(firedMs).toEqual([]);
    expect(clock.pendingTimers).toBe(4);
    await new Promise(setImmediate);
    expect(firedMs).toEqual([
      ["first", 40],
      ["promise of a timer", 40],
      ["second", 40],
    ]);
    expect(clock.pendingTimers).toBe(1);
  });

  it("can be blocked by a timer for longer than was to pass", async () => {
    const clock = new FakeClock();
    const startMs = clock.monotonicMs();
    let overdueMs = 0;
    clock.schedule(10, () => clock.block(100));
    clock.schedule(20, () => (overdueMs = clock.monotonicMs() - startMs));
    await clock.advance(30);
    expect(overdueMs).toBe(110);
    expect(clock.monotonicMs() - startMs).toBe(110);
  });

  it("rejects an advance with what a timer throws, and works on afterwards", async () => {
    const clock = new FakeClock();
    const startMs = clock.monotonicMs();
    clock.schedule(10, () => {
      throw new Error("a timer failed");
    });
    await expect(clock.advance(100)).rejects.toThrow("a timer failed");
    await clock.advance(5);
    expect(clock.monotonicMs() - startMs).toBe(15);
  });

  it("refuses to go back, and delays that are no number", async () => {
    const clock = new FakeClock();
    await expect(clock.advance(-1)).rejects.toThrow(RangeError);
    expect(() => clock.block(Number.NaN)).toThrow(RangeError);
    expect(() => clock.schedule(Number.NaN, () => undefined)).toThrow(RangeError);
    expect(clock.pendingTimers).toBe(0);
  });
});
