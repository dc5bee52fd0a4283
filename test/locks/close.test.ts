import { AsyncResource } from "node:async_hooks";
import { describe, expect, test } from "vitest";
import { ClientClosedError, LeaseLostError, NotHeldError } from "../../src/errors.js";
import { events } from "../../src/events.js";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import { answerLate, neverDeliver } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
endRecordings();
const open = fakeTime();

const CLOSED = { error: expect.any(ClientClosedError) };

/** Everything that a client can be asked for. */
function allCalls(client: Holdfast): (() => Promise<unknown>)[] {
  const lock = client.getLock("a");
  return [
    () => lock.lock(),
    () => lock.tryLock(),
    () => lock.tryLock({ waitMs: 1_000 }),
    () => lock.using(() => "never"),
    () => lock.forceUnlock(),
    () => lock.isLocked(),
    () => lock.isHeldByCurrentThread(),
    () => lock.isHeldByThread(7),
    () => lock.getHoldCount(7),
    () => lock.remainTimeToLive(),
    () => client.inspect("a"),
    () => client.asThread(() => "never"),
  ];
}

describe("a closed client", () => {
  test("takes no new work, and sends nothing", async () => {
    const time = open();
    const { holdfast: client, driver } = time.connect();
    const calls = allCalls(client);
    await client.close();
    for (const call of calls) await expect(call()).rejects.toBeInstanceOf(ClientClosedError);
    expect(driver.names).toEqual([]);
  });

  test("takes no new work from the moment on in which it is asked to close", async () => {
    const time = open();
    const { holdfast: client, driver } = time.connect();
    const calls = allCalls(client);
    const lock = client.getLock("a");
    let leave = (): void => undefined;
    const body = watched(lock.using(() => new Promise<void>((resolve) => (leave = resolve))));
    await time.clock.advance(0);
    const closing = client.close({ graceMs: 10_000 });
    driver.calls.length = 0;
    for (const call of calls) await expect(call()).rejects.toBeInstanceOf(ClientClosedError);
    expect(driver.names).toEqual([]);
    leave();
    await closing;
    expect(body.outcome).toEqual({ value: undefined });
  });

  test("rejects whoever waits with ClientClosedError", async () => {
    const time = open();
    const [holder, client] = [time.connect().holdfast, time.connect().holdfast];
    const lease = await holder.getLock("a").lock();
    const lock = client.getLock("a");
    const calls = [lock.lock(), lock.tryLock({ waitMs: 60_000 }), lock.using(() => "never"), lock.lock()];
    const waiting = calls.map((call) => watched<unknown>(call));
    await time.clock.advance(0);
    await client.close();
    expect(waiting.map(({ outcome }) => outcome)).toEqual([CLOSED, CLOSED, CLOSED, CLOSED]);
    await lease.unlock();
  });

  test("can be closed twice, also at the same time and by await using", async () => {
    const time = open();
    const client = time.connect().holdfast;
    const lease = await client.getLock("a").lock();
    await Promise.all([client.close({ releaseHeld: true }), client.close()]);
    await client.close();
    await client[Symbol.asyncDispose]();
    expect(lease.state).toBe("lost");
    {
      await using scoped = time.connect().holdfast;
      await scoped.getLock("b").using(() => undefined);
    }
    const kept = time.connect().holdfast;
    {
      await using scoped = kept;
      expect(scoped).toBe(kept);
    }
    await expect(kept.getLock("a").lock()).rejects.toBeInstanceOf(ClientClosedError);
  });

  test("closes without having done anything", async () => {
    const time = open();
    const { holdfast: client, driver } = time.connect();
    await client.close();
    expect(driver.names).toEqual([]);
  });

  test("refuses a graceMs that is none, and can still be closed", async () => {
    const time = open();
    const client = time.connect().holdfast;
    for (const graceMs of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      await expect(client.close({ graceMs })).rejects.toBeInstanceOf(RangeError);
    }
    await client.getLock("a").using(() => undefined);
    await client.close();
    await expect(client.getLock("a").lock()).rejects.toBeInstanceOf(ClientClosedError);
  });
});

