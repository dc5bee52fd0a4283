import { describe, expect, test } from "vitest";
import { ServerReplyError } from "../../src/driver/driver.js";
import type { Lease } from "../../src/lease.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import {
  answerWith,
  deliverTwice,
  loseReply,
  rejectAtOnce,
  swallowReply,
} from "../support/faults/call-faults.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

const open = fakeTime();

const KEY = "order:7";
const MINUTE_MS = 60_000;
/** Enough for all that a client does about a broken connection, and too little for a renewal. */
const MOMENT_MS = 1_000;

/** What a call brings when time is given to it. */
async function inTime<T>({ clock }: FakeTime, call: Promise<T>, ms: number = MOMENT_MS): Promise<T> {
  const settled = call.then(
    () => undefined,
    () => undefined,
  );
  await clock.advance(ms);
  await settled;
  return call;
}

async function freed(time: FakeTime, lease: Lease): Promise<void> {
  await inTime(time, lease.unlock());
  expect(time.server.command("EXISTS", KEY)).toBe(0);
}

function heard({ server }: FakeTime): readonly string[] {
  const messages: string[] = [];
  server.subscribe(`redisson_lock__channel:{${KEY}}`, (message) => messages.push(message));
  return messages;
}

describe.each<CallFault>([loseReply, deliverTwice, rejectAtOnce])("a call that meets: $name", (fault) => {
  test(`an acquisition counts once (${fault.name}) [B15] [wire-S1]`, async () => {
    const time = open();
    void time.driver.next(fault, "lock-acquire");
    const lease = await inTime(time, time.holdfast.getLock(KEY).lock({ leaseMs: MINUTE_MS }));
    expect(time.fields(KEY)).toEqual({ [lease.holder]: "1" });
    await freed(time, lease);
  });

  test(`an entry once more counts once (${fault.name})`, async () => {
    const time = open();
    const lock = time.holdfast.getLock(KEY);
    const outer = await lock.lock({ leaseMs: MINUTE_MS });
    void time.driver.next(fault, "lock-acquire");
    const inner = await inTime(time, lock.lock({ threadId: outer.threadId, leaseMs: MINUTE_MS }));
    expect([inner.holdCount, time.fields(KEY)]).toEqual([2, { [outer.holder]: "2" }]);
    await inTime(time, inner.unlock());
    expect(time.fields(KEY)).toEqual({ [outer.holder]: "1" });
    await freed(time, outer);
  });

  test(`a release is done and published once and succeeds (${fault.name}) [B14] [R30]`, async () => {
    const time = open();
    const lease = await time.holdfast.getLock(KEY).lock({ leaseMs: MINUTE_MS });
    const messages = heard(time);
    void time.driver.next(fault, "lock-release");
    await freed(time, lease);
    expect([lease.state, messages]).toEqual(["released", ["0"]]);
  });

  test(`a partial release is done once and succeeds (${fault.name})`, async () => {
    const time = open();
    const lock = time.holdfast.getLock(KEY);
    const outer = await lock.lock({ leaseMs: MINUTE_MS });
    const inner = await lock.lock({ threadId: outer.threadId, leaseMs: MINUTE_MS });
    const innermost = await lock.lock({ threadId: outer.threadId, leaseMs: MINUTE_MS });
    void time.driver.next(fault, "lock-release");
    await inTime(time, innermost.unlock());
    expect(time.fields(KEY)).toEqual({ [outer.holder]: "2" });
    await inTime(time, inner.unlock());
    await freed(time, outer);
  });

  test(`a renewal is made up for, and its hold stays trusted (${fault.name})`, async () => {
    const time = open();
    const lease = await time.holdfast.getLock(KEY).lock();
    const met = time.driver.next(fault, "lock-renew");
    await time.clock.advance(10_000 + MOMENT_MS);
    expect((await met).fault).toBe(fault.name);
    expect(time.ttlMs(KEY)).toBeGreaterThan(30_000 - 2 * MOMENT_MS);
    expect(lease.remainingMs()).toBeGreaterThan(29_000 - 2 * MOMENT_MS);
    expect(time.fields(KEY)).toEqual({ [lease.holder]: "1" });
    await freed(time, lease);
  });
});

