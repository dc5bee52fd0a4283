import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Semaphore } from "../../src/index.js";
import { watchLeaks } from "../support/run/leaks.js";
import { type Watched, watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";
import { available, givenByJvm, SAVER_KEY, setAvailable } from "../support/worlds/permits.js";

watchLeaks();
const open = fakeTime();

const HOUR_MS = 60 * 60 * 1_000;
const ENTERED = { value: undefined };
const PERMITS = 3;

/** Of each test: a semaphore all of whose permits are taken, and a client that only messages make ask again. */
let time: FakeTime;
let semaphore: Semaphore;
let ends: (() => void)[];
beforeEach(() => {
  // Who wants several permits has them saved up for the first time after 1 s, and not up to another later.
  vi.spyOn(Math, "random").mockReturnValue(0);
  ends = [];
  time = open({ safetyPeriodMs: HOUR_MS });
  setAvailable(time, 0);
  semaphore = time.holdfast.getSemaphore("s");
});
afterEach(async () => {
  for (const end of ends) end();
  await time.clock.advance(10_000);
  time.server.command("DEL", "s");
  vi.restoreAllMocks();
});

/** The semaphore in one more client. */
function elsewhere(): Semaphore {
  return time.connect({ safetyPeriodMs: HOUR_MS }).holdfast.getSemaphore("s");
}

/** Who has permits saved up, if anybody. */
function saver(): unknown {
  const saved = time.server.command("GET", SAVER_KEY);
  // After a turn the key says for a while that nothing is saved up.
  return String(saved).startsWith("-:") ? null : saved;
}

/** Tasks that take one permit after the other, and never leave all at once. Tells how many times each had one. */
function stream(own: Semaphore, tasks: number): number[] {
  const times = Array.from({ length: tasks }, () => 0);
  const leaving = new AbortController();
  ends.push(() => leaving.abort("enough"));
  const pass = (ms: number) => new Promise<void>((done) => void time.clock.schedule(ms, done));
  const task = async (at: number) => {
    await pass(1 + 70 * at);
    while (!leaving.signal.aborted) {
      await own.acquire({ signal: leaving.signal });
      times[at] = (times[at] ?? 0) + 1;
      await pass(210);
      await own.release();
    }
  };
  for (const at of times.keys()) void task(at).catch(() => undefined);
  return times;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

describe("one who wants several permits", () => {
  test.each([
    ["its own client", (): Semaphore[] => [semaphore]],
    ["another client", () => [elsewhere()]],
    ["all clients", () => [semaphore, elsewhere(), elsewhere()]],
  ])("gets them in spite of an endless stream of those who want one, in %s [B28]", async (_, rivals) => {
    setAvailable(time, PERMITS);
    const streams = rivals().map((own) => stream(own, 6));
    await time.clock.advance(1_000);
    const big = watched(semaphore.acquire(PERMITS));
    await time.clock.advance(10_000);
    expect(big.outcome).toEqual(ENTERED);
    const before = streams.map(sum);
    await semaphore.release(PERMITS);
    await time.clock.advance(10_000);
    for (const [at, times] of streams.map(sum).entries()) expect(times).toBeGreaterThan(before[at] ?? 0);
  });

  test("would not get them without waiting for so long that they are saved up", async () => {
    setAvailable(time, PERMITS);
    stream(elsewhere(), 6);
    await time.clock.advance(1_000);
    const big = watched(semaphore.tryAcquire(PERMITS, { waitMs: 900 }));
    await time.clock.advance(900);
    expect(big.outcome).toEqual({ value: false });
    expect(saver()).toBeNull();
  });

  test("who wants more than there will ever be does not starve those who want one [B28]", async () => {
    setAvailable(time, PERMITS);
    const streams = [stream(elsewhere(), 3), stream(semaphore, 3)];
    const impossible = watched(semaphore.acquire(PERMITS + 1));
    // Each time in which they are kept out is followed by twice as long in which they are not.
    for (const lengthMs of [2_000, 2_000, 12_000]) {
      const before = streams.map(sum);
      await time.clock.advance(lengthMs);
      for (const [at, times] of streams.map(sum).entries()) expect(times).toBeGreaterThan(before[at] ?? 0);
    }
    expect(impossible.outcome).toBeUndefined();
  });

  test("who wants more than there will ever be does not keep those from theirs who began to wait with it [B28]", async () => {
    setAvailable(time, PERMITS);
    stream(elsewhere(), 6);
    await time.clock.advance(1_000);
    const impossible = watched(semaphore.acquire(PERMITS + 1));
    const possible = watched(semaphore.acquire(PERMITS));
    await time.clock.advance(20_000);
    expect([impossible.outcome, possible.outcome]).toEqual([undefined, ENTERED]);
  });

  test("has them saved up in turns, from its second second on, and for as long as it does not get them", async () => {
    const waiting = watched(semaphore.acquire(2));
    const seen: number[] = [];
    for (let halfSecond = 1; halfSecond <= 34; halfSecond++) {
      // Looks in the middle of each half second.
      await time.clock.advance(halfSecond === 1 ? 250 : 500);
      if (saver() === null) continue;
      seen.push((halfSecond - 1) / 2);
      expect(saver()).toMatch(/^[-0-9a-f]{36}:\d+:2:\d{13}$/);
      expect(time.ttlMs(SAVER_KEY)).toBeLessThanOrEqual(3_000);
    }
    expect(seen).toEqual([1, 1.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5, 16, 16.5]);
    await givenByJvm(time, 2);
    expect(waiting.outcome).toEqual(ENTERED);
    expect(saver()).toBeNull();
  });

  test("who gets them leaves no trace of the saving", async () => {
    const waiting = watched(semaphore.acquire(2));
    await time.clock.advance(1_200);
    expect(saver()).not.toBeNull();
    await givenByJvm(time, 3);
    expect([waiting.outcome, saver(), available(time)]).toEqual([ENTERED, null, "1"]);
  });

  test("who wants one only never has any saved up", async () => {
    const waiting = watched(semaphore.acquire());
    for (let second = 0; second < 20; second++) {
      await time.clock.advance(1_000);
      expect(saver()).toBeNull();
    }
    await givenByJvm(time, 1);
    expect(waiting.outcome).toEqual(ENTERED);
  });
});

describe("while permits are saved up for somebody", () => {
  let rival: Semaphore;
  let leaving: AbortController;
  let saving: Watched<void>;
  beforeEach(async () => {
    rival = elsewhere();
    leaving = new AbortController();
    saving = watched(semaphore.acquire(PERMITS, { signal: leaving.signal }));
    await time.clock.advance(1_200);
    expect(saver()).not.toBeNull();
  });

  test("others get only what goes beyond those", async () => {
    setAvailable(time, PERMITS - 1);
    expect(await rival.tryAcquire()).toBe(false);
    setAvailable(time, PERMITS + 1);
    expect(await rival.tryAcquire(2)).toBe(false);
    expect(await rival.tryAcquire()).toBe(true);
    expect(await rival.tryAcquire()).toBe(false);
    expect(available(time)).toBe(String(PERMITS));
    time.server.command("PUBLISH", "redisson_sc:{s}", String(PERMITS));
    await time.clock.advance(0);
    expect(saving.outcome).toEqual(ENTERED);
  });

  test("permits released meanwhile are kept until they suffice", async () => {
    const small = watched(rival.acquire());
    for (let i = 1; i < PERMITS; i++) await givenByJvm(time, 1);
    expect([small.outcome, saving.outcome]).toEqual([undefined, undefined]);
    await givenByJvm(time, 1);
    expect([small.outcome, saving.outcome, available(time)]).toEqual([undefined, ENTERED, "0"]);
    await semaphore.release(PERMITS);
    await time.clock.advance(0);
    expect([small.outcome, available(time)]).toEqual([ENTERED, "2"]);
  });

  test.each([
    ["is cancelled", () => leaving.abort("gone")],
    ["closes its client", () => time.holdfast.close()],
  ])("others hear at once when that one %s", async (_, giveUp) => {
    const small = watched(rival.acquire());
    await givenByJvm(time, 2);
    expect(small.outcome).toBeUndefined();
    await giveUp();
    await time.clock.advance(0);
    expect([small.outcome, saver()]).toEqual([ENTERED, null]);
  });

  test("others hear at once when the time of that one is up", async () => {
    leaving.abort("gone");
    // After a turn nothing is saved up for a while.
    await time.clock.advance(2_000);
    const hasty = watched(semaphore.tryAcquire(PERMITS, { waitMs: 1_500 }));
    await time.clock.advance(1_200);
    expect(saver()).not.toBeNull();
    const small = watched(rival.acquire());
    await givenByJvm(time, 1);
    expect(small.outcome).toBeUndefined();
    await time.clock.advance(300);
    expect([hasty.outcome, small.outcome, saver()]).toEqual([{ value: false }, ENTERED, null]);
  });

  test("others hear of it when a turn of that one ends", async () => {
    const small = watched(rival.acquire());
    await givenByJvm(time, 2);
    expect(small.outcome).toBeUndefined();
    // It is seen when that one asks the next time, which it does each second.
    await time.clock.advance(1_800);
    expect([small.outcome, saver()]).toEqual([ENTERED, null]);
  });

  test("deleting the semaphore ends that", async () => {
    expect(await rival.delete()).toBe(true);
    expect(saver()).toBeNull();
    await rival.trySetPermits(1);
    expect(await rival.tryAcquire()).toBe(true);
  });

  test("a second one who wants several gets its turn, too", async () => {
    const second = watched(rival.acquire(2));
    stream(elsewhere(), 6);
    await givenByJvm(time, PERMITS);
    for (let second = 0; second < 30 && saving.outcome === undefined; second++)
      await time.clock.advance(1_000);
    expect(saving.outcome).toEqual(ENTERED);
    await semaphore.release(PERMITS);
    await time.clock.advance(30_000);
    expect(second.outcome).toEqual(ENTERED);
  });
});

describe("permits saved up for one who has died", () => {
  beforeEach(() => {
    time.server.command(
      "SET",
      SAVER_KEY,
      `3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:7:${PERMITS}:1795000000000`,
      "PX",
      3_000,
    );
    setAvailable(time, PERMITS);
  });

  test("are to be had when the saving has ended by itself", async () => {
    expect(await semaphore.tryAcquire()).toBe(false);
    await time.clock.advance(3_001);
    expect(await semaphore.tryAcquire()).toBe(true);
  });

  test("go to those who wait once the saving has ended, without a message", async () => {
    const waiting = [1, 2].map((permits) => watched(elsewhere().acquire(permits)));
    await time.clock.advance(2_900);
    expect(waiting.map(({ outcome }) => outcome)).toEqual([undefined, undefined]);
    await time.clock.advance(1_100);
    expect(waiting.map(({ outcome }) => outcome)).toEqual([ENTERED, ENTERED]);
  });
});

describe("many who want more than there will ever be", () => {
  test("leave time to those who want one, however they follow each other [B28]", async () => {
    setAvailable(time, PERMITS);
    for (let i = 0; i < 5; i++) {
      void elsewhere()
        .acquire(PERMITS + 1)
        .catch(() => undefined);
      await time.clock.advance(300);
    }
    let had = 0;
    for (let tries = 0; tries < 600; tries++) {
      if (await semaphore.tryAcquire()) {
        had += 1;
        await semaphore.release();
      }
      await time.clock.advance(100);
    }
    // Half of each turn and its rest, and so a quarter at the end of a turn.
    expect(had).toBeGreaterThan(150);
  });
});
