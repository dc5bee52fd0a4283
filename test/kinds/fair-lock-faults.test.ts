import { describe, expect, test } from "vitest";
import { UnavailableError, WrongTypeError } from "../../src/errors.js";
import { fairTimes } from "../../src/protocol/fair-scripts.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import {
  answerLate,
  deliverLate,
  deliverTwice,
  loseReply,
  neverDeliver,
  swallowReply,
} from "../support/faults/call-faults.js";
import {
  ALIVE,
  JvmThread,
  QUEUE,
  queueOf,
  TIMEOUTS,
  toldOurs,
  WAITER_CHANNEL,
} from "../support/models/fair-queue.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { inside, leaseOf, queued, rawOf, release } from "../support/worlds/fair-waiters.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

const HOUR_MS = 60 * 60 * 1_000;
const PERIOD_MS = 1_500;
const COMMAND_MS = 3_000;
const held = { value: { state: "held" } };

function queue(time: FakeTime): Promise<readonly string[]> {
  return queueOf(rawOf(time));
}

describe("a waiter of a fair lock whose command goes wrong", () => {
  test.each<[string, CallFault, "enters" | "fails"]>([
    ["the answer is lost", loseReply, "enters"],
    ["the command arrives twice", deliverTwice, "enters"],
    ["the answer never comes", swallowReply, "fails"],
    ["the command gets lost", neverDeliver, "fails"],
  ])("when it comes to stand in the queue: %s; nothing stays behind [B9]", async (_, fault, end) => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const client = time.connect();
    await (await client.holdfast.getFairLock("b").lock()).unlock();
    void client.driver.next(fault, "fair-acquire");
    const waiting = await queued(time, {}, client);
    await time.clock.advance(2 * COMMAND_MS + PERIOD_MS);
    if (end === "fails") {
      expect(waiting.lock.outcome).toEqual({ error: expect.any(UnavailableError) });
      await time.clock.advance(2 * COMMAND_MS);
      expect(await queue(time)).toEqual([]);
      await lease.unlock();
    } else {
      expect(await queue(time)).toHaveLength(1);
      await lease.unlock();
      await time.clock.advance(0);
      await release(waiting, time);
    }
    await time.clock.advance(2 * COMMAND_MS);
    expect(Object.keys(time.server.dump())).toEqual([]);
  });

  test("when a copy of it arrives after its stay: nobody is kept out for longer than its deadline", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const client = time.connect();
    await (await client.holdfast.getFairLock("b").lock()).unlock();
    const late = deliverLate({ told: true });
    void client.driver.next(late, "fair-acquire");
    const waiting = await queued(time, {}, client);
    await time.clock.advance(100);
    expect(await queue(time)).toHaveLength(1);
    await lease.unlock();
    await time.clock.advance(0);
    await release(waiting, time);
    await late.arrive();
    await time.clock.advance(COMMAND_MS + 100);
    expect(Object.keys(time.server.dump())).toEqual([]);
    const next = await time.holdfast.getFairLock("a").tryLock();
    await next?.unlock();
    expect(next).not.toBeNull();
  });

  test("when its sign of life arrives after it has left: it does not come back", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const client = time.connect();
    const late = deliverLate();
    void client.driver.next(late, "fair-refresh");
    const waiting = watched(client.holdfast.getFairLock("a").tryLock({ waitMs: 2_000 }));
    await time.clock.advance(2_000);
    expect(waiting.outcome).toEqual({ value: null });
    expect(await queue(time)).toEqual([]);
    await late.arrive();
    await time.clock.advance(0);
    expect([...Object.keys(time.server.dump())]).toEqual(["a"]);
    await lease.unlock();
  });

  test("when its confirmation is lost: it is sent again, and the hold is kept", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const waiting = await queued(time);
    await lease.unlock();
    await time.clock.advance(0);
    void waiting.driver.next(loseReply, "fair-release");
    await time.clock.advance(fairTimes.grantMs);
    expect(waiting.lock.outcome).toMatchObject(held);
    expect(time.ttlMs("a")).toBeGreaterThan(20_000);
    await release(waiting, time);
  });

  test("when its release of what it was given is lost: it is repeated, and the next is told once", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const [waiting, next] = [await queued(time), await queued(time)];
    await lease.unlock();
    await time.clock.advance(0);
    void waiting.driver.next(loseReply, "fair-release");
    const releasing = watched(leaseOf(waiting).unlock());
    await time.clock.advance(1_000);
    expect(releasing.outcome).toEqual({ value: undefined });
    expect(next.lock.outcome).toMatchObject(held);
    await release(next, time);
    await time.clock.advance(2 * COMMAND_MS);
    expect(time.fields("a")).toEqual({});
  });
});

