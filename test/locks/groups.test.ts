import { describe, expect, test } from "vitest";
import { type Driver, ServerReplyError } from "../../src/driver/driver.js";
import { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import type { Lock } from "../../src/locks/lock.js";
import { hashSlot } from "../../src/protocol/hash-slot.js";
import type { ScriptCall } from "../../src/protocol/script-call.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import {
  answerLate,
  answerWith,
  deliverTwice,
  loseReply,
  rejectAtOnce,
  swallowReply,
} from "../support/faults/call-faults.js";
import { type Watched, watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

const open = fakeTime();

const MINUTE_MS = 60_000;
const NAMES = Array.from({ length: 12 }, (_, at) => `order:${at}`);

/** A client that has met its server. */
async function acquainted(options: Parameters<typeof open>[0] = {}): Promise<FakeTime> {
  const time = open(options);
  const met = time.holdfast.getLock("acquaintance").using(() => undefined);
  await time.clock.advance(0);
  await met;
  time.driver.calls.length = 0;
  return time;
}

function asked({ driver }: FakeTime): readonly (readonly [script: string, keys: number])[] {
  return driver.calls.map(({ call }) => [call.script.name, call.keys.length]);
}

async function settle<T>({ clock }: FakeTime, calls: readonly Watched<T>[]): Promise<readonly T[]> {
  await clock.advance(0);
  return calls.map(resultOf);
}

function resultOf<T>({ outcome }: Watched<T>): T {
  if (outcome === undefined || !("value" in outcome)) {
    throw new Error(`no value: ${String(outcome?.error)}`);
  }
  return outcome.value;
}

function lockAll(time: FakeTime, names: readonly string[] = NAMES): readonly Watched<Lease>[] {
  return names.map((name) => watched(time.holdfast.getLock(name).lock({ leaseMs: MINUTE_MS })));
}

async function unlockAll(time: FakeTime, leases: readonly Lease[]): Promise<void> {
  const releases = leases.map((lease) => watched(lease.unlock()));
  await time.clock.advance(5_000);
  releases.map(resultOf);
}

/** About several keys. */
const isGroup = ({ keys }: ScriptCall) => keys.length > 1;

describe("what is asked for in one turn", () => {
  test("travels as one command, and is released by one", async () => {
    const time = await acquainted();
    const leases = await settle(time, lockAll(time));
    expect(leases.map(({ state }) => state)).toEqual(NAMES.map(() => "held"));
    await unlockAll(time, leases);
    expect(asked(time)).toEqual([
      ["lock-acquire", 12],
      ["lock-release", 12],
    ]);
  });

  test("travels as a command for each hundred", async () => {
    const time = await acquainted();
    const names = Array.from({ length: 250 }, (_, at) => `many:${at}`);
    await unlockAll(time, await settle(time, lockAll(time, names)));
    expect(asked(time).map(([, keys]) => keys)).toEqual([100, 100, 50, 100, 100, 50]);
  });

  test("travels as a command each where groupCommit is false", async () => {
    const time = await acquainted({ groupCommit: false });
    await unlockAll(time, await settle(time, lockAll(time)));
    expect(asked(time)).toHaveLength(24);
  });

  test("is answered each by itself: held, refused, waited for, of a wrong type", async () => {
    const time = await acquainted();
    const other = time.connect().holdfast;
    const taken = watched(other.getLock("order:1").lock());
    time.server.command("SET", "order:2", "text");
    await time.clock.advance(0);
    time.driver.calls.length = 0;
    const free = watched(time.holdfast.getLock("order:0").tryLock());
    const busy = watched(time.holdfast.getLock("order:1").tryLock());
    const wrong = watched(time.holdfast.getLock("order:2").tryLock());
    const last = watched(time.holdfast.getLock("order:3").tryLock());
    await time.clock.advance(0);
    expect(asked(time)).toEqual([["lock-acquire", 4]]);
    expect(busy.outcome).toEqual({ value: null });
    expect(wrong.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_WRONG_TYPE" } });
    await unlockAll(
      time,
      [free, last, taken].map(resultOf).flatMap((lease) => lease ?? []),
    );
    time.server.command("DEL", "order:2");
  });

  test("is answered once for each call, also about one and the same lock", async () => {
    const time = await acquainted();
    const lock = time.holdfast.getLock("order:0");
    const tries = await settle(time, [watched(lock.tryLock()), watched(lock.tryLock())]);
    expect(tries.map((lease) => lease?.state)).toEqual(["held", undefined]);
    await unlockAll(
      time,
      tries.flatMap((lease) => lease ?? []),
    );
  });

  test("is divided by lease, by kind, and by whether holds are kept", async () => {
    const time = await acquainted();
    const { holdfast } = time;
    const locks: readonly Lock[] = [
      holdfast.getLock("a"),
      holdfast.getNonReentrantLock("b"),
      holdfast.getSpinLock("c"),
      holdfast.getFencedLock("d"),
      holdfast.getFencedLock("e"),
      holdfast.getFairLock("f"),
    ];
    const calls = [
      ...locks.map((lock) => watched(lock.lock())),
      watched(holdfast.getLock("g").lock({ leaseMs: MINUTE_MS })),
    ];
    const leases = await settle(time, calls);
    expect(asked(time)).toEqual([
      ["lock-acquire", 3],
      ["lock-acquire", 4],
      ["fair-acquire", 4],
      ["lock-acquire", 1],
    ]);
    const inner = watched(holdfast.getLock("a").lock({ threadId: leases[0]?.threadId ?? 0 }));
    await time.clock.advance(0);
    time.driver.calls.length = 0;
    await unlockAll(time, [resultOf(inner), ...leases.slice(1)]);
    expect(asked(time)).toEqual([
      ["lock-release", 1],
      ["lock-release", 5],
      ["fair-release", 4],
    ]);
    await unlockAll(time, leases.slice(0, 1));
    for (const name of ["d", "e"]) time.server.command("DEL", `redisson_lock_token:{${name}}`);
  });

  test("is divided by slot in a cluster", async () => {
    const time = open();
    const driver: Driver = {
      traits: { server: "cluster", topology: "cluster" },
      get resets() {
        return time.driver.resets;
      },
      run: (call, ticket) => time.driver.run(call, ticket),
      subscribe: (channel, listener) => time.driver.subscribe(channel, listener),
      close: () => Promise.resolve(),
    };
    const holdfast = new Holdfast(driver, { clock: time.clock, replicas: { mode: "off" } });
    const names = ["{a}1", "{a}2", "{b}1", "{b}2", "{b}3"];
    expect(hashSlot("{a}")).not.toBe(hashSlot("{b}"));
    const calls = names.map((name) => watched(holdfast.getLock(name).lock()));
    await unlockAll(time, await settle(time, calls));
    const groups = time.driver.calls.filter(({ call }) => call.script.name !== "server-probe");
    expect(groups.map(({ call }) => call.keys)).toEqual([
      names.slice(0, 2),
      names.slice(2),
      names.slice(0, 2),
      names.slice(2),
    ]);
    await holdfast.close();
  });
});

describe("a command for many", () => {
  test.each<CallFault>([loseReply, deliverTwice, swallowReply, rejectAtOnce])(
    "that meets: $name, counts once for each",
    async (fault) => {
      const time = await acquainted();
      void time.driver.next(fault, isGroup);
      const calls = lockAll(time);
      await time.clock.advance(10_000);
      const outcomes = calls.map(({ outcome }) => outcome);
      if (fault === swallowReply) {
        // The time for the answer is over, and what may have been taken is given back.
        for (const outcome of outcomes) {
          expect(outcome).toMatchObject({
            error: { code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: true },
          });
        }
        expect(NAMES.map((name) => time.fields(name))).toEqual(NAMES.map(() => ({})));
        return;
      }
      const leases = calls.map(resultOf);
      expect(NAMES.map((name) => time.fields(name))).toEqual(leases.map(({ holder }) => ({ [holder]: "1" })));
      void time.driver.next(fault, isGroup);
      await unlockAll(time, leases);
      expect(NAMES.map((name) => time.fields(name))).toEqual(NAMES.map(() => ({})));
    },
  );

  test("that is refused as a whole fails only the one to blame", async () => {
    const time = await acquainted();
    const refusal = answerWith(new ServerReplyError("NOPERM No permissions to access a key"));
    void time.driver.next(refusal, isGroup);
    void time.driver.next(refusal, ({ keys }) => keys.length === 1 && keys[0] === "order:5");
    const calls = lockAll(time);
    await time.clock.advance(0);
    const [failed, ...others] = [calls[5], ...calls.filter((_, at) => at !== 5)];
    expect(failed?.outcome).toMatchObject({
      error: { code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: false },
    });
    await unlockAll(
      time,
      others.map((call) => resultOf(call as Watched<Lease>)),
    );
  });

  test("that fails in the middle may have been carried out in part", async () => {
    const time = await acquainted();
    const error = "ERR wrong, script: f_1, on @user_script:7.";
    void time.driver.next(answerWith(new ServerReplyError(error)), isGroup);
    void time.driver.next(
      answerWith(new ServerReplyError("NOPERM")),
      ({ keys }) => keys.length === 1 && keys[0] === "order:5",
    );
    const calls = lockAll(time);
    await time.clock.advance(0);
    expect(calls[5]?.outcome).toMatchObject({ error: { outcomeUnknown: true } });
    await time.clock.advance(10_000);
    await unlockAll(time, calls.filter((_, at) => at !== 5).map(resultOf));
  });

  test("gives back what was cancelled meanwhile, and nothing else", async () => {
    const time = await acquainted();
    const late = answerLate();
    void time.driver.next(late, isGroup);
    const leaving = new AbortController();
    const gone = watched(time.holdfast.getLock("gone").lock({ leaseMs: MINUTE_MS, signal: leaving.signal }));
    const calls = lockAll(time);
    await time.clock.advance(0);
    leaving.abort(new Error("left"));
    await time.clock.advance(0);
    expect(gone.outcome).toMatchObject({ error: { message: "left" } });
    expect(Object.keys(time.fields("gone"))).toHaveLength(1);
    late.arrive();
    const leases = await settle(time, calls);
    expect(time.fields("gone")).toEqual({});
    await unlockAll(time, leases);
  });

  test("is over for all when the client is closed", async () => {
    const time = await acquainted();
    void time.driver.next(swallowReply, isGroup);
    const calls = lockAll(time);
    await time.clock.advance(0);
    const closed = watched(time.holdfast.close());
    await time.clock.advance(20_000);
    expect(closed.outcome).toEqual({ value: undefined });
    for (const { outcome } of calls) {
      expect(outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_CLOSED" } });
    }
  });
});
