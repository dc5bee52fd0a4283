import { describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/holdfast.js";
import { type Once, type RunOnceOptions, runOnce } from "../../src/recipes/index.js";
import { fakeTime } from "../support/worlds/fake-time.js";

const open = fakeTime();
const NAME = "nightly";
/** A fire whose marker is gone when a test is over. */
const REMEMBER_MS = 30_000;
const MARKER_MS = REMEMBER_MS + 60_000;

/** Two clients, and what they run. */
function fleet() {
  const world = open();
  const { clock } = world;
  const fireTime = clock.wallMs();
  const runs: string[] = [];
  const run = (
    holdfast: Holdfast,
    options: Partial<RunOnceOptions> = {},
    body: (...args: unknown[]) => unknown = () => undefined,
  ): Promise<Once<unknown>> =>
    runOnce(holdfast, { name: NAME, fireTime, rememberMs: REMEMBER_MS, clock, ...options }, (lease) => {
      runs.push(lease.holder);
      return body(lease);
    });
  const other = world.connect().holdfast;
  return {
    ...world,
    other,
    fireTime,
    runs,
    run,
    sleep: (ms: number) => new Promise<void>((resolve) => void clock.schedule(ms, resolve)),
  };
}

describe("a fire", () => {
  test("is run by one of all that call at once, and answers what the body returned", async () => {
    const { holdfast, other, run, runs } = fleet();
    const outcomes = await Promise.all([run(holdfast, {}, () => 7), run(other), run(holdfast)]);
    expect(outcomes).toEqual([
      { ran: true, value: 7 },
      { ran: false, because: "busy" },
      { ran: false, because: "busy" },
    ]);
    expect(runs).toHaveLength(1);
  });

  test("that has ended is done for a process whose clock is late, and the next one is run", async () => {
    const { holdfast, other, run, fireTime } = fleet();
    await run(holdfast);
    expect(await run(other)).toEqual({ ran: false, because: "done" });
    expect(await run(other, { fireTime: fireTime + 1_000 })).toMatchObject({ ran: true });
  });

  test("is the same within half a second, as a number and as a Date", async () => {
    const { holdfast, other, run, fireTime } = fleet();
    await run(holdfast, { fireTime: fireTime - 499 });
    expect(await run(other, { fireTime: new Date(fireTime + 499) })).toEqual({ ran: false, because: "done" });
    expect(await run(other, { fireTime: new Date(fireTime + 500) })).toMatchObject({ ran: true });
  });

  test("is that of the grid before the call, where the scheduler does not tell for when it calls", async () => {
    const { holdfast, other, run, clock } = fleet();
    const fireTime = Math.ceil(clock.wallMs() / 60_000) * 60_000;
    await clock.advance(fireTime - clock.wallMs());
    const options = { gridMs: 60_000, rememberMs: 600_000 };
    expect(await run(holdfast, { ...options, fireTime: fireTime - 500 })).toMatchObject({ ran: true });
    for (const lateMs of [0, 700, 1_400, 59_499]) {
      const once = await run(other, { ...options, fireTime: fireTime + lateMs });
      expect([lateMs, once]).toEqual([lateMs, { ran: false, because: "done" }]);
    }
    expect(await run(other, { ...options, fireTime: fireTime + 59_500 })).toMatchObject({ ran: true });
    await clock.advance(700_000);
  });

  test("is marked under the name that a JVM marks it under, for as long as asked, a minute more", async () => {
    const { holdfast, run, server, fireTime } = fleet();
    await run(holdfast);
    await run(holdfast, { name: "{a}:b" });
    const at = fireTime / 1_000;
    expect(Object.keys(server.dump()).filter((key) => key.startsWith("holdfast_once"))).toEqual([
      `holdfast_once:{nightly}:${at}`,
      `holdfast_once:{a}:b:${at}`,
    ]);
    expect(server.command("PTTL", `holdfast_once:{nightly}:${at}`)).toBe(MARKER_MS);
    expect(await holdfast.getSemaphore(`holdfast_once:{nightly}:${at}`).trySetPermits(1)).toBe(false);
  });

  test("whose process has died is not run again", async () => {
    const { holdfast, other, run, sleep, clock, runs } = fleet();
    const dying = run(holdfast, { atMostMs: 1_000 }, () => sleep(60_000)).catch((error: unknown) => error);
    await clock.advance(40_000);
    expect(await run(other, { rememberMs: 60_000 })).toEqual({ ran: false, because: "done" });
    expect(runs).toHaveLength(1);
    await clock.advance(20_000);
    expect(await dying).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "max-hold" });
  });

  test("of which nobody knows any more whether it was run is late", async () => {
    const { holdfast, run, clock, runs } = fleet();
    await clock.advance(REMEMBER_MS - 1);
    expect(await run(holdfast)).toMatchObject({ ran: true });
    await clock.advance(1);
    expect(await run(holdfast)).toEqual({ ran: false, because: "late" });
    expect(runs).toHaveLength(1);
  });

  test("takes three commands where it is run, one where it is busy, three where it was done", async () => {
    const { holdfast, driver, connect, run } = fleet();
    const late = connect();
    await Promise.all([holdfast.ping(), late.holdfast.ping()]);
    for (const { sent } of [driver, late.driver]) sent.length = 0;
    await run(holdfast, {}, async () => {
      await run(late.holdfast);
      expect(late.driver.sent.map(({ script }) => script)).toEqual(["lock-acquire"]);
    });
    expect(driver.sent.map(({ script }) => script)).toEqual([
      "lock-acquire",
      "count-try-set",
      "lock-release",
    ]);
    await run(late.holdfast);
    expect(late.driver.sent.slice(1).map(({ script }) => script)).toEqual([
      "lock-acquire",
      "count-try-set",
      "lock-release",
    ]);
  });

  test("is not run where its marker is something else", async () => {
    const { holdfast, run, server, fireTime, runs } = fleet();
    server.command("RPUSH", `holdfast_once:{nightly}:${fireTime / 1_000}`, "a");
    server.command("PEXPIRE", `holdfast_once:{nightly}:${fireTime / 1_000}`, 1_000);
    await expect(run(holdfast)).rejects.toMatchObject({ code: "ERR_HOLDFAST_WRONG_TYPE" });
    expect(runs).toEqual([]);
  });
});

