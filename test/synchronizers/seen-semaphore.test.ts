import { describe, expect, test } from "vitest";
import { events, type ForcedEvent } from "../../src/events.js";
import type { LockState } from "../../src/index.js";
import { deliverTwice, loseReply } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();
const redis = locksOnRedis();
const UNKNOWN = "0123456789abcdef0123456789abcdef";

/** A semaphore of five permits, three of which one call has taken for ever. */
async function leaked(time: FakeTime) {
  const semaphore = time.holdfast.getPermitExpirableSemaphore("p");
  await semaphore.trySetPermits(5);
  const permits = await semaphore.acquire(3);
  return { semaphore, permits, seen: await time.connect().holdfast.inspect("p") };
}

const end = ({ server }: FakeTime) => void server.command("DEL", "p", "s", "{p}:timeout");

describe("permits that were seen", () => {
  test("are given back, each once, and their waiter is let in [P12]", async () => {
    const time = open();
    const { permits, seen } = await leaked(time);
    const { holdfast } = time.connect();
    const waiting = watched(holdfast.getPermitExpirableSemaphore("p").acquire(4));
    await time.clock.advance(100);
    const tool = time.connect().holdfast;
    expect(await tool.forceRelease(seen, { ids: permits.ids })).toBe("released");
    await time.clock.advance(100);
    expect(waiting.outcome).toMatchObject({ value: { ids: { length: 4 } } });
    expect(await tool.forceRelease(seen, { ids: permits.ids })).toBe("absent");
    expect(await tool.inspect("p")).toMatchObject({ available: 1, takenCount: 4 });
    end(time);
  });

  test("are left alone, all of them, when one of them was given back meanwhile [P12]", async () => {
    const time = open();
    const { semaphore, permits, seen } = await leaked(time);
    const { ids } = permits;
    await semaphore.release(ids.slice(0, 1));
    const { holdfast } = time.connect();
    expect(await holdfast.forceRelease(seen, { ids })).toBe("changed");
    expect(await holdfast.inspect("p")).toMatchObject({ available: 3, takenCount: 2 });
    end(time);
  });

  test("are given back once when the command arrives twice, or its answer is lost", async () => {
    for (const fault of [deliverTwice, loseReply]) {
      const time = open();
      const { permits, seen } = await leaked(time);
      const { holdfast, driver } = time.connect();
      void driver.next(fault, "permit-release");
      const forced = watched(holdfast.forceRelease(seen, { ids: permits.ids }));
      await time.clock.advance(1_000);
      expect(forced.outcome).toEqual({ value: "released" });
      expect(await holdfast.inspect("p")).toMatchObject({ available: 5 });
      end(time);
    }
  });

  test("are told at once to the lease of the client that gives them back, and to the event", async () => {
    const time = open();
    const { permits, seen } = await leaked(time);
    const told: ForcedEvent[] = [];
    const listener = (event: ForcedEvent) => void told.push(event);
    events.forced.subscribe(listener);
    await time.holdfast.forceRelease(seen, { ids: permits.ids });
    events.forced.unsubscribe(listener);
    expect([permits.state, permits.signal.reason]).toMatchObject(["lost", { reason: "stolen" }]);
    const kind = "permit-expirable-semaphore";
    expect(told).toMatchObject([{ name: "p", kind, key: "p", holders: permits.ids, own: true }]);
    end(time);
  });

  test.each([
    { why: "that were not seen", change: {}, ids: [UNKNOWN], says: "in the taken list of the state" },
    { why: "without an id", change: {}, ids: [], says: "number of ids" },
    { why: "of a lock", change: { kind: "lock" as const }, ids: [UNKNOWN], says: "of kind permit-expirable" },
    { why: "of no state", change: { taken: 7 as never }, ids: [UNKNOWN], says: "taken is an array" },
  ])("are refused $why, before anything is sent", async ({ change, ids, says }) => {
    const time = open();
    const { seen } = await leaked(time);
    const { holdfast, driver } = time.connect();
    await expect(holdfast.forceRelease({ ...seen, ...change }, { ids })).rejects.toThrow(says);
    expect(driver.sent).toEqual([]);
    end(time);
  });
});

