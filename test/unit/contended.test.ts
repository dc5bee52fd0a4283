import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, describe, expect, test } from "vitest";
import { type ContendedEvent, events } from "../../src/events.js";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import { answerLate } from "../support/faults/call-faults.js";
import { aboutOf, endRecordings, recorded } from "../support/run/recorded-events.js";
import { type Watched, watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

const open = fakeTime();
endRecordings();
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

type LockOf = (holdfast: Holdfast) => Lock;
/** Those for which the calls of one client stand in one line. */
const inLine: readonly (readonly [kind: string, lockOf: LockOf])[] = [
  ["lock", (holdfast) => holdfast.getLock("a")],
  ["non-reentrant-lock", (holdfast) => holdfast.getNonReentrantLock("a")],
  ["spin-lock", (holdfast) => holdfast.getSpinLock("a")],
  ["fenced-lock", (holdfast) => holdfast.getFencedLock("a")],
  ["write-lock", (holdfast) => holdfast.getReadWriteLock("a").writeLock()],
];

async function release(
  time: FakeTime,
  calls: readonly Watched<{ unlock(): Promise<void> }>[],
): Promise<void> {
  for (const call of calls) {
    for (let i = 0; call.outcome === undefined && i < 100; i += 1) await time.clock.advance(100);
    if (call.outcome === undefined || "error" in call.outcome) throw new Error("it did not get the lock");
    const unlocking = call.outcome.value.unlock();
    await time.clock.advance(10);
    await unlocking;
  }
  time.server.command("DEL", "redisson_lock_token:{a}");
}

describe("holdfast:lock:contended", () => {
  test.each(inLine)(
    "comes for each call for a %s of one client, that of the first when Redis has answered [own-71]",
    async (kind, of) => {
      const time = open();
      const lease = await of(time.connect().holdfast).lock({ leaseMs: 60_000 });
      await time.holdfast.getLock("z").using(() => undefined);
      const contended = recorded(events.contended);
      const lock = of(time.holdfast);
      const calls = [1, 2, 3].map(() => watched(lock.lock()));
      const about = { ...aboutOf(time), name: "a", kind };
      const unseen = { ...about, holder: "", ttlMs: -1, own: false };
      expect(contended).toEqual([
        { ...unseen, behind: 1 },
        { ...unseen, behind: 2 },
      ]);
      await time.clock.advance(1_000);
      const { holder } = lease;
      expect(contended[2]).toEqual({ ...about, holder, ttlMs: 60_000, own: false, behind: 0 });
      calls.push(watched(lock.lock()));
      const { ttlMs } = contended[3] ?? {};
      expect(contended.slice(3)).toEqual([{ ...about, holder, ttlMs, own: false, behind: 3 }]);
      expect(ttlMs).toBe(59_000);
      await lease.unlock();
      await release(time, calls);
      expect(contended).toHaveLength(4);
    },
  );

  test("names the holder that the line has seen last, also one of its own client", async () => {
    const time = open();
    const contended = recorded(events.contended);
    const lock = time.holdfast.getLock("a");
    const lease = await lock.lock();
    const calls = [watched(lock.lock())];
    await time.clock.advance(4_000);
    calls.push(watched(lock.lock()));
    const told = contended.map(({ holder, ttlMs, own, behind }) => ({ holder, ttlMs, own, behind }));
    expect(told).toEqual([
      { holder: lease.holder, ttlMs: 30_000, own: true, behind: 0 },
      { holder: lease.holder, ttlMs: 26_000, own: true, behind: 1 },
    ]);
    await lease.unlock();
    await release(time, calls);
  });

  test("counts, for a fair lock, those of the client who stand in its queue, each of which asks", async () => {
    const time = open();
    const contended = recorded(events.contended);
    const lock = time.holdfast.getFairLock("a");
    const lease = await time.connect().holdfast.getFairLock("a").lock();
    const calls: Watched<{ unlock(): Promise<void> }>[] = [];
    for (let i = 0; i < 3; i += 1) {
      calls.push(watched(lock.lock()));
      await time.clock.advance(10);
    }
    const told = contended.map(({ holder, behind, kind }) => [kind, holder, behind]);
    expect(told).toEqual([0, 1, 2].map((behind) => ["fair-lock", lease.holder, behind]));
    await lease.unlock();
    await release(time, calls);
  });

  test("comes for a call that stands in the queue of a fair lock that is free, with no holder", async () => {
    const time = open();
    const { clock, driver, holdfast } = time;
    await holdfast.getLock("z").using(() => undefined);
    const contended = recorded(events.contended);
    const answer = [clock.wallMs(), ["queued", -2, "", 0, 0, 1]];
    void driver.next({ name: "a queue that goes on", meet: async () => answer }, "fair-acquire");
    const call = watched(holdfast.getFairLock("a").lock());
    await clock.advance(0);
    const about = { ...aboutOf(time), name: "a", kind: "fair-lock" };
    expect(contended).toEqual([{ ...about, holder: "", ttlMs: -1, own: false, behind: 0 }]);
    await release(time, [call]);
  });

  test("comes once for a call whose first question was too late, when the next one is refused", async () => {
    const time = open({ commandTimeoutMs: 500 });
    const lease = await time.connect().holdfast.getLock("a").lock();
    await time.holdfast.getLock("z").using(() => undefined);
    const contended = recorded(events.contended);
    void time.driver.next({ name: "late", meet: async () => [time.clock.wallMs(), "late"] }, "lock-acquire");
    const call = watched(time.holdfast.getLock("a").tryLock());
    await time.clock.advance(100);
    expect([call.outcome, contended.length]).toEqual([{ value: null }, 1]);
    await lease.unlock();
  });

  test("comes for a call that waits for a sibling to leave the lock that both would enter once more", async () => {
    const time = open();
    const contended = recorded(events.contended);
    const lock = time.holdfast.getLock("a");
    const lease = await lock.lock();
    const inside = () =>
      lock.using(() => new Promise((resolve) => time.clock.schedule(1_000, () => resolve(0))));
    const siblings = watched(lease.run(() => Promise.all([inside(), inside(), inside()])));
    await time.clock.advance(500);
    const { holder } = lease;
    const about = { ...aboutOf(time), name: "a", kind: "lock", holder, own: true };
    const ttlMs = 30_000 - 302;
    expect(contended).toEqual([
      { ...about, ttlMs, behind: 1 },
      // It was the next, and is told once the first one is in.
      { ...about, ttlMs, behind: 0 },
    ]);
    await time.clock.advance(3_000);
    expect(siblings.outcome).toHaveProperty("value");
    await lease.unlock();
    expect(contended).toHaveLength(2);
  });

  test("comes once for each member of a multi lock, however often it was tried", async () => {
    const time = open({ safetyPeriodMs: 500 });
    const contended = recorded(events.contended);
    const [a, b] = [time.holdfast.getLock("a"), time.holdfast.getLock("b")];
    const other = time.connect().holdfast;
    const held = await other.getLock("b").lock();
    const call = watched(time.holdfast.getMultiLock(a, b).lock({ waitMs: 3_000 }));
    await time.clock.advance(4_000);
    expect(call.outcome).toHaveProperty("error");
    expect(contended.map(({ name, kind, behind }) => [name, kind, behind])).toEqual([["b", "lock", 0]]);
    await held.unlock();
  });

  test("tells two clients of one process apart", async () => {
    const time = open();
    const [first, second] = [time.connect(), time.connect()];
    const lease = await time.holdfast.getLock("a").lock();
    const contended = recorded(events.contended);
    for (const { holdfast } of [first, second]) expect(await holdfast.getLock("a").tryLock()).toBeNull();
    const clients = contended.map(({ clientId, server }) => ({ clientId, server }));
    expect(clients).toEqual([aboutOf(first), aboutOf(second)]);
    expect(new Set(clients.map(({ clientId }) => clientId)).size).toBe(2);
    await lease.unlock();
  });

  test("is not told of a call that begins to wait before somebody listens", async () => {
    const time = open();
    const lease = await time.connect().holdfast.getLock("a").lock();
    const call = watched(time.holdfast.getLock("a").lock());
    await time.clock.advance(100);
    const contended = recorded(events.contended);
    time.driver.channels.reconnect();
    await time.clock.advance(100);
    expect(contended).toEqual([]);
    await lease.unlock();
    await release(time, [call]);
  });
});

describe("holdfast:lock:contended of a semaphore", () => {
  const kinds = [
    ["semaphore", (holdfast: Holdfast) => holdfast.getSemaphore("s").acquire()],
    [
      "permit-expirable-semaphore",
      (holdfast: Holdfast) => holdfast.getPermitExpirableSemaphore("s").acquire(),
    ],
  ] as const;

  test.each(kinds)(
    "comes for each call that waits, and names no holder: %s [own-71]",
    async (kind, acquire) => {
      const time = open();
      time.server.command("SET", "s", 0);
      await time.holdfast.getLock("z").using(() => undefined);
      const contended = recorded(events.contended);
      const calls = [1, 2, 3].map(() => watched<unknown>(acquire(time.holdfast)));
      const about = { ...aboutOf(time), name: "s", kind, holder: "", ttlMs: -1, own: false };
      expect(contended.map(({ behind }) => behind)).toEqual([1, 2]);
      await time.clock.advance(1_000);
      expect(contended).toEqual([1, 2, 0].map((behind) => ({ ...about, behind })));
      time.server.command("SET", "s", 3);
      await time.clock.advance(30_000);
      expect(calls.every(({ outcome }) => outcome !== undefined && "value" in outcome)).toBe(true);
      expect(contended).toHaveLength(3);
      for (const key of ["s", "{s}:timeout"]) time.server.command("DEL", key);
    },
  );

  test("is told in the async context of its caller, also when Redis has answered", async () => {
    const time = open();
    time.server.command("SET", "s", 0);
    const storage = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    const hear = (_: ContendedEvent) => void seen.push(storage.getStore());
    events.contended.subscribe(hear);
    ends.push(() => events.contended.unsubscribe(hear));
    const semaphore = time.holdfast.getSemaphore("s");
    const calls = ["first", "second"].map((name) =>
      storage.run(name, () => watched(semaphore.acquire({ waitMs: 100 }))),
    );
    await time.clock.advance(200);
    expect(seen).toEqual(["second", "first"]);
    expect(calls.map(({ outcome }) => outcome)).toMatchObject([{ error: {} }, { error: {} }]);
    time.server.command("DEL", "s");
  });

  test("is not told of a call that was cancelled before Redis answered", async () => {
    const time = open();
    time.server.command("SET", "s", 0);
    await time.holdfast.getLock("z").using(() => undefined);
    const contended = recorded(events.contended);
    const late = answerLate();
    void time.driver.next(late, "semaphore-acquire");
    const leaving = new AbortController();
    const call = watched(time.holdfast.getSemaphore("s").acquire({ signal: leaving.signal }));
    await time.clock.advance(0);
    leaving.abort("gone");
    await time.clock.advance(0);
    late.arrive();
    await time.clock.advance(100);
    expect([call.outcome, contended]).toEqual([{ error: "gone" }, []]);
    time.server.command("DEL", "s");
  });
});