describe("the lock of a run", () => {
  test("is kept until `atLeastMs` from its begin on, also where the body throws", async () => {
    for (const fails of [false, true]) {
      const { holdfast, other, run, sleep, clock, ttlMs } = fleet();
      const body = async () => {
        await sleep(2_000);
        if (fails) throw new Error("no paper");
      };
      const first = run(holdfast, { fireTime: undefined, rememberMs: undefined, atLeastMs: 5_000 }, body);
      const outcome = first.catch((error: Error) => error.message);
      await clock.advance(2_000);
      expect(await outcome).toEqual(fails ? "no paper" : { ran: true, value: undefined });
      expect(ttlMs(NAME)).toBe(3_000);
      const again = { fireTime: undefined, rememberMs: undefined };
      expect(await run(other, again)).toEqual({ ran: false, because: "busy" });
      // Redis counts the last millisecond in.
      await clock.advance(3_001);
      expect(await run(other, again)).toMatchObject({ ran: true });
    }
  });

  test("is freed at once where the run took longer than `atLeastMs`", async () => {
    const { holdfast, run, sleep, clock, ttlMs } = fleet();
    const running = run(holdfast, { atLeastMs: 5_000 }, () => sleep(5_000));
    await clock.advance(5_000);
    await running;
    expect(ttlMs(NAME)).toBe(-2);
  });

  test("is not kept where the fire was done", async () => {
    const { holdfast, other, run, ttlMs } = fleet();
    await run(holdfast);
    await run(other, { atLeastMs: 5_000 });
    expect(ttlMs(NAME)).toBe(-2);
  });

  test("is renewed for as long as the run takes", async () => {
    const { holdfast, other, run, sleep, clock, fireTime } = fleet();
    const running = run(holdfast, {}, () => sleep(100_000));
    await clock.advance(90_000);
    expect(await run(other, { fireTime: fireTime + 90_000 })).toEqual({ ran: false, because: "busy" });
    await clock.advance(10_000);
    expect(await running).toMatchObject({ ran: true });
  });

  test("is waited for with `waitMs`, after which the fire is done", async () => {
    const { holdfast, other, run, sleep, clock } = fleet();
    const running = run(holdfast, {}, () => sleep(1_000));
    const waiting = run(other, { waitMs: 5_000 });
    const impatient = run(other, { waitMs: 500 });
    const refused = expect(impatient).rejects.toMatchObject({ code: "ERR_HOLDFAST_WAIT_TIMEOUT" });
    await clock.advance(1_000);
    await refused;
    expect(await running).toMatchObject({ ran: true });
    expect(await waiting).toEqual({ ran: false, because: "done" });
  });

  test("that another has is an error with `onBusy: throw`", async () => {
    const { holdfast, other, run } = fleet();
    await run(holdfast, {}, async () => {
      await expect(run(other, { onBusy: "throw" })).rejects.toMatchObject({
        code: "ERR_HOLDFAST_WAIT_TIMEOUT",
      });
    });
  });

  test("is no longer waited for when the signal aborts", async () => {
    const { holdfast, other, run } = fleet();
    await run(holdfast, {}, async () => {
      const controller = new AbortController();
      const waiting = run(other, { waitMs: 5_000, signal: controller.signal });
      controller.abort(new Error("enough"));
      await expect(waiting).rejects.toThrow("enough");
    });
  });

  test("is not entered by a run inside a run", async () => {
    const { holdfast, run, fireTime } = fleet();
    const nested = () => run(holdfast, { fireTime: fireTime + 5_000 });
    await expect(run(holdfast, {}, nested)).rejects.toMatchObject({ code: "ERR_HOLDFAST_REENTRY" });
  });
});