describe("the number of permits of a semaphore that was seen", () => {
  const kinds = [
    { kind: "plain", name: "s", of: ({ holdfast }: FakeTime) => holdfast.getSemaphore("s") },
    { kind: "leasing", name: "p", of: ({ holdfast }: FakeTime) => holdfast.getPermitExpirableSemaphore("p") },
  ] as const;

  test.each(kinds)("is changed, once, and a waiter let in: $kind [P12]", async ({ name, of }) => {
    for (const fault of [undefined, deliverTwice, loseReply]) {
      const time = open();
      await of(time).trySetPermits(3);
      await of(time).acquire(3);
      const { holdfast, driver } = time.connect();
      const seen = await holdfast.inspect(name);
      const waiting = watched<unknown>(of({ ...time, ...time.connect() }).acquire(2));
      await time.clock.advance(100);
      if (fault !== undefined) void driver.next(fault, "semaphore-resize");
      const set = watched(holdfast.setPermits(seen, (seen.takenCount ?? 0) + 2));
      await time.clock.advance(1_000);
      expect(set.outcome).toEqual({ value: "set" });
      expect(waiting.outcome).toHaveProperty("value");
      expect(await holdfast.inspect(name)).toMatchObject({ available: 0 });
      end(time);
    }
  });

  test("is left alone when it is another by now, and told when there is no semaphore any more [P12]", async () => {
    const time = open();
    const semaphore = time.holdfast.getSemaphore("s");
    await semaphore.trySetPermits(3);
    const seen = await time.holdfast.inspect("s");
    await semaphore.acquire();
    expect(await time.holdfast.setPermits(seen, 3)).toBe("changed");
    expect(await semaphore.availablePermits()).toBe(2);
    await semaphore.delete();
    expect(await time.holdfast.setPermits(seen, 3)).toBe("absent");
    expect(time.server.dump()["s"]).toBeUndefined();
  });

  test("is that of the permits in and out together where these have leases, also while they come and go", async () => {
    const time = open();
    const { semaphore, seen } = await leaked(time);
    await semaphore.acquire({ leaseMs: 1_000 });
    expect(await time.holdfast.setPermits(seen, 8)).toBe("set");
    expect(await time.holdfast.inspect("p")).toMatchObject({ available: 4, takenCount: 4 });
    end(time);
  });

  test.each([
    { change: { kind: "lock" as const }, permits: 3, says: "of kind permit-expirable" },
    { change: {}, permits: -1, says: "permits must be" },
    { change: { available: 1.5 }, permits: 3, says: "available is a whole number" },
  ])("is refused for what is wrong: $says", async ({ change, permits, says }) => {
    const time = open();
    const { seen } = await leaked(time);
    const wrong: LockState = { ...seen, ...change };
    await expect(time.holdfast.setPermits(wrong, permits)).rejects.toThrow(says);
    end(time);
  });
});

test("what was seen on a real server is given back there, of a semaphore of either kind", async () => {
  const holder = redis.holdfast();
  const tool = redis.holdfast();
  const leasing = holder.getPermitExpirableSemaphore("p");
  await leasing.trySetPermits(5);
  const { ids } = await leasing.acquire(3);
  expect(await tool.forceRelease(await tool.inspect("p"), { ids: ids.slice(0, 2) })).toBe("released");
  expect(await tool.inspect("p")).toMatchObject({ available: 4, taken: [{ id: ids[2], endsInMs: -1 }] });
  expect(await tool.setPermits(await tool.inspect("p"), 6)).toBe("set");
  expect(await leasing.availablePermits()).toBe(5);
  const plain = holder.getSemaphore("s");
  await plain.trySetPermits(3);
  await plain.acquire(2);
  expect(await tool.setPermits(await tool.inspect("s"), 3)).toBe("set");
  expect(await plain.availablePermits()).toBe(3);
  await leasing.delete();
  await plain.delete();
});