describe("a reply that never comes", () => {
  test("to an acquisition: the call fails in time, and what it may have taken is given back", async () => {
    const time = open({ commandTimeoutMs: 2_000 });
    await time.holdfast.getLock(KEY).isLocked();
    void time.driver.next(swallowReply, "lock-acquire");
    const call = time.holdfast.getLock(KEY).lock();
    const told = expect(call).rejects.toMatchObject({
      code: "ERR_HOLDFAST_UNAVAILABLE",
      outcomeUnknown: true,
    });
    await time.clock.advance(1_900);
    expect(Object.values(time.fields(KEY))).toEqual(["1"]);
    await time.clock.advance(200);
    await told;
    expect(time.fields(KEY)).toEqual({});
  });

  test("to a release: the call fails in time, and the lock is free", async () => {
    const time = open({ commandTimeoutMs: 2_000 });
    const lease = await time.holdfast.getLock(KEY).lock({ leaseMs: MINUTE_MS });
    void time.driver.next(swallowReply, "lock-release");
    const told = expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_UNAVAILABLE" });
    await time.clock.advance(2_100);
    await told;
    expect([lease.state, time.fields(KEY)]).toEqual(["released", {}]);
  });

  test("to a renewal: it is made up for long before the lease ends", async () => {
    const time = open();
    const lease = await time.holdfast.getLock(KEY).lock();
    void time.driver.next(swallowReply, "lock-renew");
    // A third of the lease, the command timeout, the first pause before another try.
    await time.clock.advance(10_000 + 3_000 + 500);
    expect(lease.remainingMs()).toBeGreaterThan(29_000);
    await freed(time, lease);
  });

  test("to the release of an inner hold: the outer one stays, with the count that it is to have", async () => {
    const time = open({ commandTimeoutMs: 2_000 });
    const lock = time.holdfast.getLock(KEY);
    const outer = await lock.lock({ leaseMs: MINUTE_MS });
    const inner = await lock.lock({ threadId: outer.threadId, leaseMs: MINUTE_MS });
    void time.driver.next(swallowReply, "lock-release");
    const told = expect(inner.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_UNAVAILABLE" });
    await time.clock.advance(2_100);
    await told;
    expect([outer.state, time.fields(KEY)]).toEqual(["held", { [outer.holder]: "1" }]);
    await freed(time, outer);
  });
});

describe("a server that refuses", () => {
  test.each([
    "LOADING Redis is loading the dataset in memory",
    "READONLY You can't write against a read only replica.",
  ])("for the moment is asked again: %s", async (answer) => {
    const time = open();
    const lock = time.holdfast.getLock(KEY);
    void time.driver.next(answerWith(new ServerReplyError(answer)), "lock-acquire");
    const lease = await inTime(time, lock.lock({ leaseMs: MINUTE_MS }));
    void time.driver.next(answerWith(new ServerReplyError(answer)), "lock-release");
    await freed(time, lease);
  });

  test("for good is not asked again, and leaves nothing to clean up", async () => {
    const time = open();
    await time.holdfast.getLock(KEY).isLocked();
    const refusal = new ServerReplyError("NOPERM this user has no permissions to run the 'evalsha' command");
    void time.driver.next(answerWith(refusal), "lock-acquire");
    await expect(time.holdfast.getLock(KEY).tryLock()).rejects.toMatchObject({
      code: "ERR_HOLDFAST_UNAVAILABLE",
      outcomeUnknown: false,
      cause: refusal,
    });
    await time.clock.advance(MINUTE_MS);
    expect(time.driver.names.filter((name) => name === "lock-acquire")).toHaveLength(1);
    expect(time.driver.names).not.toContain("lock-release");
  });
});

describe("a server that is too old", () => {
  const answering = (time: FakeTime, version: string | null): CallFault => ({
    name: `of version ${version}`,
    meet: async () => [time.clock.wallMs(), version],
  });

  test.each(["2.8.0", "5.0.14", "6.0.16", "6.1.9"])(
    "is refused by every call, by its version: %s",
    async (version) => {
      const time = open();
      const lock = time.holdfast.getLock(KEY);
      for (const call of [
        () => lock.lock(),
        () => lock.tryLock({ waitMs: MINUTE_MS }),
        () => lock.isLocked(),
      ]) {
        void time.driver.next(answering(time, version), "server-probe");
        await expect(call()).rejects.toMatchObject({
          code: "ERR_HOLDFAST_UNAVAILABLE",
          outcomeUnknown: false,
          message: expect.stringMatching(new RegExp(`${version.replaceAll(".", "\\.")}.*6\\.2`)),
        });
      }
      expect(new Set(time.driver.names)).toEqual(new Set(["server-probe"]));
      // Nothing was decided for good: it may be a new one by now.
      await freed(time, await lock.lock());
    },
  );

  test.each(["6.2.0", "7.0.15", "7.2.4", "10.0.0", null])("is not one of version %s", async (version) => {
    const time = open();
    void time.driver.next(answering(time, version), "server-probe");
    await freed(time, await time.holdfast.getLock(KEY).lock());
    expect(time.driver.names).toEqual(["server-probe", "lock-acquire", "lock-release"]);
  });
});
