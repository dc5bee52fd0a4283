import { describe, expect, test } from "vitest";
import { type FakeClock, memoryDriver } from "../../src/memory/index.js";
import { savedPermitsKey } from "../../src/protocol/names.js";
import { JvmClient } from "../simulation/jvm/jvm-client.js";
import { watchLeaks } from "../support/run/leaks.js";
import { type Watched, watched } from "../support/run/watched.js";
import { isRequestKey } from "../support/servers/request-keys.js";
import {
  CHANNEL,
  type PermitExpirableSemaphore,
  type Permits,
  permitTime,
} from "../support/worlds/permit-time.js";

watchLeaks();
const open = permitTime();

const ACQUIRE = "permit-acquire";
const HOUR_MS = 3_600_000;
/** For whom permits are saved up. */
const SAVED = savedPermitsKey("a");
const VISIT_MS = 400;
/** Redis answers in whole milliseconds: so much later than a lease may what follows it be. */
const ROUNDED_MS = 2;
/** Only a message or an expiry makes who waits ask again. */
const patient = { safetyPeriodMs: 10 * HOUR_MS };

const entered = (waiting: Watched<Permits | null>) =>
  waiting.outcome !== undefined && "value" in waiting.outcome && waiting.outcome.value !== null;

/** Tasks that use permits one after the other, without a pause, until they are told to stop. */
function stream(semaphore: PermitExpirableSemaphore, clock: FakeClock, tasks: number, permits = 1) {
  let [going, visits] = [true, 0];
  const visit = () =>
    semaphore.using(permits, { leaseMs: HOUR_MS }, () => {
      visits += 1;
      return new Promise<void>((resolve) => clock.schedule(VISIT_MS, resolve));
    });
  const task = async (at: number) => {
    // They come and go at different times, so that there is never a moment without one.
    await new Promise<void>((resolve) => clock.schedule(1 + at * 130, resolve));
    while (going) await visit();
  };
  const done = Promise.all(Array.from({ length: tasks }, (_, at) => task(at)));
  return {
    get visits() {
      return visits;
    },
    async stop() {
      going = false;
      await clock.advance(10_000);
      await done;
    },
  };
}

