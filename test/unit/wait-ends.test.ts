import { describe, expect, test } from "vitest";
import { type AcquireEvent, events, type LatchAwaitEvent } from "../../src/events.js";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import type { Lock } from "../../src/locks/lock.js";
import { deliverLate } from "../support/faults/call-faults.js";
import { endRecordings, recorded, recordedEnds } from "../support/run/recorded-events.js";
import { type Watched, watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

const open = fakeTime();
endRecordings();

const HOUR_MS = 3_600_000;
type Via = AcquireEvent["via"];
type LockOf = (holdfast: Holdfast) => Lock;

interface Kind {
  readonly of: LockOf;
  /** What its waiters wait for. Default: the same. */
  readonly held?: LockOf;
  /** How a release by another client lets a waiter in. Default: by a message. */
  readonly told?: Via;
}

const kinds: Readonly<Record<string, Kind>> = {
  lock: { of: (holdfast) => holdfast.getLock("a") },
  "non-reentrant lock": { of: (holdfast) => holdfast.getNonReentrantLock("a") },
  // It listens to nothing.
  "spin lock": { of: (holdfast) => holdfast.getSpinLock("a"), told: "timer" },
  "fenced lock": { of: (holdfast) => holdfast.getFencedLock("a") },
  "fair lock": { of: (holdfast) => holdfast.getFairLock("a"), told: "grant" },
  "non-reentrant fair lock": { of: (holdfast) => holdfast.getNonReentrantFairLock("a"), told: "grant" },
  "read lock": {
    of: (holdfast) => holdfast.getReadWriteLock("a").readLock(),
    held: (holdfast) => holdfast.getReadWriteLock("a").writeLock(),
  },
  "write lock": { of: (holdfast) => holdfast.getReadWriteLock("a").writeLock() },
  "multi lock": {
    of: (holdfast) => holdfast.getMultiLock(holdfast.getLock("a"), holdfast.getLock("b")),
    held: (holdfast) => holdfast.getLock("a"),
  },
  "red lock": {
    of: (holdfast) => holdfast.getRedLock(...["a", "b", "c"].map((name) => holdfast.getLock(name))),
    held: (holdfast) => holdfast.getMultiLock(holdfast.getLock("a"), holdfast.getLock("b")),
  },
};
const all = Object.entries(kinds).map(([kind, { of, held = of, told = "message" }]) => ({
  kind,
  of,
  held,
  told,
}));
const listening = all.filter(({ kind }) => kind !== "spin lock");

/** The counter of a fenced lock stays, whatever becomes of the lock. */
async function leave(time: FakeTime, leases: readonly Lease[]): Promise<void> {
  for (const lease of leases) {
    const unlocking = lease.unlock();
    await time.clock.advance(10);
    await unlocking;
  }
  time.server.command("DEL", "redisson_lock_token:{a}");
}

function broughtBy<T>(call: Watched<T>): T {
  if (call.outcome === undefined || "error" in call.outcome) throw new Error("it has not come in");
  return call.outcome.value;
}

/** What was told of a call that has waited until now, and has come in. */
async function waited(time: FakeTime, call: Watched<Lease>, ended: readonly AcquireEvent[]): Promise<Via> {
  for (let i = 0; call.outcome === undefined && i < 200; i += 1) await time.clock.advance(100);
  const { via, outcome } = ended.at(-1) ?? {};
  expect(outcome).toBe("acquired");
  await leave(time, [broughtBy(call)]);
  return via;
}

describe("an acquisition tells that it came in", () => {
  test.each(all)("at once: $kind", async ({ of }) => {
    const time = open();
    const ended = recordedEnds(events.acquire);
    const contended = recorded(events.contended);
    const lease = await of(time.holdfast).lock();
    expect(ended.map(({ via }) => via)).toEqual(["free"]);
    expect(contended).toEqual([]);
    await leave(time, [lease]);
    const tried = await of(time.holdfast).tryLock();
    expect(ended.at(-1)).toMatchObject({ via: "free" });
    await leave(time, tried === null ? [] : [tried]);
  });

  test.each(all)(
    "when a message has told of the release, or has given it the lock: $kind",
    async ({ of, held, told }) => {
      const time = open({ safetyPeriodMs: HOUR_MS });
      const ended = recordedEnds(events.acquire);
      const lease = await held(time.connect().holdfast).lock();
      const call = watched(of(time.holdfast).lock());
      await time.clock.advance(1_000);
      await lease.unlock();
      expect(await waited(time, call, ended)).toBe(told);
    },
  );

  test.each(all)("when the lease that it saw was over: $kind", async ({ of, held }) => {
    const time = open({ safetyPeriodMs: HOUR_MS });
    const ended = recordedEnds(events.acquire);
    await held(time.connect().holdfast).lock({ leaseMs: 2_000 });
    const call = watched(of(time.holdfast).lock());
    expect(await waited(time, call, ended)).toBe("timer");
  });

  test.each(listening)("by its own clock when the message was lost: $kind [own-72]", async ({ of, held }) => {
    const time = open({ safetyPeriodMs: 5_000 });
    const ended = recordedEnds(events.acquire);
    const lease = await held(time.connect().holdfast).lock();
    const call = watched(of(time.holdfast).lock());
    await time.clock.advance(1_000);
    time.driver.channels.mute(true);
    await lease.unlock();
    expect(await waited(time, call, ended)).toBe("timer");
  });

  test.each(listening)("when messages arrive again that it may have missed: $kind", async ({ of, held }) => {
    const time = open({ safetyPeriodMs: HOUR_MS });
    const ended = recordedEnds(events.acquire);
    const lease = await held(time.connect().holdfast).lock();
    const call = watched(of(time.holdfast).lock());
    await time.clock.advance(1_000);
    time.driver.channels.mute(true);
    await lease.unlock();
    await time.clock.advance(100);
    time.driver.channels.mute(false);
    time.driver.channels.reconnect();
    expect(await waited(time, call, ended)).toBe("reconnect");
  });

  test("when its subscription stands, and the release came before it", async () => {
    const time = open({ safetyPeriodMs: HOUR_MS });
    const ended = recordedEnds(events.acquire);
    const lease = await time.connect().holdfast.getLock("a").lock();
    const subscribe = time.driver.channels.hold();
    const call = watched(time.holdfast.getLock("a").lock());
    await time.clock.advance(100);
    await lease.unlock();
    subscribe();
    expect(await waited(time, call, ended)).toBe("reconnect");
  });

  test.each(["lock", "non-reentrant lock"])("when a call of its client hands it on: %s", async (kind) => {
    const time = open();
    const ended = recordedEnds(events.acquire);
    const lock = kinds[kind]?.of(time.holdfast);
    const lease = await lock?.lock();
    const call = watched(Promise.resolve(lock?.lock()));
    await time.clock.advance(1_000);
    await lease?.unlock();
    await time.clock.advance(0);
    expect(ended.at(-1)?.via).toBe("hand-off");
    const next = broughtBy(call);
    await leave(time, next === undefined ? [] : [next]);
  });

  test("when a call of its client has freed it, and could not hand it on", async () => {
    const time = open({ safetyPeriodMs: HOUR_MS });
    const ended = recordedEnds(events.acquire);
    const lock = time.holdfast.getLock("a");
    const lease = await lock.lock();
    const call = watched(lock.lock({ threadId: 7 }));
    await time.clock.advance(1_000);
    await lease.unlock();
    expect(await waited(time, call, ended)).toBe("release");
  });

  test("when a call under its chosen id has left the lock for which it waited to begin anew", async () => {
    const time = open();
    const ended = recordedEnds(events.acquire);
    const contended = recorded(events.contended);
    const lock = time.holdfast.getLock("a");
    await (await lock.lock({ threadId: 7 })).unlock();
    const first = watched(lock.lock({ threadId: 7 }));
    const second = watched(lock.lock({ threadId: 7 }));
    await time.clock.advance(100);
    expect(ended.slice(1).map(({ via, holdCount }) => [via, holdCount])).toEqual([
      ["free", 1],
      ["re-entry", 2],
    ]);
    // It has waited for a command of its own thread, and for no other holder.
    expect(contended).toEqual([]);
    await leave(time, [broughtBy(second), broughtBy(first)]);
  });

  test.each(all.filter(({ kind }) => !kind.startsWith("non-")))(
    "by entering once more: $kind",
    async ({ of }) => {
      const time = open();
      const ended = recordedEnds(events.acquire);
      const lease = await of(time.holdfast).lock();
      const inner = await lease.run(() => of(time.holdfast).lock());
      expect(inner.holdCount).toBe(2);
      expect(ended.map(({ via }) => via)).toEqual(["free", "re-entry"]);
      await leave(time, [inner, lease]);
    },
  );

  test("by reading beside its own write lock", async () => {
    const time = open();
    const ended = recordedEnds(events.acquire);
    const pair = time.holdfast.getReadWriteLock("a");
    const write = await pair.writeLock().lock();
    const read = await write.run(() => pair.readLock().lock());
    expect(ended.map(({ via }) => via)).toEqual(["free", "re-entry"]);
    await leave(time, [read, write]);
  });

  test("by itself when what it got first came too late to be of use", async () => {
    const time = open();
    const ended = recordedEnds(events.acquire);
    await time.holdfast.getLock("z").using(() => undefined);
    const late = deliverLate();
    void time.driver.next(late, "lock-acquire");
    const call = watched(time.holdfast.getLock("a").lock({ leaseMs: 100 }));
    await time.clock.advance(500);
    await late.arrive();
    await time.clock.advance(10_000);
    expect(call.outcome).toHaveProperty("value");
    expect(ended.at(-1)).toMatchObject({ outcome: "acquired", via: "timer", attempts: 2 });
  });

  test.each(["timeout", "refused", "cancelled"])(
    "only where it did: not of one that was %s",
    async (outcome) => {
      const time = open();
      const ended = recordedEnds(events.acquire);
      const lease = await time.connect().holdfast.getLock("a").lock();
      const leaving = new AbortController();
      const options = {
        timeout: { waitMs: 50 },
        refused: { waitMs: 0 },
        cancelled: { signal: leaving.signal },
      };
      const call = watched(time.holdfast.getLock("a").lock(options[outcome as keyof typeof options]));
      await time.clock.advance(100);
      leaving.abort("gone");
      await time.clock.advance(0);
      expect(call.outcome).toHaveProperty("error");
      expect([ended.at(-1)?.outcome, ended.at(-1)?.via]).toEqual([outcome, undefined]);
      await lease.unlock();
    },
  );
});

/** Calls that wait for something that other processes count. */
const counted = [
  {
    kind: "semaphore",
    key: "s",
    channel: "redisson_sc:{s}",
    shut: "0",
    wait: (holdfast: Holdfast): Promise<unknown> => holdfast.getSemaphore("s").acquire(),
    channelOf: events.acquire,
  },
  {
    kind: "permit-expirable semaphore",
    key: "s",
    channel: "redisson_sc:{s}",
    shut: "0",
    wait: (holdfast: Holdfast): Promise<unknown> => holdfast.getPermitExpirableSemaphore("s").acquire(),
    channelOf: events.acquire,
  },
  {
    kind: "latch",
    key: "l",
    channel: "redisson_countdownlatch__channel__{l}",
    shut: "1",
    wait: (holdfast: Holdfast): Promise<unknown> => holdfast.getCountDownLatch("l").await(),
    channelOf: events.latchAwait,
  },
] as const;

describe.each(counted)(
  "a call for a $kind tells that it came in",
  ({ kind, key, channel, shut, wait, channelOf }) => {
    const shutIn = (time: FakeTime) => void time.server.command("SET", key, shut);
    const openIn = ({ server }: FakeTime) => {
      if (kind === "latch") server.command("DEL", key);
      else server.command("SET", key, 5);
    };
    const tell = ({ server }: FakeTime) =>
      void server.command("PUBLISH", channel, kind === "latch" ? "0" : "5");
    const recordedVias = () => {
      const ended: readonly (AcquireEvent | LatchAwaitEvent)[] = recordedEnds(
        channelOf as typeof events.acquire,
      );
      return () => ended.map(({ via }) => via);
    };
    /** Two calls of one client, of which the first asks. */
    const wait2 = async (time: FakeTime) => {
      shutIn(time);
      const calls = [watched(wait(time.holdfast)), watched(wait(time.holdfast))];
      await time.clock.advance(1_000);
      return calls;
    };
    const entered = async (time: FakeTime, calls: readonly Watched<unknown>[]) => {
      await time.clock.advance(0);
      for (const call of calls) expect(call.outcome).toHaveProperty("value");
      for (const each of ["s", "{s}:timeout", "l"]) time.server.command("DEL", each);
    };

    test("at once", async () => {
      const time = open();
      const vias = recordedVias();
      openIn(time);
      const call = watched(wait(time.holdfast));
      await entered(time, [call]);
      expect(vias()).toEqual(["free"]);
    });

    test("when a message has told of it, and the next one of its client by the first", async () => {
      const time = open({ safetyPeriodMs: HOUR_MS });
      const vias = recordedVias();
      const calls = await wait2(time);
      openIn(time);
      tell(time);
      await entered(time, calls);
      expect(vias().sort()).toEqual(["message", "release"]);
    });

    test("by its own clock when the message was lost", async () => {
      const time = open({ safetyPeriodMs: 5_000 });
      const vias = recordedVias();
      const calls = await wait2(time);
      openIn(time);
      await time.clock.advance(10_000);
      await entered(time, calls);
      expect(vias().sort()).toEqual(["release", "timer"]);
    });

    test("when messages arrive again that it may have missed", async () => {
      const time = open({ safetyPeriodMs: HOUR_MS });
      const vias = recordedVias();
      const calls = await wait2(time);
      openIn(time);
      time.driver.channels.reconnect();
      await entered(time, calls);
      expect(vias().sort()).toEqual(["reconnect", "release"]);
    });
  },
);