describe("what is held when a client closes", () => {
  test("is lost with reason closed, and stays in Redis until its TTL ends", async () => {
    const time = open();
    const client = time.connect().holdfast;
    const [renewed, fixed] = await Promise.all([
      client.getLock("renewed").lock(),
      client.getLock("fixed").lock({ leaseMs: 10_000 }),
    ]);
    const { signal } = renewed;
    await client.close();
    expect(signal.aborted).toBe(true);
    for (const lease of [renewed, fixed]) {
      expect(lease.state).toBe("lost");
      expect(lease.signal.reason).toBeInstanceOf(LeaseLostError);
      expect(lease.signal.reason).toMatchObject({ reason: "closed", holder: lease.holder });
      await expect(lease.unlock()).rejects.toBeInstanceOf(NotHeldError);
    }
    expect(Object.keys(time.server.dump())).toEqual(["renewed", "fixed"]);
    await time.clock.advance(10_001);
    expect(Object.keys(time.server.dump())).toEqual(["renewed"]);
    await time.clock.advance(20_000);
    expect(Object.keys(time.server.dump())).toEqual([]);
  });

  test("is freed with releaseHeld, re-entered or not, and those who wait for it are woken", async () => {
    const time = open();
    const [client, other] = [time.connect().holdfast, time.connect({ safetyPeriodMs: 60 * 60_000 }).holdfast];
    const outer = await client.getLock("a").lock();
    const inner = await outer.run(() => client.getLock("a").lock());
    const fixed = await client.getLock("b").lock({ leaseMs: 10_000 });
    const waiting = ["a", "b"].map((name) => watched(other.getLock(name).using(() => name)));
    await time.clock.advance(0);
    await client.close({ releaseHeld: true });
    await time.clock.advance(0);
    expect(waiting.map(({ outcome }) => outcome)).toEqual([{ value: "a" }, { value: "b" }]);
    for (const lease of [outer, inner, fixed]) {
      expect(lease.signal.reason).toMatchObject({ reason: "closed" });
    }
  });

  test("is freed with releaseHeld in batches, however much it is", async () => {
    const time = open();
    const { holdfast: client, driver } = time.connect();
    await Promise.all(Array.from({ length: 250 }, (_, i) => client.getLock(`many:${i}`).lock()));
    driver.calls.length = 0;
    await client.close({ releaseHeld: true });
    expect(driver.names).toEqual(["lock-release", "lock-release", "lock-release"]);
    expect(Object.keys(time.server.dump())).toEqual([]);
  });

  test("is freed with releaseHeld to its last key, also where the release of an inner read got lost", async () => {
    const time = open();
    const { holdfast: client, driver } = time.connect();
    const lock = client.getReadWriteLock("a").readLock();
    await lock.lock({ threadId: 7 });
    const inner = await lock.lock({ threadId: 7 });
    void driver.next(neverDeliver, "read-release");
    const unlocking = watched(inner.unlock());
    const closing = watched(client.close({ releaseHeld: true }));
    await time.clock.advance(10_000);
    expect([unlocking.outcome, closing.outcome]).toEqual([
      { error: expect.objectContaining({ code: "ERR_HOLDFAST_UNAVAILABLE" }) },
      { value: undefined },
    ]);
    expect(Object.keys(time.server.dump())).toEqual([]);
  });

  test("stays trusted for graceMs while bodies run, and renewed", async () => {
    const time = open();
    const client = time.connect({ watchdogMs: 3_000 }).holdfast;
    const seen: string[] = [];
    const body = watched(
      client.getLock("a").using(async (lease) => {
        for (let i = 0; i < 5; i++) {
          await new Promise<void>((resolve) => time.clock.schedule(1_000, resolve));
          seen.push(lease.state);
        }
        return "finished";
      }),
    );
    await time.clock.advance(0);
    const closing = watched(client.close({ graceMs: 6_000 }));
    await time.clock.advance(4_999);
    expect(closing.outcome).toBeUndefined();
    await time.clock.advance(1);
    expect(seen).toEqual(["held", "held", "held", "held", "held"]);
    expect(body.outcome).toEqual({ value: "finished" });
    expect(closing.outcome).toEqual({ value: undefined });
    expect(Object.keys(time.server.dump())).toEqual([]);
  });

  test("is lost when graceMs is over, also if its body goes on", async () => {
    const time = open();
    const client = time.connect().holdfast;
    let leave = (): void => undefined;
    const signals: AbortSignal[] = [];
    const body = watched(
      client.getLock("a").using((lease) => {
        signals.push(lease.signal);
        return new Promise<string>((resolve) => (leave = () => resolve("too late")));
      }),
    );
    const asThread = watched(client.asThread(() => new Promise<void>(() => undefined)));
    await time.clock.advance(0);
    const closing = watched(client.close({ graceMs: 2_000, releaseHeld: true }));
    await time.clock.advance(1_999);
    expect([closing.outcome, signals[0]?.aborted]).toEqual([undefined, false]);
    await time.clock.advance(1);
    expect(closing.outcome).toEqual({ value: undefined });
    expect(signals[0]?.reason).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "closed" });
    expect(Object.keys(time.server.dump())).toEqual([]);
    leave();
    await time.clock.advance(0);
    expect(body.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_LEASE_LOST", reason: "closed" } });
    expect(asThread.outcome).toBeUndefined();
  });

  test("does not include what is being released: that is released, and not lost", async () => {
    const time = open();
    const { holdfast: client, driver } = time.connect();
    const lease = await client.getLock("a").lock();
    const late = answerLate();
    const met = driver.next(late, "lock-release");
    const unlocking = watched(lease.unlock());
    await met;
    const closing = watched(client.close());
    late.arrive();
    await time.clock.advance(0);
    expect([unlocking.outcome, closing.outcome]).toEqual([{ value: undefined }, { value: undefined }]);
    expect(lease.state).toBe("released");
  });

  test("does not include what is being acquired: that is given back", async () => {
    const time = open();
    const { holdfast: client, driver } = time.connect();
    await client.getLock("b").using(() => undefined);
    const late = answerLate();
    const met = driver.next(late, "lock-acquire");
    const acquiring = watched(client.getLock("a").lock());
    await met;
    const closing = watched(client.close());
    await time.clock.advance(0);
    expect(acquiring.outcome).toEqual(CLOSED);
    late.arrive();
    await time.clock.advance(0);
    expect(closing.outcome).toEqual({ value: undefined });
    expect(Object.keys(time.server.dump())).toEqual([]);
  });
});

