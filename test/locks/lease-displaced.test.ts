import { describe, expect, test } from "vitest";
import { events } from "../../src/events.js";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import { answerLate, deliverLate } from "../support/faults/call-faults.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { watched } from "../support/run/watched.js";
import { backends, openedFor } from "../support/servers/backends.js";
import { fakeTime } from "../support/worlds/fake-time.js";

endRecordings();
const open = fakeTime();

const plainKinds: readonly (readonly [string, (client: Holdfast) => Lock])[] = [
  ["lock", (client) => client.getLock("a")],
  ["non-reentrant lock", (client) => client.getNonReentrantLock("a")],
  ["fair lock", (client) => client.getFairLock("a")],
  ["spin lock", (client) => client.getSpinLock("a")],
  ["multi lock", (client) => client.getMultiLock(client.getLock("a"), client.getLock("b"))],
  ["red lock", (client) => client.getRedLock(client.getLock("a"))],
];

describe.each(backends)("on $name, a lease that was removed in Redis", (backend) => {
  const server = openedFor(backend);

  test.each(plainKinds)(
    "of a %s is lost when its client takes the lock as a stranger [own-21]",
    async (_kind, of) => {
      const client = server().client();
      const lost = recorded(events.leaseLost);
      const stale = await of(client).lock({ leaseMs: 600_000 });
      await server().raw("DEL", "a", "b");
      expect(stale.state).toBe("held");
      const lease = await of(client).tryLock();
      expect(stale.state).toBe("lost");
      expect(() => stale.assertHeld()).toThrow("removed or taken over");
      expect(new Set(lost.map(({ reason }) => reason))).toEqual(new Set(["stolen"]));
      expect(lease?.state).toBe("held");
      await expect(stale.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
      expect(lease?.state).toBe("held");
      await lease?.unlock();
    },
  );

  test("is lost by an acquisition that waits, and by one of another kind of lock on the same key", async () => {
    const client = server().client();
    const first = await client.getLock("a").lock({ leaseMs: 600_000 });
    await server().raw("DEL", "a");
    const second = await client.getFencedLock("a").lock({ leaseMs: 600_000 });
    expect(first.state).toBe("lost");
    await server().raw("DEL", "a", "redisson_lock_token:{a}");
    await client.getLock("a").using(() => expect(second.state).toBe("lost"));
  });

  test("of a reader is lost when its client writes", async () => {
    const client = server().client();
    const pair = client.getReadWriteLock("a");
    const reads = [await pair.readLock().lock(), await pair.readLock().lock()];
    await server().raw("DEL", "a");
    const lease = await pair.writeLock().lock();
    expect(reads.map(({ state }) => state)).toEqual(["lost", "lost"]);
    await lease.unlock();
    for (const { holder } of reads) await server().raw("DEL", `{a}:${holder}:rwlock_timeout:1`);
  });

  test("of a writer is lost when its client reads; readers do not exclude each other", async () => {
    const client = server().client();
    const pair = client.getReadWriteLock("a");
    const write = await pair.writeLock().lock();
    await server().raw("DEL", "a");
    const read = await pair.readLock().lock();
    expect(write.state).toBe("lost");
    const other = await pair.readLock().lock();
    expect([read.state, other.state]).toEqual(["held", "held"]);
    await Promise.all([read.unlock(), other.unlock()]);
  });
});

describe("nobody loses anything", () => {
  test("by reading beside the own write hold", async () => {
    const { holdfast } = open();
    const pair = holdfast.getReadWriteLock("a");
    const write = await pair.writeLock().lock();
    await write.run(() => pair.readLock().using(() => expect(write.state).toBe("held")));
    await write.unlock();
  });

  test("by a lock that is handed over, before Redis knows of it", async () => {
    const { holdfast, clock, driver } = open();
    const lost = recorded(events.leaseLost);
    const lease = await holdfast.getLock("a").lock();
    const waiting = watched(holdfast.getLock("a").lock());
    await clock.advance(0);
    const naming = deliverLate();
    void driver.next(naming, "lock-succeed");
    await lease.unlock();
    await clock.advance(0);
    const stranger = watched(holdfast.getLock("a").tryLock());
    await clock.advance(0);
    expect(stranger.outcome).toEqual({ value: null });
    await naming.arrive();
    await clock.advance(0);
    expect(waiting.outcome).toMatchObject({ value: { state: "held" } });
    expect(lost).toEqual([]);
    await holdfast.getLock("a").forceUnlock();
  });

  test("by a release of the own client that is under way", async () => {
    const { holdfast, clock, driver } = open();
    const lost = recorded(events.leaseLost);
    const lease = await holdfast.getLock("a").lock();
    const release = answerLate();
    void driver.next(release, "lock-release");
    const released = watched(lease.unlock());
    await clock.advance(0);
    const next = await holdfast.getLock("a").tryLock();
    release.arrive();
    await clock.advance(0);
    expect(next?.state).toBe("held");
    expect(released.outcome).toEqual({ value: undefined });
    expect(lost).toEqual([]);
    await next?.unlock();
  });

  test("by an answer that comes when its own lease is over: others may have had the lock since", async () => {
    const { holdfast, clock, driver } = open();
    const late = answerLate();
    void driver.next(late, "lock-acquire");
    const spent = watched(holdfast.getLock("a").tryLock({ leaseMs: 100 }));
    await clock.advance(200);
    const lease = await holdfast.getLock("a").lock();
    late.arrive();
    await clock.advance(0);
    expect(lease.state).toBe("held");
    expect(spent.outcome).toEqual({ value: null });
    await lease.unlock();
  });

  test("by an answer that comes after that of a later call, which has the lock since it was freed by force [own-57]", async () => {
    const { holdfast, clock, driver, connect } = open();
    const other = connect().holdfast;
    const lost = recorded(events.leaseLost);
    const late = answerLate();
    void driver.next(late, "lock-acquire");
    const early = watched(holdfast.getLock("a").tryLock());
    await clock.advance(10);
    await other.getLock("a").forceUnlock();
    const lease = await holdfast.getLock("a").lock();
    late.arrive();
    await clock.advance(0);
    expect(lease.state).toBe("held");
    expect(early.outcome).toEqual({ value: null });
    expect(lost).toEqual([]);
    await lease.unlock();
  });

  test("of other locks, however many there are and have been", async () => {
    const { holdfast } = open();
    const names = Array.from({ length: 300 }, (_, i) => `lock:${i}`);
    const kept = await Promise.all(names.slice(0, 20).map((name) => holdfast.getLock(name).lock()));
    for (const name of names.slice(20)) await holdfast.getLock(name).using(() => undefined);
    expect(kept.every(({ state }) => state === "held")).toBe(true);
    await Promise.all(kept.map((lease) => lease.unlock()));
  });
});

test("a lease whose time is over is told as expired, whoever takes the lock [own-21]", async () => {
  const { holdfast, clock } = open();
  const lease = await holdfast.getLock("a").lock({ leaseMs: 100 });
  await clock.advance(101);
  // Nobody has looked at the lease, or listens.
  await holdfast.getLock("a").using(() => undefined);
  await expect(lease.unlock()).rejects.toMatchObject({ cause: { reason: "expired", heldMs: 97 } });
});
