import { describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import { deliverLate, neverDeliver, rejectAtOnce } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

const HOUR_MS = 3_600_000;
const COMMAND_MS = 3_000;
const SEVEN = { threadId: 7 };

/** The hold count in Redis, where fields of other names are none. */
function countOf({ holdfast, fields }: FakeTime): number {
  const [, count] = Object.entries(fields("a")).find(([field]) => field.startsWith(holdfast.clientId)) ?? [];
  return Number(count ?? 0);
}

const isRelease = ({ script }: { readonly script: { readonly name: string } }) =>
  script.name.endsWith("-release");

describe.each<[string, (client: Holdfast) => Lock]>([
  ["a lock", (client) => client.getLock("a")],
  ["a fair lock", (client) => client.getFairLock("a")],
  ["a read lock", (client) => client.getReadWriteLock("a").readLock()],
  ["a write lock", (client) => client.getReadWriteLock("a").writeLock()],
])("a release of inner holds of %s that gets lost", (_, lockOf) => {
  test("takes the outer one from nobody, though the next release follows at once", async () => {
    const time = open();
    const lock = lockOf(time.holdfast);
    const outer = await lock.lock(SEVEN);
    const inner = [await lock.lock(SEVEN), await lock.lock(SEVEN)];
    void time.driver.next(neverDeliver, isRelease);
    const releases = inner.map((lease) => watched(lease.unlock()));
    await time.clock.advance(3 * COMMAND_MS);
    expect(releases.map(({ outcome }) => outcome)).not.toContain(undefined);
    await time.clock.advance(HOUR_MS);
    expect([outer.state, countOf(time)]).toEqual(["held", 1]);
    await outer.unlock();
    expect(time.server.dump()).toEqual({});
  });

  test("is made good, also where it was to lower the count by more than one", async () => {
    const time = open();
    const lock = lockOf(time.holdfast);
    const outer = await lock.lock(SEVEN);
    const middle = await lock.lock({ ...SEVEN, leaseMs: 1_000 });
    const inner = await lock.lock(SEVEN);
    await time.clock.advance(1_000);
    expect(middle.state).toBe("lost");
    void time.driver.next(neverDeliver, isRelease);
    const released = watched(inner.unlock());
    await time.clock.advance(3 * COMMAND_MS);
    expect(released.outcome).toHaveProperty("error");
    expect(countOf(time)).toBe(1);
    const again = await lock.lock(SEVEN);
    expect([again.holdCount, outer.state, countOf(time)]).toEqual([2, "held", 2]);
    await again.unlock();
    await outer.unlock();
    expect(time.server.dump()).toEqual({});
  });
});

describe("a renewal of a reader's holds", () => {
  test("that a release of the inner one has overtaken takes the outer one from nobody", async () => {
    const time = open();
    const lock = time.holdfast.getReadWriteLock("a").readLock();
    const [outer, inner] = [await lock.lock(SEVEN), await lock.lock(SEVEN)];
    const late = deliverLate();
    const met = time.driver.next(late, "read-renew");
    await time.clock.advance(10_000);
    await met;
    await inner.unlock();
    await late.arrive();
    await time.clock.advance(HOUR_MS);
    expect([outer.state, countOf(time)]).toEqual(["held", 1]);
    await outer.unlock();
  });

  test("tells of a loss, also after a release of the inner one", async () => {
    const time = open();
    const lock = time.holdfast.getReadWriteLock("a").readLock();
    const [outer, inner] = [await lock.lock(SEVEN), await lock.lock(SEVEN)];
    await inner.unlock();
    time.server.flush();
    await time.clock.advance(11_000);
    expect([outer.state, outer.signal.reason]).toMatchObject(["lost", { reason: "stolen" }]);
  });
});

describe("the unlock of a lost lease", () => {
  test("frees its lock also while a re-entry is being cleaned up", async () => {
    const { holdfast, driver, clock, fields } = open();
    const lock = holdfast.getLock("a");
    const lease = await lock.lock({ maxHoldMs: 4_000 });
    // There is no connection for three seconds.
    for (let i = 0; i < 20; i++) void driver.next(rejectAtOnce, "lock-acquire");
    const again = watched(lock.lock({ threadId: lease.threadId }));
    await clock.advance(4_000);
    expect(again.outcome).toMatchObject({ error: { outcomeUnknown: true } });
    expect([lease.state, Object.values(fields("a"))]).toEqual(["lost", ["1"]]);
    await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
    // The clean-up goes on until the deadline of the re-entry has passed.
    await clock.advance(4_000);
    expect(fields("a")).toEqual({});
  });
});

describe("an unlock that stands in turn behind the clean-up of a lost re-entry", () => {
  async function cleanUpInTurn({ holdfast, driver, clock }: FakeTime) {
    const lock = holdfast.getLock("a");
    const outer = await lock.lock();
    const again = { threadId: outer.threadId };
    const second = await lock.lock(again);
    for (let i = 0; i < 20; i++) void driver.next(rejectAtOnce, "lock-acquire");
    const third = watched(lock.lock(again));
    await clock.advance(5_000);
    expect(third.outcome).toMatchObject({ error: { outcomeUnknown: true } });
    const slow = deliverLate();
    void driver.next(slow, "lock-release");
    const inner = watched(second.unlock());
    await clock.advance(1_000);
    return { outer, inner, slow };
  }

  test("says that its lease was stolen", async () => {
    const time = open();
    const { outer, inner, slow } = await cleanUpInTurn(time);
    const released = watched(outer.unlock());
    await slow.arrive();
    time.server.command("DEL", "a");
    await time.clock.advance(10_000);
    const stolen = { code: "ERR_HOLDFAST_NOT_HELD" };
    expect([inner.outcome, released.outcome]).toMatchObject([{ value: undefined }, { error: stolen }]);
  });

  test("frees the lock by its own command alone, as the clean-up finds nothing left to do", async () => {
    const time = open();
    const { outer, inner, slow } = await cleanUpInTurn(time);
    const released = watched(outer.unlock());
    const before = time.driver.sent.length;
    await slow.arrive();
    await time.clock.advance(10_000);
    expect([inner.outcome, released.outcome]).toEqual([{ value: undefined }, { value: undefined }]);
    expect(time.driver.sent.slice(before).map(({ script }) => script)).toEqual(["lock-release"]);
    expect(time.fields("a")).toEqual({});
  });
});
