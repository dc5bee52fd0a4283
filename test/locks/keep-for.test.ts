import { describe, expect, test } from "vitest";
import { NotHeldError, UnavailableError, type WaitTimeoutError } from "../../src/errors.js";
import { events } from "../../src/events.js";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import { memoryDriver } from "../../src/memory/index.js";
import { lockChannel } from "../../src/protocol/names.js";
import { JvmClient } from "../simulation/jvm/jvm-client.js";
import {
  answerLate,
  deliverLate,
  deliverTwice,
  loseReply,
  neverDeliver,
  rejectAtOnce,
  swallowReply,
} from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";
import { arrived, got, microtasks, scenes } from "../support/worlds/hand-off-scene.js";

watchLeaks();
const open = fakeTime();
const scene = scenes(open);

const KEY = "order:7";
const KEEP = { keepForMs: 5_000 };
const COMMAND_MS = 3_000;

const keptBy = ({ holdfast }: Pick<FakeTime, "holdfast">) => ({ [`${holdfast.clientId}:0`]: "1" });

/** What is published about the lock from now on. */
function listen({ server }: FakeTime): readonly string[] {
  const messages: string[] = [];
  server.subscribe(lockChannel(KEY), (message) => void messages.push(message));
  return messages;
}

const keepable: readonly [string, (client: Holdfast) => Lock][] = [
  ["a lock", (client) => client.getLock(KEY)],
  ["a non-reentrant lock", (client) => client.getNonReentrantLock(KEY)],
  ["a spin lock", (client) => client.getSpinLock(KEY)],
  ["a fenced lock", (client) => client.getFencedLock(KEY)],
];

describe.each(keepable)("%s that is kept after its release", (kind, lockOf) => {
  test("has the field of no thread for so long, tells that it ends sooner, and is free after that", async () => {
    const time = open();
    const messages = listen(time);
    const lease = await lockOf(time.holdfast).lock({ leaseMs: 60_000 });
    time.driver.sent.length = 0;
    await lease.unlock(KEEP);
    expect([lease.state, time.fields(KEY), time.ttlMs(KEY)]).toEqual(["released", keptBy(time), 5_000]);
    expect(time.driver.sent.map(({ script }) => script)).toEqual(["lock-keep"]);
    expect(await lockOf(time.connect().holdfast).tryLock()).toBe(null);
    await time.clock.advance(4_999);
    expect(await lockOf(time.holdfast).tryLock()).toBe(null);
    await time.clock.advance(2);
    expect(await lockOf(time.holdfast).isLocked()).toBe(false);
    expect(messages).toEqual(["0"]);
    if (kind === "a fenced lock") time.server.flush();
  });
});

describe("what can not be kept", () => {
  test.each<[string, (client: Holdfast) => Lock, string]>([
    ["a fair lock", (client) => client.getFairLock(KEY), "a fair-lock can not be kept"],
    ["a read lock", (client) => client.getReadWriteLock(KEY).readLock(), "a read-lock can not be kept"],
    ["a write lock", (client) => client.getReadWriteLock(KEY).writeLock(), "a write-lock can not be kept"],
    [
      "a multi lock",
      (client) => client.getMultiLock(client.getLock("a"), client.getLock("b")),
      "a multi-lock can not be kept",
    ],
    ["a red lock", (client) => client.getRedLock(client.getLock("a")), "a red-lock can not be kept"],
  ])("is %s: nothing is released", async (_, lockOf, why) => {
    const { holdfast, server } = open();
    const lease = await lockOf(holdfast).lock();
    const before = Object.keys(server.dump());
    const keep = lease.unlock(KEEP);
    await expect(keep).rejects.toThrow(TypeError);
    await expect(keep).rejects.toThrow(`was not released: ${why}, and keepForMs is for`);
    expect([lease.state, Object.keys(server.dump())]).toEqual(["held", before]);
    await lease.unlock({});
    expect([lease.state, server.dump()]).toEqual(["released", {}]);
  });

  test("is a hold whose thread has another one", async () => {
    const { holdfast, fields } = open();
    const lock = holdfast.getLock(KEY);
    const outer = await lock.lock();
    const inner = await outer.run(() => lock.lock());
    await expect(inner.unlock(KEEP)).rejects.toThrow("was not released: its thread has other holds of it");
    await expect(outer.unlock(KEEP)).rejects.toThrow("was not released: its thread has other holds of it");
    expect([outer.state, inner.state, fields(KEY)]).toEqual(["held", "held", { [outer.holder]: "2" }]);
    await inner.unlock();
    await outer.unlock(KEEP);
    expect(fields(KEY)).toEqual({ [`${holdfast.clientId}:0`]: "1" });
  });

  test("is a hold that another call is just entering once more", async () => {
    const { holdfast, driver, clock } = open();
    const lock = holdfast.getLock(KEY);
    const outer = await lock.lock();
    const late = answerLate();
    void driver.next(late, "lock-acquire");
    const entering = watched(outer.run(() => lock.lock()));
    await clock.advance(0);
    await expect(outer.unlock(KEEP)).rejects.toThrow("another call of its thread is re-entering");
    late.arrive();
    const inner = await arrived({ clock }, entering);
    await inner.unlock();
    await outer.unlock();
  });
});

