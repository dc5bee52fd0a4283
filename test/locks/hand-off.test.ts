import { describe, expect, test } from "vitest";
import { ServerReplyError } from "../../src/driver/driver.js";
import type { Lease } from "../../src/lease.js";
import {
  answerLate,
  answerWith,
  deliverLate,
  deliverTwice,
  loseReply,
  neverDeliver,
  rejectAtOnce,
  swallowReply,
} from "../support/faults/call-faults.js";
import { type Watched, watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";
import {
  arrived,
  got,
  HOUR_MS,
  KEY,
  microtasks,
  PATIENT,
  scenes,
  scripts,
} from "../support/worlds/hand-off-scene.js";

const open = fakeTime();
const scene = scenes(open);

describe("a lock that is released while a call of the same client waits", () => {
  test("is that call's at once, and Redis is told of it by one command", async () => {
    const { time, holder, waiting } = await scene();
    void holder.unlock();
    await microtasks();
    const lease = got(waiting[0]);
    expect([holder.state, lease.state, lease.holdCount]).toEqual(["released", "held", 1]);
    expect(scripts(time)).toEqual(["lock-succeed"]);
    await time.clock.advance(0);
    expect(time.fields(KEY)).toEqual({ [lease.holder]: "1" });
    await arrived(time, watched(lease.unlock()));
    expect(scripts(time)).toEqual(["lock-succeed", "lock-release"]);
    expect(time.fields(KEY)).toEqual({});
  });

  test("passes through many calls in the order in which they came, while Redis is told of few", async () => {
    const { time, lock, holder, waiting } = await scene(Array.from({ length: 20 }, () => ({})));
    const entered: number[] = [];
    void holder.unlock();
    for (const [at, waiter] of waiting.entries()) {
      await microtasks();
      entered.push(at);
      expect(waiting.filter(({ outcome }) => outcome !== undefined)).toHaveLength(at + 1);
      expect(scripts(time)).toEqual(["lock-succeed"]);
      if (at < 19) void got(waiter).unlock();
    }
    await time.clock.advance(0);
    const last = got(waiting.at(-1));
    expect(scripts(time)).toEqual(["lock-succeed", "lock-succeed"]);
    expect(time.fields(KEY)).toEqual({ [last.holder]: "1" });
    expect(await arrived(time, watched(lock.tryLock()))).toBeNull();
    await arrived(time, watched(last.unlock()));
  });

  test("is freed where handOff is false, and for the other kinds", async () => {
    const { time, holder, waiting } = await scene([{}], { handOff: false });
    void holder.unlock();
    await microtasks();
    expect([scripts(time), waiting[0]?.outcome]).toEqual([["lock-release"], undefined]);
    await arrived(time, watched((await arrived(time, waiting[0] as Watched<Lease>)).unlock()));
    const fenced = time.holdfast.getFencedLock("fenced");
    const one = await arrived(time, watched(fenced.lock()));
    const other = watched(fenced.lock());
    await time.clock.advance(0);
    time.driver.sent.length = 0;
    void one.unlock();
    await microtasks();
    expect([scripts(time), other.outcome]).toEqual([["lock-release"], undefined]);
    await arrived(time, watched((await arrived(time, other)).unlock()));
    time.server.command("DEL", "redisson_lock_token:{fenced}");
  });

  test("is a non-reentrant lock's likewise", async () => {
    const time = open(PATIENT);
    const lock = time.holdfast.getNonReentrantLock(KEY);
    const holder = await arrived(time, watched(lock.lock()));
    const waiting = watched(lock.lock());
    await time.clock.advance(0);
    void holder.unlock();
    await microtasks();
    await arrived(time, watched(got(waiting).unlock()));
    expect(time.driver.names.slice(-2)).toEqual(["lock-succeed", "lock-release"]);
  });

  test("is freed while the holder has entered it twice, has chosen its id, or is hardly trusted any more", async () => {
    const twice = await scene();
    const inner = watched(twice.lock.lock({ threadId: twice.holder.threadId }));
    await arrived(twice.time, inner);
    await arrived(twice.time, watched(got(inner).unlock()));
    await arrived(twice.time, watched(twice.holder.unlock()));
    await arrived(twice.time, watched(got(twice.waiting[0]).unlock()));

    const chosen = await scene([{}], {}, { threadId: 7 });
    await arrived(chosen.time, watched(chosen.holder.unlock()));
    expect(scripts(chosen.time)).not.toContain("lock-succeed");
    await arrived(chosen.time, watched(got(chosen.waiting[0]).unlock()));

    const short = await scene([{}], {}, { leaseMs: 1_000 });
    await short.time.clock.advance(600);
    await arrived(short.time, watched(short.holder.unlock()));
    expect(scripts(short.time)).not.toContain("lock-succeed");
    await arrived(short.time, watched(got(short.waiting[0]).unlock()));
  });

  test("passes over who has just been cancelled, and is given back by who is cancelled as it gets it", async () => {
    const [gone, late] = [new AbortController(), new AbortController()];
    const { time, holder, waiting } = await scene([{ signal: gone.signal }, { signal: late.signal }, {}]);
    gone.abort(new Error("gone"));
    await time.clock.advance(0);
    void holder.unlock();
    late.abort(new Error("late"));
    await microtasks();
    await time.clock.advance(0);
    expect(waiting.slice(0, 2).map(({ outcome }) => outcome)).toMatchObject([
      { error: { message: "gone" } },
      { error: { message: "late" } },
    ]);
    const lease = got(waiting[2]);
    expect(time.fields(KEY)).toEqual({ [lease.holder]: "1" });
    await arrived(time, watched(lease.unlock()));
  });
});

describe("one who was handed a lock", () => {
  test("has its own lease in Redis [R14]", async () => {
    const { time, holder, waiting } = await scene([{ leaseMs: 10_000 }], {}, { leaseMs: 5_000 });
    await time.clock.advance(4_000);
    expect(time.ttlMs(KEY)).toBe(1_000);
    await arrived(time, watched(holder.unlock()));
    expect([scripts(time), time.ttlMs(KEY)]).toEqual([["lock-succeed"], 10_000]);
    await time.clock.advance(10_001);
    expect([got(waiting[0]).state, time.fields(KEY)]).toEqual(["lost", {}]);
  });

  test("is given a shorter lease only after the lock was free, so that all who wait hear of it [R14]", async () => {
    const { time, holder, waiting } = await scene([{ leaseMs: 1_000 }]);
    expect(time.ttlMs(KEY)).toBe(HOUR_MS);
    await arrived(time, watched(holder.unlock()));
    expect([scripts(time)[0], time.ttlMs(KEY)]).toEqual(["lock-release", 1_000]);
    await arrived(time, watched(got(waiting[0]).unlock()));
  });

  test("is not trusted for longer than the one before was, until Redis has named it [R14]", async () => {
    const { time, holder, waiting } = await scene([{}], {}, { leaseMs: 10_000 });
    const slow = deliverLate();
    void time.driver.next(slow, "lock-succeed");
    void holder.unlock();
    await microtasks();
    const lease = got(waiting[0]);
    expect(lease.remainingMs()).toBeLessThanOrEqual(10_000);
    void slow.arrive();
    await time.clock.advance(0);
    expect(lease.remainingMs()).toBeGreaterThan(HOUR_MS / 2);
    await arrived(time, watched(lease.unlock()));
  });

  test.each([loseReply, deliverTwice, swallowReply])(
    "is named once more when the command meets: $name [R14]",
    async (fault) => {
      const { time, lock, holder, waiting } = await scene([{}, {}], { handOff: { maxMs: HOUR_MS } });
      void time.driver.next(fault, "lock-succeed");
      await arrived(time, watched(holder.unlock()));
      await time.clock.advance(5_000);
      const lease = got(waiting[0]);
      expect([lease.state, time.fields(KEY)]).toEqual(["held", { [lease.holder]: "1" }]);
      void time.driver.next(fault, "lock-succeed");
      void lease.unlock();
      await microtasks();
      const next = got(waiting[1]);
      await time.clock.advance(5_000);
      expect([next.state, time.fields(KEY)]).toEqual(["held", { [next.holder]: "1" }]);
      expect(await arrived(time, watched(lock.isHeldByThread(next.threadId)))).toBe(true);
      await arrived(time, watched(next.unlock()));
      expect(time.fields(KEY)).toEqual({});
    },
  );

  test("enters once more, answers questions and leaves after it was named [R14]", async () => {
    const { time, lock, holder, waiting } = await scene();
    const slow = answerLate();
    void time.driver.next(slow, "lock-succeed");
    void holder.unlock();
    await microtasks();
    const lease = got(waiting[0]);
    const { threadId } = lease;
    const asked = watched(lock.isHeldByThread(threadId));
    const again = watched(lock.lock({ threadId }));
    await time.clock.advance(0);
    expect([asked.outcome, again.outcome, scripts(time)]).toEqual([undefined, undefined, ["lock-succeed"]]);
    slow.arrive();
    await time.clock.advance(0);
    expect([got(asked), got(again).holdCount, time.fields(KEY)]).toEqual([true, 2, { [lease.holder]: "2" }]);
    await arrived(time, watched(got(again).unlock()));
    await arrived(time, watched(lease.unlock()));
    expect(time.fields(KEY)).toEqual({});
  });

  test("leaves the lock free when it leaves before it was named, with nobody behind it [R14]", async () => {
    const { time, holder, waiting } = await scene();
    const slow = deliverLate();
    void time.driver.next(slow, "lock-succeed");
    void holder.unlock();
    await microtasks();
    const leaving = watched(got(waiting[0]).unlock());
    await time.clock.advance(0);
    expect([leaving.outcome, time.fields(KEY)]).toEqual([{ value: undefined }, {}]);
    void slow.arrive();
    await time.clock.advance(1_000);
    expect([scripts(time), time.fields(KEY)]).toEqual([["lock-succeed", "lock-release"], {}]);
  });

  test("hears that the lock was taken by force from the one before it", async () => {
    const { time, holder, waiting } = await scene();
    const slow = deliverLate();
    void time.driver.next(slow, "lock-succeed");
    void holder.unlock();
    await microtasks();
    const lease = got(waiting[0]);
    time.server.command("DEL", KEY);
    void slow.arrive();
    await time.clock.advance(0);
    expect(lease.state).toBe("lost");
    expect(() => lease.assertHeld()).toThrow("taken over");
    const late = watched(lease.unlock());
    await time.clock.advance(0);
    expect(late.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_NOT_HELD" } });
  });

  test("is not handed on by who lost it by force, once it was seen to be another client's [own-27]", async () => {
    const { time, lock, holder } = await scene([], {}, { leaseMs: 10_000 });
    const thief = time.connect().holdfast.getLock(KEY);
    await arrived(time, watched(thief.forceUnlock()));
    const stolen = await arrived(time, watched(thief.lock()));
    const waiting = watched(lock.lock({ leaseMs: 10_000 }));
    await time.clock.advance(0);
    const late = watched(holder.unlock());
    await time.clock.advance(0);
    expect([waiting.outcome, stolen.state]).toEqual([undefined, "held"]);
    expect(late.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_NOT_HELD" } });
    await arrived(time, watched(stolen.unlock()));
    await time.clock.advance(1_000);
    await arrived(time, watched(got(waiting).unlock()));
  });

  test("is lost in time when Redis can not be told, and whatever Redis has is freed [R14]", async () => {
    const { time, holder, waiting } = await scene([{}], { commandTimeoutMs: 500 }, { leaseMs: 10_000 });
    const lost: Promise<unknown>[] = [];
    for (let i = 0; i < 40; i += 1) lost.push(time.driver.next(neverDeliver, "lock-succeed"));
    void holder.unlock();
    await microtasks();
    const lease = got(waiting[0]);
    await time.clock.advance(9_000);
    expect(lease.state).toBe("held");
    await time.clock.advance(1_000);
    expect(lease.state).toBe("lost");
    await time.clock.advance(2_000);
    expect(time.fields(KEY)).toEqual({});
    expect(scripts(time)).toContain("lock-release");
  });

  test("is not entered once more by who waited for its name while it was lost: it is just being freed [own-60]", async () => {
    const { time, lock, holder, waiting } = await scene([{}], { commandTimeoutMs: 500 }, { leaseMs: 10_000 });
    const lost: Promise<unknown>[] = [];
    for (let i = 0; i < 40; i += 1) lost.push(time.driver.next(swallowReply, "lock-succeed"));
    void holder.unlock();
    await microtasks();
    const { threadId } = got(waiting[0]);
    void time.driver.next(rejectAtOnce, "lock-release");
    await time.clock.advance(9_000);
    const again = watched(lock.lock({ threadId }));
    await time.clock.advance(3_000);
    expect(again.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_LEASE_LOST" } });
    expect(time.fields(KEY)).toEqual({});
  });

  test("survives that the server refuses to name it for a while", async () => {
    const { time, holder, waiting } = await scene();
    void time.driver.next(answerWith(new ServerReplyError("OOM command not allowed")), "lock-succeed");
    await arrived(time, watched(holder.unlock()));
    const lease = got(waiting[0]);
    expect([lease.state, Object.keys(time.fields(KEY))]).toEqual(["held", [holder.holder]]);
    await time.clock.advance(1_000);
    expect([lease.state, time.fields(KEY)]).toEqual(["held", { [lease.holder]: "1" }]);
    await arrived(time, watched(lease.unlock()));
  });

  test("is kept alive by the watchdog from when it was named", async () => {
    const { time, holder, waiting } = await scene([{}], { watchdogMs: 3_000 });
    await arrived(time, watched(holder.unlock()));
    await time.clock.advance(60_000);
    const lease = got(waiting[0]);
    expect([lease.state, time.fields(KEY)]).toEqual(["held", { [lease.holder]: "1" }]);
    await arrived(time, watched(lease.unlock()));
  });

  test("is freed by close({ releaseHeld: true }), be it named by then or not", async () => {
    for (const fault of [answerLate(), deliverLate()]) {
      const { time, holder } = await scene();
      void time.driver.next(fault, "lock-succeed");
      void holder.unlock();
      await microtasks();
      const closed = watched(time.holdfast.close({ releaseHeld: true }));
      await time.clock.advance(0);
      expect(time.fields(KEY)).toEqual({});
      void fault.arrive();
      await time.clock.advance(10_000);
      expect([closed.outcome, time.fields(KEY)]).toEqual([{ value: undefined }, {}]);
    }
  });
});

describe("the calls of one client do not keep the lock from others", () => {
  /** One call after the other of a client, which has many that wait, and one of another client. */
  async function rivals(handOff: { maxCount?: number; maxMs?: number }, sectionMs: number) {
    const { time, holder, waiting } = await scene(
      Array.from({ length: 30 }, () => ({})),
      { handOff },
    );
    const other = time.connect(PATIENT);
    const stranger = watched(other.holdfast.getLock(KEY).lock());
    await time.clock.advance(0);
    let before = 0;
    let lease: Lease | undefined = holder;
    for (; lease !== undefined && stranger.outcome === undefined; before += 1) {
      await time.clock.advance(sectionMs);
      void lease.unlock();
      await time.clock.advance(0);
      lease = waiting
        .map(({ outcome }) => outcome)
        .flatMap((one) => (one && "value" in one ? [one.value] : []))
        .find(({ state }) => state === "held");
    }
    await arrived(time, watched(got(stranger).unlock()));
    for (;;) {
      await time.clock.advance(10);
      const next = waiting
        .map(({ outcome }) => outcome)
        .flatMap((one) => (one && "value" in one ? [one.value] : []))
        .find(({ state }) => state === "held");
      if (next === undefined) break;
      void next.unlock();
    }
    expect(waiting.every(({ outcome }) => outcome !== undefined)).toBe(true);
    return before;
  }

  test("after so many hand-overs another client has its turn [R36]", async () => {
    expect(await rivals({ maxCount: 5 }, 0)).toBe(6);
  });

  test("after so many milliseconds another client has its turn [R36]", async () => {
    expect(await rivals({ maxMs: 100 }, 30)).toBe(5);
  });

  test("a call that asks while others have their turn, and is cancelled, gives back what it gets", async () => {
    const time = open(PATIENT);
    const lock = time.holdfast.getLock(KEY);
    const holder = await arrived(time, watched(lock.lock()));
    const stranger = watched(time.connect(PATIENT).holdfast.getLock(KEY).lock());
    await time.clock.advance(0);
    const [release, acquire] = [answerLate(), answerLate()];
    void time.driver.next(release, "lock-release");
    void time.driver.next(acquire, "lock-acquire");
    const leaving = new AbortController();
    void holder.unlock();
    const call = watched(lock.lock({ signal: leaving.signal }));
    await time.clock.advance(0);
    release.arrive();
    await time.clock.advance(0);
    leaving.abort(new Error("left"));
    await time.clock.advance(0);
    expect(call.outcome).toMatchObject({ error: { message: "left" } });
    acquire.arrive();
    await time.clock.advance(0);
    await arrived(time, watched(got(stranger).unlock()));
    expect(time.fields(KEY)).toEqual({});
  });
});