describe("closing with releaseHeld while a nested call enters", () => {
  const kinds: readonly [string, (client: Holdfast) => Lock][] = [
    ["a lock", (client) => client.getLock("a")],
    ["a fair lock", (client) => client.getFairLock("a")],
    ["a read lock", (client) => client.getReadWriteLock("a").readLock()],
    ["a write lock", (client) => client.getReadWriteLock("a").writeLock()],
  ];

  async function entering(lockOf: (client: Holdfast) => Lock) {
    const time = open();
    const { holdfast: client, driver } = time.connect();
    const lost = recorded(events.leaseLost);
    const lock = lockOf(client);
    const outer = await lock.lock();
    const inner = await outer.run(() => lock.lock());
    const late = answerLate();
    const met = driver.next(late, ({ script }) => script.name.endsWith("-acquire"));
    const nested = watched(outer.run(() => inner.run(() => lock.lock())));
    await met;
    // Behind the command that enters.
    const unlocking = watched(inner.unlock());
    const closing = watched(client.close({ releaseHeld: true }));
    await time.clock.advance(0);
    late.arrive();
    await time.clock.advance(0);
    expect([nested.outcome, closing.outcome]).toEqual([CLOSED, { value: undefined }]);
    return { time, unlocking, lost: lost.map(({ reason }) => reason) };
  }

  test.each(kinds)(
    "tells the loss of what was held, as closed, and nothing as stolen: %s [own-98]",
    async (_, lockOf) => {
      const { time, unlocking, lost } = await entering(lockOf);
      expect(lost).toEqual(["closed"]);
      expect(unlocking.outcome).toEqual({ value: undefined });
      expect(time.server.dump()).toEqual({});
    },
  );
});

describe("closing ends in time, and leaves nothing behind", () => {
  test("within graceMs and three command timeouts when nothing is answered any more [B40]", async () => {
    const time = open();
    const { holdfast: client, driver } = time.connect({ commandTimeoutMs: 500 });
    const lease = await client.getLock("a").lock();
    const other = await client.getLock("b").lock();
    let leave = (): void => undefined;
    const body = watched(lease.run(() => new Promise<void>((resolve) => (leave = resolve))));
    for (let i = 0; i < 1_000; i++) void driver.next(neverDeliver);
    const unlocking = watched(other.unlock());
    const waiting = watched(client.getLock("c").lock());
    await time.clock.advance(0);
    const closing = watched(client.close({ graceMs: 1_000, releaseHeld: true }));
    await time.clock.advance(1_000 + 3 * 500);
    expect(closing.outcome).toEqual({ value: undefined });
    expect(waiting.outcome).toEqual(CLOSED);
    expect(unlocking.outcome).toHaveProperty("error");
    expect(lease.signal.reason).toMatchObject({ reason: "closed" });
    leave();
    await time.clock.advance(0);
    expect(body.outcome).toEqual({ value: undefined });
    expect(time.clock.pendingTimers).toBe(0);
    time.server.flush();
  });

  test("leaves nothing that each await of the process would have to carry on", async () => {
    const time = open();
    const used = async () => {
      const client = time.connect().holdfast;
      await client.getLock("a").using(() => client.asThread(() => undefined));
      await client.close();
    };
    const carried = () => Object.getOwnPropertySymbols(new AsyncResource("probe")).length;
    await used();
    const before = carried();
    for (let i = 0; i < 5; i++) await used();
    expect(carried()).toBe(before);
  });
});