describe("bad input to unlock", () => {
  test.each<[string, unknown, string]>([
    ["a number", 5_000, "options must be an object, got 5000, as in { keepForMs: 5000 }"],
    [
      "another option",
      { keepFor: 5 },
      'there is no option "keepFor" of unlock: keepForMs. Did you mean keepForMs?',
    ],
    ["a text", { keepForMs: "5" }, 'keepForMs must be a number of milliseconds, got "5"'],
    ["no time", { keepForMs: 0 }, "keepForMs must be a whole number of milliseconds from 1"],
    ["for ever", { keepForMs: Number.POSITIVE_INFINITY }, "keepForMs must be a whole number"],
  ])("is refused: %s", async (_, options, message) => {
    const { holdfast } = open();
    const single = await holdfast.getLock(KEY).lock();
    const joint = await holdfast.getMultiLock(holdfast.getLock("a"), holdfast.getLock("b")).lock();
    for (const lease of [single, joint]) {
      await expect(lease.unlock(options as object)).rejects.toThrow(message);
      expect(lease.state).toBe("held");
      await lease.unlock();
    }
  });
});

describe("calls that wait for a lock that is kept", () => {
  test("of the same client are not handed it: they enter when it ends, also where no message comes [own-97]", async () => {
    const { time, holder, waiting } = await scene([{}]);
    time.driver.channels.mute(true);
    await arrived(time, watched(holder.unlock(KEEP)));
    expect(time.fields(KEY)).toEqual(keptBy(time));
    await time.clock.advance(4_990);
    expect([waiting[0]?.outcome, time.driver.sent.map(({ script }) => script)]).toEqual([
      undefined,
      ["lock-keep"],
    ]);
    await time.clock.advance(20);
    const lease = await arrived(time, waiting[0] ?? watched(Promise.reject(new Error("nobody waits"))));
    await lease.unlock();
  });

  test("of another client learn of its end by the TTL that they see", async () => {
    const time = open();
    const lease = await time.holdfast.getLock(KEY).lock({ leaseMs: 60_000 });
    await lease.unlock(KEEP);
    const other = watched(time.connect({ safetyPeriodMs: 60_000 }).holdfast.getLock(KEY).lock());
    await time.clock.advance(4_990);
    expect(other.outcome).toBe(undefined);
    await time.clock.advance(20);
    await (await arrived(time, other)).unlock();
  });

  test("do not wait for themselves, as no thread has it", async () => {
    const time = open();
    const lock = time.holdfast.getLock(KEY);
    const contended: unknown[] = [];
    const listener = ({ holder, own }: { holder: string; own: boolean }) =>
      void contended.push({ holder, own });
    events.contended.subscribe(listener);
    await (await lock.lock()).unlock(KEEP);
    const refused = watched(lock.lock({ waitMs: 1_000 }));
    await time.clock.advance(1_000);
    events.contended.unsubscribe(listener);
    const holder = `${time.holdfast.clientId}:0`;
    expect(contended).toEqual([{ holder, own: false }]);
    const { error } = refused.outcome as { error: WaitTimeoutError };
    expect(error.obstacle).toMatchObject({ holder, own: false });
    expect(error.message).toBe(
      `waited 1000 ms for lock "${KEY}", held by ${holder} (its lease ends in 4000 ms unless it is renewed)`,
    );
  });

  test("get it when it is freed by force", async () => {
    const time = open();
    const lock = time.holdfast.getLock(KEY);
    await (await lock.lock()).unlock(KEEP);
    expect(await lock.forceUnlock()).toBe(true);
    expect(time.fields(KEY)).toEqual({});
  });
});