describe("who waits for permits that nobody releases", () => {
  test("enters when their lease ends, without a message, and asks no more often", async () => {
    const { semaphore, connect, clock, stored } = open();
    const { holdfast, driver } = connect(patient);
    await semaphore.trySetPermits(1);
    await semaphore.acquire({ leaseMs: 10_000 });
    const waiting = watched(holdfast.getPermitExpirableSemaphore("a").acquire({ leaseMs: HOUR_MS }));
    await clock.advance(0);
    driver.channels.mute(true);
    await clock.advance(9_999);
    expect(waiting.outcome).toBeUndefined();
    await clock.advance(ROUNDED_MS);
    expect(entered(waiting)).toBe(true);
    expect(driver.timesOf(ACQUIRE)).toHaveLength(3);
    expect(stored()).toEqual({ available: 0, acquired: 1 });
  });

  test.each(["holdfast", "a JVM"] as const)(
    "enters when their lease was set to end sooner, of which a message tells: a client of %s [own-97]",
    async (whose) => {
      const { semaphore, connect, clock, server } = open(patient);
      await semaphore.trySetPermits(1);
      const permits = await semaphore.acquire({ leaseMs: HOUR_MS });
      const id = "00000000-0000-4000-8000-000000000000";
      const jvm = new JvmClient({ driver: memoryDriver(server), clock, id, random: () => 0 });
      const ours = connect(patient).holdfast.getPermitExpirableSemaphore("a");
      const waiting = watched<unknown>(
        whose === "a JVM" ? jvm.permits("a", 50).acquire(1, 1_000) : ours.acquire({ leaseMs: 1_000 }),
      );
      await clock.advance(100);
      expect(await semaphore.updateLeaseTime(permits.ids, 1_000)).toBe(true);
      await clock.advance(950);
      expect(waiting.outcome).toBe(undefined);
      await clock.advance(100);
      expect(waiting.outcome).toHaveProperty("value");
      await clock.advance(2_000);
      jvm.shutDown();
    },
  );

  test("enters in time also when they are of its own client, which has lost them before", async () => {
    const { semaphore, clock } = open(patient);
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ leaseMs: 10_000 });
    const waiting = watched(semaphore.acquire({ leaseMs: HOUR_MS }));
    await clock.advance(9_999);
    expect([permits.state, entered(waiting)]).toEqual(["lost", false]);
    await clock.advance(ROUNDED_MS);
    expect(entered(waiting)).toBe(true);
  });

  test("asks at each end of a lease until there are as many as it wants", async () => {
    const { semaphore, connect, clock } = open();
    const { holdfast, driver } = connect(patient);
    await semaphore.trySetPermits(3);
    for (const leaseMs of [3_000, 200, 600]) await semaphore.acquire({ leaseMs });
    driver.channels.mute(true);
    const waiting = watched(holdfast.getPermitExpirableSemaphore("a").acquire(2, { leaseMs: HOUR_MS }));
    await clock.advance(599);
    expect(waiting.outcome).toBeUndefined();
    await clock.advance(ROUNDED_MS);
    expect(entered(waiting)).toBe(true);
    expect(driver.timesOf(ACQUIRE)).toHaveLength(2 + 2);
  });

  test("asks when they were to end, and then when they end after they were lengthened", async () => {
    const { semaphore, connect, clock } = open();
    const { holdfast, driver } = connect(patient);
    await semaphore.trySetPermits(1);
    const { ids } = await semaphore.acquire({ leaseMs: 10_000 });
    const waiting = watched(holdfast.getPermitExpirableSemaphore("a").acquire({ leaseMs: HOUR_MS }));
    await clock.advance(5_000);
    await semaphore.updateLeaseTime(ids, 20_000);
    await clock.advance(19_999);
    expect(waiting.outcome).toBeUndefined();
    await clock.advance(ROUNDED_MS);
    expect(entered(waiting)).toBe(true);
    expect(driver.timesOf(ACQUIRE)).toHaveLength(2 + 2);
  });

  test("enters when the lease of the one before it in its own client ends, one after the other", async () => {
    const { semaphore, connect, clock } = open();
    const { holdfast, driver } = connect(patient);
    const other = holdfast.getPermitExpirableSemaphore("a");
    await semaphore.trySetPermits(1);
    await semaphore.acquire({ leaseMs: 1_000 });
    driver.channels.mute(true);
    const waiting = Array.from({ length: 3 }, () => watched(other.acquire({ leaseMs: 1_000 })));
    for (let count = 0; count <= waiting.length; count++) {
      expect(waiting.filter(entered)).toHaveLength(count);
      await clock.advance(1_000 + ROUNDED_MS);
    }
  });

  test("enters when the permits of a task before it that has several end", async () => {
    const { semaphore, connect, clock } = open();
    const { holdfast, driver } = connect(patient);
    const other = holdfast.getPermitExpirableSemaphore("a");
    await semaphore.trySetPermits(2);
    await semaphore.acquire({ leaseMs: 500 });
    await semaphore.acquire({ leaseMs: 3_000 });
    driver.channels.mute(true);
    const waiting = [
      watched(other.acquire({ leaseMs: HOUR_MS })),
      watched(other.acquire({ leaseMs: HOUR_MS })),
    ];
    await clock.advance(500 + ROUNDED_MS);
    expect(waiting.map(entered)).toEqual([true, false]);
    await clock.advance(2_500);
    expect(waiting.map(entered)).toEqual([true, true]);
  });

  test("asks once in each safety period when they are permanent, and so survives a lost message [wire-L13]", async () => {
    const { semaphore, connect, clock } = open();
    const { holdfast, driver } = connect({ safetyPeriodMs: 5_000 });
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire();
    driver.channels.mute(true);
    const waiting = watched(holdfast.getPermitExpirableSemaphore("a").acquire({ leaseMs: HOUR_MS }));
    await clock.advance(60_000);
    const asked = driver.timesOf(ACQUIRE).length;
    // Each is drawn from 4 to 5 s.
    expect(asked).toBeGreaterThanOrEqual(2 + 60 / 5);
    expect(asked).toBeLessThanOrEqual(2 + 60 / 4);
    await permits.release();
    await clock.advance(5_000);
    expect(entered(waiting)).toBe(true);
  });

  test("enters when its own time ends later, and is refused when that ends first", async () => {
    const { semaphore, connect, clock } = open();
    const other = connect(patient).holdfast.getPermitExpirableSemaphore("a");
    await semaphore.trySetPermits(1);
    await semaphore.acquire({ leaseMs: 10_000 });
    const waiting = [9_999, 11_000].map((waitMs) => watched(other.tryAcquire({ waitMs, leaseMs: HOUR_MS })));
    await clock.advance(9_999);
    expect(waiting.map(({ outcome }) => outcome)).toEqual([{ value: null }, undefined]);
    await clock.advance(ROUNDED_MS);
    expect(waiting.map(entered)).toEqual([false, true]);
  });
});