describe("a waiter of a fair lock that hears badly", () => {
  test("enters by its signs of life when it can not listen", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const client = time.connect();
    client.driver.channels.failNext(new Error("no more channels"));
    const waiting = await queued(time, {}, client);
    await lease.unlock();
    await time.clock.advance(PERIOD_MS - 100);
    expect(waiting.lock.outcome).toBeUndefined();
    await time.clock.advance(200);
    expect(waiting.lock.outcome).toMatchObject(held);
    await release(waiting, time);
  });

  test("listens again with its next sign of life when it could not at first", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const client = time.connect();
    client.driver.channels.failNext(new Error("no more channels"));
    const waiting = await queued(time, {}, client);
    await time.clock.advance(PERIOD_MS + 100);
    await lease.unlock();
    await time.clock.advance(0);
    expect(waiting.lock.outcome).toMatchObject(held);
    await release(waiting, time);
  });

  test("asks when it listens again, as it may have missed something", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const waiting = await queued(time);
    waiting.driver.channels.mute(true);
    await lease.unlock();
    await time.clock.advance(10);
    expect(waiting.lock.outcome).toBeUndefined();
    waiting.driver.channels.mute(false);
    waiting.driver.channels.reconnect();
    await time.clock.advance(0);
    expect(waiting.lock.outcome).toMatchObject(held);
    await release(waiting, time);
  });

  test("does not forget a message that comes before the older answer to its attempt", async () => {
    const time = open();
    const thread = new JvmThread(rawOf(time));
    await thread.holds(HOUR_MS);
    const waiting = await queued(time);
    const late = answerLate();
    void waiting.driver.next(late, "fair-acquire");
    const [holder = ""] = await queue(time);
    time.server.command("PUBLISH", WAITER_CHANNEL + holder, "0");
    await time.clock.advance(0);
    await thread.releases(time.clock.wallMs());
    await time.clock.advance(10);
    late.arrive();
    await time.clock.advance(10);
    expect(waiting.lock.outcome).toMatchObject(held);
    await release(waiting, time);
  });

  test("gets in when it is told of a grant before the older answer to its attempt", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const client = time.connect();
    await (await client.holdfast.getFairLock("b").lock()).unlock();
    const waiting = await queued(time, {}, client);
    const late = answerLate();
    void waiting.driver.next(late, "fair-acquire");
    time.server.command("PUBLISH", ...toldOurs(waiting.holder, 0));
    await time.clock.advance(0);
    await lease.unlock();
    await time.clock.advance(10);
    late.arrive();
    await time.clock.advance(0);
    expect(waiting.lock.outcome).toMatchObject(held);
    await release(waiting, time);
  });
});

describe("a fair lock on a server that forgets", () => {
  test("is not given to one after the other of those who died, where their signs of life were lost [own-65]", async () => {
    const time = open();
    const raw = rawOf(time);
    const lease = await time.holdfast.getFairLock("a").lock();
    for (let n = 0; n < 5; n += 1) {
      const dead = `c0000000-0000-8001-8000-000000000000:${4_294_967_296 + n}`;
      await raw("RPUSH", QUEUE, dead);
      await raw("ZADD", TIMEOUTS, time.clock.wallMs() + HOUR_MS, dead);
    }
    const waiting = await queued(time);
    // As when somebody deletes the key.
    await raw("DEL", ALIVE);
    await lease.unlock();
    // The first of them has it for a while, and the second as well, as it is believed alive until then.
    await time.clock.advance(2 * fairTimes.grantMs + 2 * PERIOD_MS);
    expect(waiting.lock.outcome).toMatchObject(held);
    await release(waiting, time);
    expect(Object.keys(time.server.dump())).toEqual([]);
  });

  test("lets all waiters in after everything was lost, and leaves nothing", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const waiting = [await queued(time), await queued(time), await queued(time)];
    time.server.flush();
    await time.clock.advance(2 * PERIOD_MS);
    for (let i = 0; i < waiting.length; i++) {
      const entered = inside(waiting);
      expect(entered).toHaveLength(1);
      for (const one of entered) await release(one, time);
      await time.clock.advance(2 * PERIOD_MS);
    }
    await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
    expect(Object.keys(time.server.dump())).toEqual([]);
  });

  test.each([QUEUE, TIMEOUTS, ALIVE])("refuses clearly when %s is something else", async (key) => {
    const time = open();
    time.server.command("SET", key, "a text");
    const lock = time.holdfast.getFairLock("a");
    await expect(lock.lock()).rejects.toThrow(WrongTypeError);
    await expect(lock.tryLock()).rejects.toThrow(WrongTypeError);
    expect(time.fields("a")).toEqual({});
    time.server.command("DEL", key);
  });
});