describe("a release that keeps the lock, and of which a command", () => {
  test("loses its reply, is repeated, changes nothing by that, and succeeds", async () => {
    const time = open();
    const lease = await time.holdfast.getLock(KEY).lock();
    void time.driver.next(loseReply, "lock-keep");
    const released = watched(lease.unlock(KEEP));
    await time.clock.advance(1_000);
    expect(released.outcome).toEqual({ value: undefined });
    expect([time.fields(KEY), time.ttlMs(KEY)]).toEqual([keptBy(time), 4_000]);
    expect(time.driver.timesOf("lock-keep")).toHaveLength(2);
  });

  test("runs twice prolongs nothing", async () => {
    const time = open();
    const lease = await time.holdfast.getLock(KEY).lock();
    const late = deliverLate({ told: true });
    void time.driver.next(late, "lock-keep");
    const released = watched(lease.unlock(KEEP));
    await time.clock.advance(1_000);
    await late.arrive();
    expect([released.outcome, time.ttlMs(KEY)]).toEqual([{ value: undefined }, 4_020]);
    void time.driver.next(deliverTwice, "lock-keep");
    const next = await time.holdfast.getLock("b").lock();
    await next.unlock(KEEP);
    expect([time.fields("b"), time.ttlMs("b")]).toEqual([keptBy(time), 5_000]);
  });

  test("comes when the key has ended makes nothing, and touches no later holder", async () => {
    const time = open();
    const lock = time.holdfast.getLock(KEY);
    const lease = await lock.lock();
    const late = deliverLate({ told: true });
    void time.driver.next(late, "lock-keep");
    const released = watched(lease.unlock({ keepForMs: 100 }));
    await time.clock.advance(200);
    expect([released.outcome, time.fields(KEY)]).toEqual([{ value: undefined }, {}]);
    const next = await lock.lock();
    await late.arrive();
    expect(time.fields(KEY)).toEqual({ [next.holder]: "1" });
    await next.unlock();
  });

  test.each([
    ["never arrives", neverDeliver],
    ["is carried out, and never answered", swallowReply],
  ])(
    "%s has an unknown outcome: what is repeated in the background keeps it as well [P3-1]",
    async (_, fault) => {
      const time = open({ handOff: false });
      const messages = listen(time);
      const lock = time.holdfast.getLock(KEY);
      const lease = await lock.lock({ leaseMs: 60_000 });
      void time.driver.next(fault, "lock-keep");
      const released = watched(lease.unlock({ keepForMs: 10_000 }));
      await time.clock.advance(COMMAND_MS);
      const { error } = released.outcome as { error: unknown };
      expect(error).toBeInstanceOf(UnavailableError);
      expect(error).toMatchObject({ outcomeUnknown: true });
      await time.clock.advance(1_000);
      expect(time.fields(KEY)).toEqual(keptBy(time));
      expect(time.driver.names).not.toContain("lock-release");
      await time.clock.advance(10_000);
      expect([time.fields(KEY), messages]).toEqual([{}, ["0"]]);
    },
  );

  test("finds neither the hold nor what it keeps, when it is repeated, tells that it was not held", async () => {
    const time = open();
    const lease = await time.holdfast.getLock(KEY).lock();
    void time.driver.next(rejectAtOnce, "lock-keep");
    const released = watched(lease.unlock(KEEP));
    time.server.flush();
    await time.clock.advance(COMMAND_MS);
    expect(released.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_NOT_HELD" } });
    expect([lease.state, time.fields(KEY)]).toEqual(["lost", {}]);
  });

  test("finds the hold gone tells that it was not held", async () => {
    const time = open();
    const lease = await time.holdfast.getLock(KEY).lock();
    time.server.flush();
    await expect(lease.unlock(KEEP)).rejects.toThrow(NotHeldError);
    expect([lease.state, time.fields(KEY)]).toEqual(["lost", {}]);
  });

  test("follows copies of the acquisition frees at once what these take after its end", async () => {
    const time = open();
    const lock = time.holdfast.getLock(KEY);
    await lock.isLocked();
    const late = deliverLate({ told: true });
    void time.driver.next(late, "lock-acquire");
    const taking = watched(lock.lock());
    await time.clock.advance(100);
    const lease = await arrived(time, taking);
    await arrived(time, watched(lease.unlock({ keepForMs: 50 })));
    await time.clock.advance(100);
    await late.arrive();
    expect(time.fields(KEY)).toEqual({ [lease.holder]: "1" });
    await time.clock.advance(COMMAND_MS);
    expect(time.fields(KEY)).toEqual({});
    expect(time.driver.timesOf("lock-keep")).toHaveLength(1);
  });
});

describe("a lock that was handed over and is not named yet", () => {
  async function unnamed() {
    const { time, holder, waiting } = await scene([{}]);
    void time.driver.next(neverDeliver, "lock-succeed");
    void holder.unlock();
    await microtasks();
    const lease = got(waiting[0]);
    return { time, holder, lease };
  }

  test("is kept by one command, whichever of its holders Redis has", async () => {
    const { time, holder, lease } = await unnamed();
    expect(time.fields(KEY)).toEqual({ [holder.holder]: "1" });
    await arrived(time, watched(lease.unlock(KEEP)));
    expect([time.fields(KEY), time.ttlMs(KEY)]).toEqual([keptBy(time), 5_000]);
  });

  test("is kept in the background where that is not answered", async () => {
    const { time, lease } = await unnamed();
    void time.driver.next(neverDeliver, "lock-keep");
    const released = watched(lease.unlock({ keepForMs: 10_000 }));
    await time.clock.advance(COMMAND_MS);
    expect(released.outcome).toMatchObject({ error: { outcomeUnknown: true } });
    await time.clock.advance(1_000);
    expect(time.fields(KEY)).toEqual(keptBy(time));
    expect(time.driver.names).not.toContain("lock-release");
  });
});

describe("a lock under a chosen id that is kept", () => {
  test("has a deadline, so that a late copy leaves the next stay alone", async () => {
    const time = open();
    const lock = time.holdfast.getLock(KEY);
    const lease = await lock.lock({ threadId: 7 });
    const late = deliverLate({ told: true });
    void time.driver.next(late, "lock-keep");
    const released = watched(lease.unlock({ keepForMs: 50 }));
    await time.clock.advance(500);
    expect(released.outcome).toEqual({ value: undefined });
    const next = watched(lock.lock({ threadId: 7 }));
    await time.clock.advance(COMMAND_MS + 1_000);
    const again = await arrived(time, next);
    await late.arrive();
    expect(time.fields(KEY)).toEqual({ [again.holder]: "1" });
    await again.unlock();
  });

  test("lets the next call under the id wait until it has ended, also after an unknown outcome", async () => {
    const time = open();
    const lock = time.holdfast.getLock(KEY);
    const lease = await lock.lock({ threadId: 7 });
    void time.driver.next(neverDeliver, "lock-keep");
    const released = watched(lease.unlock({ keepForMs: 20_000 }));
    await time.clock.advance(COMMAND_MS);
    expect(released.outcome).toMatchObject({ error: { outcomeUnknown: true } });
    const next = watched(lock.lock({ threadId: 7 }));
    await time.clock.advance(15_000);
    expect([next.outcome, time.fields(KEY)]).toEqual([undefined, keptBy(time)]);
    await time.clock.advance(15_000);
    await (await arrived(time, next)).unlock();
  });
});

describe("a release that keeps the lock, and one that does not", () => {
  test("are one: the first decides, and both have its outcome", async () => {
    const time = open();
    const lock = time.holdfast.getLock(KEY);
    const first = await lock.lock();
    await Promise.all([first.unlock(KEEP), first.unlock(), first.unlock({ keepForMs: 60_000 })]);
    expect(time.ttlMs(KEY)).toBe(5_000);
    await time.clock.advance(5_001);
    const second = await lock.lock();
    await Promise.all([second.unlock(), second.unlock(KEEP)]);
    expect(time.fields(KEY)).toEqual({});
  });

  test("is told of a lost lease as any other release is, and keeps nothing", async () => {
    const time = open();
    const lease = await time.holdfast.getLock(KEY).lock({ leaseMs: 1_000 });
    await time.clock.advance(995);
    await expect(lease.unlock(KEEP)).rejects.toThrow(NotHeldError);
    await time.clock.advance(0);
    expect(time.fields(KEY)).toEqual({});
  });

  test("also takes along an inner hold that is just being released", async () => {
    const time = open();
    const lock = time.holdfast.getLock(KEY);
    const outer = await lock.lock();
    const inner = await outer.run(() => lock.lock());
    const releases = [inner.unlock(), outer.unlock(KEEP)].map((call) => watched(call));
    await time.clock.advance(0);
    expect(releases.map(({ outcome }) => outcome)).toEqual([{ value: undefined }, { value: undefined }]);
    expect(time.fields(KEY)).toEqual(keptBy(time));
  });
});

test("a JVM sees a lock that is kept as one that thread 0 of the client has, and waits for its end", async () => {
  const time = open();
  const lease = await time.holdfast.getLock(KEY).lock({ leaseMs: 60_000 });
  await lease.unlock(KEEP);
  const id = "00000000-0000-4000-8000-000000000000";
  const jvm = new JvmClient({ driver: memoryDriver(time.server), clock: time.clock, id, random: () => 0 });
  const taking = watched(jvm.lock(KEY, "lock", { threadId: 50, leaseMs: 1_000 }));
  await time.clock.advance(4_999);
  expect([taking.outcome, time.fields(KEY)]).toEqual([undefined, keptBy(time)]);
  await time.clock.advance(10);
  expect(taking.outcome).toEqual({ value: true });
  await jvm.unlock(KEY, "lock", 50);
  jvm.shutDown();
});
