import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, describe, expect, test } from "vitest";
import { ServerReplyError } from "../../src/driver/driver.js";
import { events } from "../../src/events.js";
import { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import { memoryDriver } from "../../src/memory/index.js";
import { AcknowledgingDriver } from "../support/drivers/acknowledging-driver.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import {
  answerLate,
  answerWith,
  deliverLate,
  deliverTwice,
  loseReply,
  neverDeliver,
  swallowReply,
} from "../support/faults/call-faults.js";
import { type Watched, watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";
import { arrived, got, KEY, microtasks, PATIENT, scenes, scripts } from "../support/worlds/hand-off-scene.js";

const open = fakeTime();
const scene = scenes(open);

/** Less than any waiter sleeps in these tests unless it is woken, far more than a wake-up takes. */
const SOON_MS = 20_000;

/** What the server answers with an error, when the test says so. */
function refuseLate(error: Error): CallFault & { arrive(): void } {
  let arrive = (): void => undefined;
  const refused = new Promise<never>((_, reject) => {
    arrive = () => reject(error);
  });
  return { name: "refused late", meet: () => refused, arrive };
}

/** From now on nothing reaches the server for so many milliseconds. */
function cutOff({ driver, clock }: FakeTime, ms: number): void {
  const endMs = clock.monotonicMs() + ms;
  const isCut = () => clock.monotonicMs() < endMs;
  for (let i = 0; i < 200; i += 1) void driver.next(neverDeliver, isCut);
}

/** Calls that listened, and went: the subscriptions of their clients linger. */
async function haveListened({ clock }: FakeTime, clients: readonly { holdfast: Holdfast }[]): Promise<void> {
  const gone = new AbortController();
  const calls = clients.map(({ holdfast }) => watched(holdfast.getLock(KEY).lock({ signal: gone.signal })));
  await clock.advance(0);
  gone.abort(new Error("gone"));
  await clock.advance(0);
  for (const { outcome } of calls) expect(outcome).toMatchObject({ error: { message: "gone" } });
}

/** The holder has left, and the first who waits is in; whatever becomes of the command that names it is not answered yet. */
async function handedOver(
  holder: Lease,
  time: Pick<FakeTime, "driver">,
  waiter: Watched<Lease> | undefined,
): Promise<Lease> {
  void holder.unlock();
  await microtasks();
  const lease = got(waiter);
  expect(scripts(time)).toEqual(["lock-succeed"]);
  return lease;
}

describe("whoever waits for a lock that its own client frees is let in", () => {
  test.each([loseReply, deliverTwice, swallowReply])(
    "when the message of the release came first, and its answer met: $name",
    async (fault) => {
      // Who has chosen its id leaves in public.
      const { time, holder, waiting } = await scene([{}], {}, { threadId: 7 });
      void time.driver.next(fault, "lock-release");
      const left = watched(holder.unlock());
      await time.clock.advance(SOON_MS);
      // Of a release that is never answered the caller hears so.
      expect([left.outcome === undefined, scripts(time)[0]]).toEqual([false, "lock-release"]);
      await arrived(time, watched(got(waiting[0]).unlock()));
    },
  );

  test("when a stranger leaves while what a call without an answer may have taken is being freed", async () => {
    const time = open(PATIENT);
    const other = time.connect(PATIENT);
    const lock = time.holdfast.getLock(KEY);
    const held = await arrived(time, watched(other.holdfast.getLock(KEY).lock()));
    const waiting = watched(lock.lock());
    await time.clock.advance(0);
    void time.driver.next(swallowReply, "lock-acquire");
    const unanswered = watched(lock.tryLock());
    // The release behind it is on its way when the stranger's message comes, which is not its own.
    const release = answerLate();
    const sent = time.driver.next(release, "lock-release");
    await time.clock.advance(3_000);
    expect(unanswered.outcome).toHaveProperty("error");
    await sent;
    await arrived(time, watched(held.unlock()));
    release.arrive();
    await time.clock.advance(SOON_MS);
    await arrived(time, watched(got(waiting).unlock()));
  });

  test("when it was told that the lock is held by an answer older than the one to the release", async () => {
    const time = open(PATIENT);
    const holder = await arrived(time, watched(time.holdfast.getLock(KEY).lock()));
    await haveListened(time, [time, time.connect(PATIENT)]);
    const [asked, released] = [answerLate(), answerLate()];
    void time.driver.next(asked, "lock-acquire");
    void time.driver.next(released, "lock-release");
    const waiting = watched(time.holdfast.getLock(KEY).lock());
    const left = watched(holder.unlock());
    await time.clock.advance(0);
    expect(time.fields(KEY)).toEqual({});
    // Both come in one packet.
    asked.arrive();
    released.arrive();
    await time.clock.advance(SOON_MS);
    expect(left.outcome).toEqual({ value: undefined });
    await arrived(time, watched(got(waiting).unlock()));
  });

  test("at once when nobody else listens, and the message of the release comes before its answer", async () => {
    const { time, holder, waiting } = await scene([{}, {}], { handOff: { maxCount: 1 } });
    const lease = await handedOver(holder, time, waiting[0]);
    await time.clock.advance(0);
    const late = answerLate();
    void time.driver.next(late, "lock-release");
    void lease.unlock();
    await time.clock.advance(0);
    late.arrive();
    await arrived(time, watched((await arrived(time, waiting[1] as Watched<Lease>)).unlock()));
  });
});

describe("a call that asks while others have their turn", () => {
  test("hears at once that it was refused", async () => {
    const time = open(PATIENT);
    const holder = await arrived(time, watched(time.holdfast.getLock(KEY).lock()));
    // With messages coming in already, nothing but the answer wakes it.
    await haveListened(time, [time, time.connect(PATIENT)]);
    const refusal = refuseLate(new ServerReplyError("ERR no"));
    void time.driver.next(refusal, "lock-acquire");
    const left = watched(holder.unlock());
    const asking = watched(time.holdfast.getLock(KEY).lock());
    await arrived(time, left);
    refusal.arrive();
    await time.clock.advance(0);
    expect(asking.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_UNAVAILABLE", message: /ERR no/ } });
  });
});

describe("one who was handed a lock and leaves before it was named", () => {
  const REFUSAL = new ServerReplyError("OOM command not allowed");

  test.each([neverDeliver, answerWith(REFUSAL), refuseLate(REFUSAL)])(
    "has released it, whatever becomes of the naming: $name",
    async (fault) => {
      const { time, holder, waiting } = await scene();
      void time.driver.next(fault, "lock-succeed");
      const lease = await handedOver(holder, time, waiting[0]);
      const left = watched(lease.unlock());
      await time.clock.advance(0);
      if ("arrive" in fault && typeof fault.arrive === "function") fault.arrive();
      await time.clock.advance(10_000);
      expect([left.outcome, lease.state, time.fields(KEY)]).toEqual([{ value: undefined }, "released", {}]);
    },
  );

  test("hears within one command timeout that Redis does not answer", async () => {
    const { time, holder, waiting } = await scene([{}], { watchdogMs: 30_000 });
    cutOff(time, 20_000);
    const lease = await handedOver(holder, time, waiting[0]);
    const left = watched(lease.unlock());
    await time.clock.advance(3_100);
    expect(left.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_UNAVAILABLE" } });
  });

  test("does not wait for replicas that are gone", async () => {
    const { lease, end } = await withoutReplicas();
    const left = watched(lease.unlock());
    const { time } = end;
    await time.clock.advance(60_000);
    expect([left.outcome, time.fields(KEY)]).toEqual([{ value: undefined }, {}]);
    await end.close();
  });
});

/** A lock was handed over, and the replicas that are required are gone. */
async function withoutReplicas() {
  const time = open(PATIENT);
  const driver = new AcknowledgingDriver(memoryDriver(time.server));
  const { clock } = time;
  const holdfast = new Holdfast(driver, { ...PATIENT, clock, replicas: { mode: "require" } });
  const lock = holdfast.getLock(KEY);
  const holder = await arrived(time, watched(lock.lock({ leaseMs: 5_000 })));
  const waiting = watched(lock.lock({ leaseMs: 5_000 }));
  await clock.advance(0);
  driver.acknowledged = 0;
  void holder.unlock();
  await microtasks();
  const lease = got(waiting);
  expect(driver.names.at(-1)).toBe("lock-succeed");
  const close = async () => {
    driver.acknowledged = 1;
    await clock.advance(10_000);
    const closed = watched(holdfast.close());
    await clock.advance(20_000);
    got(closed);
  };
  return { lease, end: { time, close } };
}

describe("one who was handed a lock and is lost before it was named", () => {
  test("is not kept alive in Redis while replicas are gone", async () => {
    const { lease, end } = await withoutReplicas();
    const { time } = end;
    await time.clock.advance(15_000);
    expect([lease.state, time.fields(KEY)]).toEqual(["lost", {}]);
    await end.close();
  });

  test("is freed for as long as the longest lease of those who followed each other may last", async () => {
    const leaseMs = 2_000;
    const wants = [{ leaseMs }, { leaseMs: 60_000 }];
    const { time, holder, waiting } = await scene(wants, { commandTimeoutMs: 500 }, { leaseMs });
    void time.driver.next(neverDeliver, "lock-succeed");
    // The last one is named, and nobody hears of it.
    void time.driver.next(swallowReply, "lock-succeed");
    const first = await handedOver(holder, time, waiting[0]);
    void first.unlock();
    await microtasks();
    const last = got(waiting[1]);
    await time.clock.advance(600);
    expect(time.fields(KEY)).toEqual({ [last.holder]: "1" });
    cutOff(time, 10_000);
    await time.clock.advance(10_000);
    expect([last.state, time.fields(KEY)]).toEqual(["lost", { [last.holder]: "1" }]);
    await time.clock.advance(15_000);
    expect(time.fields(KEY)).toEqual({});
  });

  test("hears that the server could not be reached", async () => {
    const { time, holder, waiting } = await scene([{}], { watchdogMs: 30_000 });
    for (let i = 0; i < 100; i += 1) void time.driver.next(neverDeliver, "lock-succeed");
    const lease = await handedOver(holder, time, waiting[0]);
    await time.clock.advance(40_000);
    expect(lease.state).toBe("lost");
    expect(() => lease.assertHeld()).toThrow(expect.objectContaining({ reason: "unreachable" }));
  });

  test("lets the next in line ask at once when the lock was taken by force", async () => {
    const { time, holder, waiting } = await scene([{}, {}]);
    time.server.command("DEL", KEY);
    const lease = await handedOver(holder, time, waiting[0]);
    await time.clock.advance(0);
    expect(lease.state).toBe("lost");
    await time.clock.advance(SOON_MS);
    await arrived(time, watched(got(waiting[1]).unlock()));
  });

  test.each([true, false])(
    "by close() is left to its lease, as bodies may still run (named: %s)",
    async (named) => {
      const leaseMs = 60_000;
      const { time, holder, waiting } = await scene([{ leaseMs }], { commandTimeoutMs: 500 }, { leaseMs });
      if (!named) void time.driver.next(neverDeliver, "lock-succeed");
      await handedOver(holder, time, waiting[0]);
      const closed = watched(time.holdfast.close());
      await time.clock.advance(5_000);
      expect([closed.outcome, Object.keys(time.fields(KEY))]).toEqual([
        { value: undefined },
        [expect.any(String)],
      ]);
    },
  );
});

describe("one who was handed a lock", () => {
  test("is entered once more by its thread once it is named, but not by a call that was cancelled before", async () => {
    const { time, lock, holder, waiting } = await scene();
    const slow = deliverLate();
    void time.driver.next(slow, "lock-succeed");
    const lease = await handedOver(holder, time, waiting[0]);
    const { threadId } = lease;
    const leaving = new AbortController();
    const again = watched(lock.tryLock({ threadId }));
    const gone = watched(lock.lock({ threadId, signal: leaving.signal }));
    await time.clock.advance(10);
    leaving.abort(new Error("left"));
    await time.clock.advance(0);
    expect(gone.outcome).toMatchObject({ error: { message: "left" } });
    void slow.arrive();
    await time.clock.advance(10);
    expect([got(again)?.holdCount, time.fields(KEY)]).toEqual([2, { [lease.holder]: "2" }]);
    await arrived(time, watched((got(again) as Lease).unlock()));
    await arrived(time, watched(lease.unlock()));
    expect(time.fields(KEY)).toEqual({});
  });

  test("as a member of a multi lock, which then waits for another member, asks no more often than others", async () => {
    const time = open(PATIENT);
    const [one, two] = [time.holdfast.getLock("one"), time.holdfast.getLock("two")];
    const holder = await arrived(time, watched(one.lock()));
    const multi = watched(time.holdfast.getMultiLock(one, two).lock());
    await time.clock.advance(100);
    const taken = await arrived(time, watched(time.connect(PATIENT).holdfast.getLock("two").lock()));
    time.driver.sent.length = 0;
    void holder.unlock();
    await time.clock.advance(100);
    // It has given the first one back for the time being.
    expect([multi.outcome, scripts(time)[0]]).toEqual([undefined, "lock-succeed"]);
    time.driver.sent.length = 0;
    await time.clock.advance(10_000);
    expect(time.driver.sent.length).toBeLessThan(5);
    await arrived(time, watched(taken.unlock()));
    await time.clock.advance(100);
    await arrived(time, watched(got(multi).unlock()));
  });
});

describe("what is answered in one command for calls of several requests", () => {
  const request = new AsyncLocalStorage<string>();
  const seen: (readonly [about: string, within: string | undefined])[] = [];
  const note = ({ name }: { readonly name: string }) => void seen.push([name, request.getStore()]);
  afterEach(() => {
    events.contended.unsubscribe(note);
    events.release.unsubscribe(note);
    seen.length = 0;
  });

  test("is told within the request whose call it is about", async () => {
    const time = open(PATIENT);
    const names = ["x", "y"] as const;
    const other = time.connect(PATIENT);
    const busy = await arrived(time, watched(other.holdfast.getLock("y").lock()));
    // Before its first command a client asks what server it has; the calls would wait for that one by one.
    const first = await arrived(time, watched(time.holdfast.getLock("z").lock()));
    await arrived(time, watched(first.unlock()));
    time.driver.sent.length = 0;
    events.contended.subscribe(note);
    events.release.subscribe(note);
    const calls = names.map((name) => request.run(name, () => watched(time.holdfast.getLock(name).lock())));
    await microtasks();
    expect(scripts(time)).toEqual(["lock-acquire"]);
    await time.clock.advance(0);
    expect(seen).toEqual([["y", "y"]]);
    await arrived(time, watched(busy.unlock()));
    await time.clock.advance(10);
    seen.length = 0;
    const left = calls.map((call, at) => request.run(names[at] ?? "", () => watched(got(call).unlock())));
    await time.clock.advance(0);
    expect([left.map(got), seen]).toEqual([
      [undefined, undefined],
      [
        ["x", "x"],
        ["y", "y"],
      ],
    ]);
  });
});

describe("one who waits elsewhere", () => {
  test("and saw the long TTL of an inner hold, hears of it when the lock gets a shorter one", async () => {
    const settings = { safetyPeriodMs: 60 * SOON_MS, watchdogMs: 60_000 };
    const time = open(settings);
    const lock = time.holdfast.getLock(KEY);
    const holder = await arrived(time, watched(lock.lock({ leaseMs: 5_000 })));
    const { threadId } = holder;
    const inner = await arrived(time, watched(lock.lock({ threadId, leaseMs: 60_000 })));
    const stranger = watched(time.connect(settings).holdfast.getLock(KEY).lock());
    await time.clock.advance(0);
    await arrived(time, watched(inner.unlock()));
    const next = watched(lock.lock({ leaseMs: 5_000 }));
    await time.clock.advance(0);
    await arrived(time, watched(holder.unlock()));
    // Whichever of the two it was first: that one's lease is over, and it has not left.
    await time.clock.advance(SOON_MS);
    await arrived(time, watched(got(stranger).unlock()));
    expect(next.outcome).toHaveProperty("value");
  });
});
