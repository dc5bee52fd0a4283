import { describe, expect, test, vi } from "vitest";
import { Client } from "../../src/client.js";
import { ServerReplyError } from "../../src/driver/driver.js";
import { HeldLease } from "../../src/lease.js";
import { LeaseLock } from "../../src/locks/lease-lock.js";
import { lockId } from "../../src/locks/lock-kind.js";
import { reentrantLock } from "../../src/locks/reentrant-lock.js";
import { MemoryServer, memoryDriver } from "../../src/memory/index.js";
import { Deadline } from "../../src/runtime/deadline.js";
import { Occupancy } from "../../src/threads/occupancy.js";
import { Stay } from "../../src/threads/stay.js";
import { Thread } from "../../src/threads/thread.js";
import { ScriptedDriver } from "../support/drivers/scripted-driver.js";
import { answerWith, deliverLate, rejectAtOnce } from "../support/faults/call-faults.js";
import { gate } from "../support/run/gate.js";
import { CountingClock } from "../support/worlds/counting-clock.js";

function setUp() {
  const clock = new CountingClock();
  const server = new MemoryServer({ clock });
  const driver = new ScriptedDriver(memoryDriver(server));
  const client = new Client(driver, { clock });
  const lock = (key: string) =>
    new LeaseLock(
      {
        client,
        kind: reentrantLock,
        name: key,
        key,
        id: lockId(undefined, key),
        otherId: undefined,
        channel: reentrantLock.channel(key),
        queues: false,
        reentry: "scope",
      },
      HeldLease,
    );
  const stays = () => [...client.threads.stays()].length;
  return { clock, server, driver, client, lock, stays };
}