describe("those who wait in one client", () => {
  test("are all served at once when enough permits come at once, first come, first served", async () => {
    const { semaphore, connect, clock } = open();
    const { holdfast, driver } = connect(patient);
    const other = holdfast.getPermitExpirableSemaphore("a");
    await semaphore.trySetPermits(3);
    const { ids } = await semaphore.acquire(3);
    const order: number[] = [];
    const waiting = Array.from({ length: 5 }, (_, i) =>
      watched(
        other.acquire().then((permits) => {
          order.push(i);
          return permits;
        }),
      ),
    );
    await clock.advance(0);
    await semaphore.release(ids);
    await clock.advance(0);
    expect(waiting.map(entered)).toEqual([true, true, true, false, false]);
    expect(order).toEqual([0, 1, 2]);
    // Two before any came, one for each that entered, and at most one more that finds none left.
    expect(driver.timesOf(ACQUIRE).length).toBeLessThanOrEqual(2 + 3 + 1);
  });

  test("are told when the one that was woken gives up [wire-L9]", async () => {
    const { semaphore, connect, clock, server } = open();
    const other = connect(patient).holdfast.getPermitExpirableSemaphore("a");
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire();
    const leaving = new AbortController();
    const [first, second] = [
      watched(other.acquire({ signal: leaving.signal })),
      watched(other.acquire({ leaseMs: HOUR_MS })),
    ];
    await clock.advance(0);
    server.subscribe(CHANNEL, () => leaving.abort(new Error("gone")));
    await permits.release();
    await clock.advance(10);
    expect([first.outcome, entered(second)]).toEqual([{ error: new Error("gone") }, true]);
  });

  test("for one permit are not held up by one who waits for more than there are [wire-L14] [B28]", async () => {
    const { semaphore, connect, clock } = open();
    const other = connect(patient).holdfast.getPermitExpirableSemaphore("a");
    await semaphore.trySetPermits(2);
    const [one] = [await semaphore.acquire(), await semaphore.acquire()];
    const [big, small] = [watched(other.acquire(2)), watched(other.acquire({ leaseMs: HOUR_MS }))];
    await clock.advance(0);
    await one.release();
    await clock.advance(0);
    expect([entered(big), entered(small)]).toEqual([false, true]);
  });

  test("leave nothing behind when they are cancelled or their time is up", async () => {
    const { semaphore, connect, clock, stored, server } = open();
    const { holdfast } = connect(patient);
    const other = holdfast.getPermitExpirableSemaphore("a");
    await semaphore.trySetPermits(2);
    await semaphore.acquire(2);
    const leaving = new AbortController();
    const waiting = [
      watched(other.acquire({ signal: leaving.signal })),
      watched(other.acquire(2, { signal: leaving.signal })),
      watched(other.tryAcquire({ waitMs: 2_500 })),
      watched(other.tryAcquire(2, { waitMs: 2_500 })),
    ];
    await clock.advance(2_500);
    leaving.abort(new Error("gone"));
    await clock.advance(15_000);
    expect(waiting.map(({ outcome }) => outcome !== undefined)).toEqual([true, true, true, true]);
    expect(stored()).toEqual({ available: 0, acquired: 2 });
    const keys = Object.keys(server.dump()).filter((key) => !isRequestKey(key));
    expect(keys.sort()).toEqual(["a", "{a}:timeout"].sort());
    expect(clock.pendingTimers).toBe(0);
  });
});

