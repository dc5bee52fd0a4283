import { describe, expect, test } from "vitest";
import { type LocksSeen, type WatchOptions, watchLocks } from "../../src/watch/index.js";
import { watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

const open = fakeTime();
/** By then a client with presence has told what it has. */
const TOLD_MS = 12_000;

/** The next look. */
async function next({ clock }: FakeTime, looks: AsyncIterator<LocksSeen>): Promise<LocksSeen> {
  const look = watched(looks.next());
  while (look.outcome === undefined) await clock.advance(1);
  if ("error" in look.outcome) throw look.outcome.error;
  return look.outcome.value.value as LocksSeen;
}

function watching(time: FakeTime, options: WatchOptions = {}): AsyncIterator<LocksSeen> {
  const { holdfast } = time.connect();
  return watchLocks(holdfast, { clock: time.clock, ...options })[Symbol.asyncIterator]();
}

describe("watchLocks", () => {
  test("tells what is held, and what has changed since the look before", async () => {
    const time = open({ presence: true });
    const lock = time.holdfast.getLock("a");
    const lease = await lock.lock({ leaseMs: 3_600_000 });
    await time.clock.advance(TOLD_MS);
    const looks = watching(time);
    const first = await next(time, looks);
    expect([first.locks.map(({ key, flags }) => [key, flags]), first.changes]).toEqual([
      [["a", ["fixed"]]],
      [],
    ]);
    expect(first.fleet.clients.map(({ id }) => id)).toEqual([time.holdfast.clientId]);
    await lease.unlock();
    const startMs = time.clock.monotonicMs();
    expect((await next(time, looks)).changes.map(({ type, key }) => [type, key])).toEqual([["freed", "a"]]);
    expect(time.clock.monotonicMs() - startMs).toBeGreaterThanOrEqual(2_000);
    await looks.return?.();
  });

  test("sends nothing any more once the loop is left, or its signal has aborted", async () => {
    const time = open();
    const { holdfast, driver } = time.connect();
    const leaving = new AbortController();
    const looks = watchLocks(holdfast, { clock: time.clock, signal: leaving.signal })[Symbol.asyncIterator]();
    await next(time, looks);
    const ended = watched(looks.next());
    await time.clock.advance(1_000);
    const sent = driver.names.length;
    leaving.abort("enough");
    await time.clock.advance(60_000);
    expect([ended.outcome, driver.names.length, time.clock.pendingTimers]).toEqual([
      { error: "enough" },
      sent,
      0,
    ]);
  });

  test.each([
    [{ everyMs: 499 }, RangeError, "everyMs"],
    [{ everyMs: "2s" }, TypeError, "everyMs"],
    [{ every: 5 }, TypeError, 'there is no option "every" of watchLocks'],
    [{ match: 7 }, TypeError, "match"],
    [{ maxKeys: 0 }, RangeError, "maxKeys"],
    [{ sources: ["keys"] }, TypeError, "keys"],
    [{ signal: {} }, TypeError, "signal"],
  ])("refuses %j at once", (options, errorClass, message) => {
    const { holdfast } = open();
    expect(() => watchLocks(holdfast, options as WatchOptions)).toThrow(errorClass);
    expect(() => watchLocks(holdfast, options as WatchOptions)).toThrow(message);
  });
});
