import { describe, expect, test } from "vitest";
import type { Lock } from "../../src/locks/lock.js";
import { fakeMasters } from "../support/fake-masters.js";
import { fakeTime } from "../support/fake-time.js";
import { until } from "../support/until.js";

/** Collects garbage until something that was forgotten before is gone, so that everything else of its age is. */
async function collectAll(): Promise<void> {
  const forgotten = (() => new WeakRef({}))();
  await until(() => {
    if (globalThis.gc === undefined) throw new Error("this test needs --expose-gc");
    globalThis.gc();
    return forgotten.deref() === undefined;
  });
  // Whoever asked to be told of it is told in later turns.
  for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate);
}

/** Takes a lock and forgets its lease, in a frame of its own. */
async function forget(lock: Lock): Promise<string> {
  const lease = await lock.lock();
  return lease.signal.aborted ? "lost" : lease.state;
}

describe("a lease of several locks that was forgotten", () => {
  const open = fakeTime();
  const openMasters = fakeMasters();

  test("is renewed no more, and all keys of a multi lock fall by their TTL", async () => {
    const { holdfast, clock, fields } = open();
    const names = ["a", "b", "c"];
    const lock = holdfast.getMultiLock(...names.map((name) => holdfast.getLock(name)));
    expect(await forget(lock)).toBe("held");
    await clock.advance(60_000);
    await collectAll();
    await clock.advance(31_000);
    expect(names.map((name) => fields(name))).toEqual([{}, {}, {}]);
  });

  test("is renewed no more, nor taken again anywhere, in a red lock", async () => {
    const { clock, party, heldOn, masters } = openMasters();
    expect(await forget(party().red())).toBe("held");
    await clock.advance(60_000);
    masters[0]?.server.flush();
    await collectAll();
    await clock.advance(31_000);
    expect(heldOn("a")).toEqual([]);
  });

  test("is kept up while somebody has the lease, collected garbage or not", async () => {
    const { clock, party, heldOn, masters } = openMasters();
    const lease = await party().red().lock();
    masters[1]?.server.flush();
    await collectAll();
    await clock.advance(60_000);
    await collectAll();
    await clock.advance(60_000);
    expect([lease.state, heldOn("a")]).toEqual(["held", [0, 1, 2]]);
    await lease.unlock();
  });
});