describe("a client forgets a stay in a lock", () => {
  test("with the release of its last hold, whoever chose its number", async () => {
    const { lock, stays, client } = setUp();
    for (let i = 0; i < 3; i++) {
      await lock("a").using(() => lock("a").using(() => lock("b").using(() => expect(stays()).toBe(2))));
      const lease = await lock("c").lock({ threadId: 7 });
      const again = await lock("d").lock({ threadId: 7 });
      expect(stays()).toBe(2);
      await lease.unlock();
      expect([stays(), client.threads.find(7) !== undefined]).toEqual([1, true]);
      await again.unlock();
      expect([stays(), client.threads.find(7)]).toEqual([0, undefined]);
    }
  });

  test("that was refused, and one whose wait was cancelled or ran out of time", async () => {
    const { clock, lock, stays } = setUp();
    const lease = await lock("a").lock();
    expect(await lock("a").tryLock()).toBeNull();
    const cancel = new AbortController();
    const waits = [lock("a").lock({ signal: cancel.signal }), lock("a").lock({ waitMs: 100 })];
    const settled = Promise.allSettled(waits);
    await clock.advance(50);
    expect(stays()).toBe(3);
    cancel.abort();
    await clock.advance(100);
    expect((await settled).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(stays()).toBe(1);
    await lease.unlock();
    expect(stays()).toBe(0);
  });

  test("that was lost, when somebody asks for its state at the latest", async () => {
    const { clock, lock, stays } = setUp();
    const lease = await lock("a").lock({ leaseMs: 1_000 });
    await clock.advance(1_000);
    expect([lease.state, stays()]).toEqual(["lost", 0]);
  });

  test("that Redis refused, but one with an unknown outcome only once that is cleaned up", async () => {
    const { clock, driver, lock, stays } = setUp();
    const fails = async (): Promise<void> => {
      const failed = lock("a")
        .lock()
        .catch((error: unknown) => error);
      await clock.advance(3_000);
      expect(await failed).toMatchObject({ code: "ERR_HOLDFAST_UNAVAILABLE" });
    };
    void driver.next(answerWith(new ServerReplyError("OOM no memory")), "lock-acquire");
    await fails();
    expect(stays()).toBe(0);
    for (let i = 0; i < 12; i++) void driver.next(rejectAtOnce, "lock-acquire");
    await fails();
    expect(stays()).toBe(1);
    await clock.advance(10_000);
    expect(stays()).toBe(0);
  });

  test("not before a release that is under way is answered", async () => {
    const { clock, driver, lock, stays } = setUp();
    const lease = await lock("a").lock();
    const slow = deliverLate();
    void driver.next(slow, "lock-release");
    const released = lease.unlock();
    await clock.advance(100);
    expect([lease.state, stays()]).toEqual(["released", 1]);
    await slow.arrive();
    await released;
    expect(stays()).toBe(0);
  });
});

describe("the bodies that run in a scope", () => {
  test("are known for as long as they run, so that closing can wait for them", async () => {
    const { client, lock } = setUp();
    const { running } = client.threads;
    const [leave, entered, leaveThread] = [gate(), gate(), gate()];
    const body = () => {
      entered.open();
      return leave.opened;
    };
    const using = lock("a").using(body);
    const asThread = client.threads.runAs(new Thread(), () => leaveThread.opened);
    await entered.opened;
    expect(running.size).toBe(2);
    leave.open();
    await using;
    expect(running.size).toBe(1);
    leaveThread.open();
    await asThread;
    expect(running.size).toBe(0);
    await expect(lock("a").using(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(running.size).toBe(0);
  });
});

describe("the commands of one stay", () => {
  function begun() {
    const { client } = setUp();
    const held = {
      client,
      name: "a",
      key: "a",
      id: ":a",
      channel: "channel",
      queues: true,
      kind: reentrantLock,
    };
    const over: Stay[] = [];
    const custody = {
      clock: client.clock,
      alarms: { set: () => undefined, cancel: () => undefined } as never,
      watchdogs: { usual: { add: () => undefined, leaseMs: 30_000 } } as never,
      occupancy: new Occupancy(),
      confirmations: undefined,
      tellLoss: () => undefined,
      over: (stay: Stay) => void over.push(stay),
    };
    return {
      over,
      stay: new Stay(new Thread(), held, { threadId: 1, field: "x:1", host: undefined }, custody),
    };
  }

  test("go out one after the other, also past one that failed", async () => {
    const { stay } = begun();
    const log: string[] = [];
    const [first, second] = [gate(), gate()];
    const works = [
      stay.inRedis.inTurn(async () => {
        log.push("first");
        await first.opened;
        throw new Error("failed");
      }),
      stay.inRedis.inTurn(async () => {
        log.push("second");
        await second.opened;
      }),
      stay.inRedis.inTurn(async () => log.push("third")),
    ];
    const settled = Promise.allSettled(works);
    await new Promise(setImmediate);
    expect(log).toEqual(["first"]);
    first.open();
    await new Promise(setImmediate);
    expect(log).toEqual(["first", "second"]);
    second.open();
    expect((await settled).map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
    expect(log).toEqual(["first", "second", "third"]);
  });

  test("a turn in which another one begins is a bug [own-75]", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
    const { inRedis } = begun().stay;
    const turn = inRedis.inTurn(async () => inRedis.beginTurn());
    await expect(turn).rejects.toThrow("bug in holdfast: two commands of a stay are under way");
    expect(warn).toHaveBeenCalledOnce();
  });

  test("may lower the count until none can arrive any more", () => {
    const { inRedis } = begun().stay;
    const clock = { resets: 0, offsetMs: 0, latestMs: 0 };
    inRedis.copyMayArrive(new Deadline(clock, 1_000, 300));
    expect(inRedis.mayBeLowered).toBe(false);
    inRedis.copyMayArrive(new Deadline(clock, 900, 300), 5_000, true);
    inRedis.seenServer(clock, 1_000);
    expect(inRedis.mayBeLowered).toBe(true);
    inRedis.seenServer(clock, 1_001);
    expect(inRedis.mayBeLowered).toBe(false);
  });

  test("may still arrive until the latest of their deadlines has passed on the server's clock", () => {
    const { stay } = begun();
    const { inRedis } = stay;
    const clock = { resets: 0, offsetMs: 0, latestMs: 0 };
    expect(inRedis.copiesUntilMs).toBe(0);
    inRedis.copyMayArrive(new Deadline(clock, 1_000, 300));
    inRedis.copyMayArrive(new Deadline(clock, 500, 300));
    inRedis.seenServer(clock, 1_000);
    expect(inRedis.copiesUntilMs).toBe(1_000);
    inRedis.seenServer(undefined, 5_000);
    expect(inRedis.copiesUntilMs).toBe(1_000);
    inRedis.seenServer(clock, 1_001);
    expect(inRedis.copiesUntilMs).toBe(0);
  });

  test.each([
    { ahead: "far ahead", nowMs: 9_000_000, untilMs: 9_000_300 },
    { ahead: "far behind", nowMs: -9_000_000, untilMs: -8_940_000 },
    { ahead: "a little behind", nowMs: 0, untilMs: 1_000 },
  ])(
    "may arrive at another server, whose clock is $ahead, for the time that they were given, and for a minute at most [own-2]",
    ({ nowMs, untilMs }) => {
      const { inRedis } = begun().stay;
      const [clock, other] = [
        { resets: 0, offsetMs: 0, latestMs: 0 },
        { resets: 1, offsetMs: 0, latestMs: nowMs },
      ];
      inRedis.copyMayArrive(new Deadline(clock, 1_000, 300));
      inRedis.seenServer(other, nowMs);
      expect(inRedis.copiesUntilMs).toBe(untilMs);
      // What is sent to the other one counts by its clock, and does not make the rest end sooner.
      inRedis.copyMayArrive(new Deadline(other, nowMs + 200, 300));
      expect(inRedis.copiesUntilMs).toBe(untilMs);
      inRedis.seenServer(other, untilMs);
      expect(inRedis.copiesUntilMs).toBe(untilMs);
      inRedis.seenServer(other, untilMs + 1);
      expect(inRedis.copiesUntilMs).toBe(0);
    },
  );

  test("keep it from being over until each of them is settled", () => {
    const { stay, over } = begun();
    stay.unsettled();
    stay.settled();
    expect(over).toEqual([]);
    stay.settled();
    expect(over).toEqual([stay]);
  });
});