test("what the body throws is thrown, also where it looks as if the lock were busy", async () => {
  const { holdfast, other, run } = fleet();
  const lease = await other.getLock("elsewhere").lock();
  const body = () => holdfast.getLock("elsewhere").lock({ waitMs: 0 });
  await expect(run(holdfast, {}, body)).rejects.toMatchObject({
    code: "ERR_HOLDFAST_WAIT_TIMEOUT",
    lockName: "elsewhere",
  });
  await lease.unlock();
});

describe("refuses", () => {
  test.each([
    [{ fireTime: "now" }, 'fireTime must be a valid Date, or milliseconds since the Unix epoch, got "now"'],
    [
      { fireTime: new Date("never") },
      "fireTime must be a valid Date, or milliseconds since the Unix epoch, got a Date",
    ],
    [
      { fireTime: Number.NaN },
      "fireTime must be a valid Date, or milliseconds since the Unix epoch, got NaN",
    ],
    [{ fireTime: undefined }, "rememberMs needs fireTime"],
    [{ fireTime: undefined, rememberMs: undefined, gridMs: 60_000 }, "gridMs needs fireTime"],
    [{ gridMs: 999 }, "gridMs must be a whole number of milliseconds from 1000 to 315360000000, got 999"],
    [{ gridMs: 1_500 }, "gridMs must be whole seconds in milliseconds, as 60_000, got 1500"],
    [{ rememberMs: 0 }, "rememberMs must be a whole number of milliseconds from 1 to 315360000000, got 0"],
    [{ atLeastMs: -1 }, "atLeastMs must be a whole number of milliseconds from 0 to 315360000000, got -1"],
    [{ atLeastMs: 5, atMostMs: 4 }, "atLeastMs must be at most atMostMs, got 5 and 4"],
    [{ onBusy: "queue" }, 'onBusy must be "wait", "skip" or "throw", got "queue"'],
    [{ onBusy: "wait" }, 'onBusy: "wait" needs waitMs; { waitMs: Infinity } waits for ever'],
    [
      { onBusy: "skip", waitMs: 5 },
      'waitMs and onBusy: "skip" exclude each other: only onBusy: "wait" waits',
    ],
    [
      { ttl: 5 },
      'there is no option "ttl" of runOnce: name, fireTime, gridMs, rememberMs, atLeastMs, atMostMs, onBusy, waitMs, signal, clock',
    ],
    [{ signal: 5 }, "signal must be an AbortSignal, got 5"],
    [{ name: "" }, 'a name must be a non-empty string, got ""'],
  ])("%j", async (options, message) => {
    const { holdfast, run, driver } = fleet();
    await expect(run(holdfast, options as Partial<RunOnceOptions>)).rejects.toThrow(message);
    expect(driver.sent).toEqual([]);
  });

  test("a fire that is further ahead than clocks may differ, as seconds in place of milliseconds are not", async () => {
    const { holdfast, run, fireTime } = fleet();
    const message =
      "fireTime must not lie more than 60000 ms ahead of this process's clock, got 60001 ms ahead";
    await expect(run(holdfast, { fireTime: fireTime + 60_001 })).rejects.toThrow(new RangeError(message));
    expect(await run(holdfast, { fireTime: fireTime + 60_000 })).toMatchObject({ ran: true });
    expect(await run(holdfast, { fireTime: fireTime / 1_000 })).toEqual({ ran: false, because: "late" });
  });

  test("what is no body, and options that are none", async () => {
    const { holdfast } = fleet();
    await expect(runOnce(holdfast, { name: NAME }, 5 as never)).rejects.toThrow(
      "runOnce needs a function as its last argument, got 5",
    );
    await expect(runOnce(holdfast, NAME as never, () => 5)).rejects.toThrow(
      'options must be an object, got "nightly", as in { name: "nightly" }',
    );
  });
});

test("a grid that is coarser than what is remembered is refused: most of its fires would never be run [own-110]", async () => {
  const { holdfast, run, driver } = fleet();
  await expect(run(holdfast, { gridMs: 120_000, rememberMs: 60_000 })).rejects.toThrow(
    new RangeError("gridMs must be at most rememberMs, got 120000 and 60000"),
  );
  expect(driver.sent).toEqual([]);
});