describe("waiters of one permit and of two, mixed", () => {
  test("a waiter of two is not starved by a stream of ones of its own client [B28]", async () => {
    const { semaphore, clock } = open();
    await semaphore.trySetPermits(2);
    const ones = stream(semaphore, clock, 4);
    await clock.advance(1_000);
    const two = watched(semaphore.using(2, () => "entered"));
    await clock.advance(10_000);
    expect(two.outcome).toEqual({ value: "entered" });
    await ones.stop();
  });

  test("a waiter of two is not starved by a stream of ones of other clients [B28]", async () => {
    const { semaphore, connect, clock } = open();
    await semaphore.trySetPermits(2);
    const others = [connect(), connect()].map(({ holdfast }) => holdfast.getPermitExpirableSemaphore("a"));
    const streams = others.map((other) => stream(other, clock, 2));
    await clock.advance(1_000);
    const two = watched(semaphore.using(2, () => "entered"));
    await clock.advance(10_000);
    expect(two.outcome).toEqual({ value: "entered" });
    await Promise.all(streams.map((ones) => ones.stop()));
  });

  test("ones get their turns beside a waiter of more than there are, and all is theirs when it gives up [B28]", async () => {
    const { semaphore, connect, clock } = open();
    await semaphore.trySetPermits(2);
    const ones = stream(connect().holdfast.getPermitExpirableSemaphore("a"), clock, 3);
    const leaving = new AbortController();
    const impossible = watched(semaphore.acquire(3, { signal: leaving.signal }));
    await clock.advance(4_000);
    const first = ones.visits;
    expect(first).toBeGreaterThan(0);
    await clock.advance(6_000);
    const second = ones.visits;
    expect(second).toBeGreaterThan(first);
    leaving.abort(new Error("gone"));
    await clock.advance(1_000);
    expect(impossible.outcome).toEqual({ error: new Error("gone") });
    expect(ones.visits).toBeGreaterThan(second);
    await ones.stop();
    expect(await semaphore.availablePermits()).toBe(2);
  });

  test("permits that were saved up go to others at once when the one they were for gives up", async () => {
    const { semaphore, connect, clock, server, stored } = open();
    const other = connect(patient).holdfast.getPermitExpirableSemaphore("a");
    await semaphore.trySetPermits(2);
    await other.acquire({ leaseMs: HOUR_MS });
    const leaving = new AbortController();
    const two = watched(semaphore.acquire(2, { signal: leaving.signal }));
    // It begins after a second or two.
    for (let i = 0; i < 25 && server.command("EXISTS", SAVED) === 0; i++) await clock.advance(100);
    expect([stored().available, await other.tryAcquire()]).toEqual([1, null]);
    const one = watched(other.acquire({ leaseMs: HOUR_MS }));
    await clock.advance(0);
    expect(one.outcome).toBeUndefined();
    leaving.abort(new Error("gone"));
    await clock.advance(10);
    expect([two.outcome, entered(one)]).toEqual([{ error: new Error("gone") }, true]);
  });

  test("permits whose leases end are saved up for a waiter of two as well as those that are released [B28]", async () => {
    const { semaphore, connect, clock } = open();
    await semaphore.trySetPermits(2);
    const other = connect().holdfast.getPermitExpirableSemaphore("a");
    let going = true;
    // They never release: each permit comes back at the end of its lease, one at a time.
    const forgetful = async (at: number) => {
      await new Promise<void>((resolve) => clock.schedule(1 + at * 150, resolve));
      while (going) {
        const lost = await other.acquire({ leaseMs: 300 });
        await new Promise<void>((resolve) => lost.signal.addEventListener("abort", () => resolve()));
      }
    };
    const done = Promise.all([0, 1, 2, 3].map(forgetful));
    await clock.advance(1_000);
    const two = watched(semaphore.using(2, () => "entered"));
    await clock.advance(10_000);
    expect(two.outcome).toEqual({ value: "entered" });
    going = false;
    await clock.advance(10_000);
    await done;
  });
});
