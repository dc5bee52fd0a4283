import { describe, expect, test } from "vitest";
import { fairTimes } from "../../src/protocol/fair-scripts.js";
import { answerLate } from "../support/faults/call-faults.js";
import {
  clientIdOf,
  JVM_1,
  JvmThread,
  queueOf,
  toldOurs,
  WAITER_CHANNEL,
} from "../support/models/fair-queue.js";
import { watchLeaks } from "../support/run/leaks.js";
import { inside, leaseOf, queued, rawOf, release, type Waiting } from "../support/worlds/fair-waiters.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

const HOUR_MS = 60 * 60 * 1_000;
/** A sign of life is given once in so long. */
const PERIOD_MS = 1_500;
/** Also for the wheel, which may come a tick late. */
const WITHIN_A_PERIOD_MS = PERIOD_MS + 100;
const held = { value: { state: "held" } };

/** Whether its client listens to a waiter's own channel, where a JVM would tell it. */
function listensForJvms({ server }: FakeTime, { holder }: Waiting): boolean {
  return server.command("PUBLISH", WAITER_CHANNEL + holder, "x") === 1;
}

/** What was sent for a client from here on. */
function sentFrom({ driver }: Waiting): () => readonly string[] {
  const before = driver.names.length;
  return () => driver.names.slice(before);
}

function entered(waiting: readonly Waiting[]): number[] {
  return waiting.flatMap(({ lock }, at) => (lock.outcome === undefined ? [] : [at]));
}

describe("the waiters of one client for a fair lock", () => {
  test("listen to one channel, and one command asks for all of them when messages begin to arrive", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const client = time.connect();
    const subscribe = client.driver.channels.hold();
    const waiting: Waiting[] = [];
    for (let n = 0; n < 8; n += 1) waiting.push(await queued(time, {}, client));
    const [first] = waiting;
    expect(client.driver.names.filter((name) => name.startsWith("fair-"))).toEqual(
      Array(8).fill("fair-acquire"),
    );
    const before = client.driver.names.length;
    subscribe();
    await time.clock.advance(0);
    expect(client.driver.names.slice(before)).toEqual(["fair-refresh"]);
    expect(client.driver.channels.asked).toEqual([WAITER_CHANNEL + clientIdOf(first?.holder ?? "")]);
    await lease.unlock();
    await time.clock.advance(0);
    for (const [at, one] of waiting.entries()) {
      expect(entered(waiting)).toEqual(Array.from({ length: at + 1 }, (_, each) => each));
      await release(one, time);
    }
    expect(client.driver.names.slice(before)).toEqual(["fair-refresh", ...Array(8).fill("fair-release")]);
  });

  test("ask once, and are given the lock, while messages arrive for those before them", async () => {
    const time = open();
    let lease = await time.holdfast.getFairLock("a").lock();
    const client = time.connect();
    await queuedAndReleased(time, client, lease.unlock.bind(lease));
    lease = await time.holdfast.getFairLock("a").lock();
    const before = client.driver.names.length;
    const again = await queued(time, {}, client);
    await lease.unlock();
    await time.clock.advance(0);
    await release(again, time);
    expect(client.driver.names.slice(before)).toEqual(["fair-acquire", "fair-release"]);
    expect(client.driver.channels.asked).toHaveLength(1);
  });

  test("subscribe anew when the subscription has not been used for ten seconds", async () => {
    const time = open();
    let lease = await time.holdfast.getFairLock("a").lock();
    const client = time.connect();
    await queuedAndReleased(time, client, lease.unlock.bind(lease));
    await time.clock.advance(10_200);
    lease = await time.holdfast.getFairLock("a").lock();
    const again = await queued(time, {}, client);
    expect(client.driver.channels.asked).toHaveLength(2);
    await lease.unlock();
    await time.clock.advance(0);
    await release(again, time);
  });

  test("enter by a message that comes before the answer to their question", async () => {
    const time = open();
    let lease = await time.holdfast.getFairLock("a").lock();
    const client = time.connect();
    await queuedAndReleased(time, client, lease.unlock.bind(lease));
    lease = await time.holdfast.getFairLock("a").lock();
    const late = answerLate();
    void client.driver.next(late, "fair-acquire");
    const again = await queued(time, {}, client);
    const sent = sentFrom(again);
    await lease.unlock();
    await time.clock.advance(0);
    expect(again.lock.outcome).toBeUndefined();
    late.arrive();
    await time.clock.advance(0);
    expect(again.lock.outcome).toMatchObject(held);
    expect(sent()).toEqual([]);
    await release(again, time);
  });

  test("ask again when messages were lost before the answer to their question", async () => {
    const time = open();
    let lease = await time.holdfast.getFairLock("a").lock();
    const client = time.connect();
    await queuedAndReleased(time, client, lease.unlock.bind(lease));
    lease = await time.holdfast.getFairLock("a").lock();
    const late = answerLate();
    void client.driver.next(late, "fair-acquire");
    const again = await queued(time, {}, client);
    const sent = sentFrom(again);
    client.driver.channels.mute(true);
    await lease.unlock();
    await time.clock.advance(0);
    client.driver.channels.mute(false);
    client.driver.channels.reconnect();
    await time.clock.advance(0);
    expect(sent()).toEqual([]);
    late.arrive();
    await time.clock.advance(0);
    expect(again.lock.outcome).toMatchObject(held);
    expect(sent()).toEqual(["fair-refresh", "fair-acquire"]);
    await release(again, time);
  });

  test("ask when they are told to, by a script that does not give the lock away", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const waiting = await queued(time);
    const sent = sentFrom(waiting);
    time.server.command("DEL", "a");
    time.server.command("PUBLISH", ...toldOurs(waiting.holder, 0));
    await time.clock.advance(0);
    expect(sent()).toEqual(["fair-acquire"]);
    await release(waiting, time);
    await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
  });

  /** One of a client has waited for the lock, and has had it. */
  async function queuedAndReleased(
    time: FakeTime,
    client: ReturnType<FakeTime["connect"]>,
    unlock: () => Promise<void>,
  ): Promise<void> {
    const waiting = await queued(time, {}, client);
    await unlock();
    await time.clock.advance(0);
    await release(waiting, time);
  }
});

describe("a JVM that frees a fair lock", () => {
  test("is heard by the first waiter of each client, and by no other", async () => {
    const time = open();
    const thread = new JvmThread(rawOf(time));
    await thread.holds(HOUR_MS);
    const client = time.connect();
    const waiting = [await queued(time, {}, client), await queued(time, {}, client), await queued(time)];
    expect(waiting.map((one) => listensForJvms(time, one))).toEqual([true, false, true]);
    await thread.releases(time.clock.wallMs());
    await time.clock.advance(0);
    expect(entered(waiting)).toEqual([0]);
    // The next one of the client finds that no JVM is there any more.
    await time.clock.advance(WITHIN_A_PERIOD_MS);
    expect(waiting.map((one) => listensForJvms(time, one))).toEqual([false, false, false]);
    for (const one of waiting) await release(one, time);
    expect(entered(waiting)).toEqual([0, 1, 2]);
  });

  test("is not listened for while all who have the lock or wait are clients of holdfast", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const waiting = [await queued(time), await queued(time)];
    await time.clock.advance(WITHIN_A_PERIOD_MS);
    expect(waiting.map((one) => listensForJvms(time, one))).toEqual([false, false]);
    for (const { driver } of waiting) expect(driver.channels.asked).toHaveLength(1);
    await lease.unlock();
    await time.clock.advance(0);
    for (const one of waiting) await release(one, time);
  });

  test("and came after ours is listened for from the next sign of life on", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const client = time.connect();
    const first = await queued(time, {}, client);
    const thread = new JvmThread(rawOf(time));
    await thread.queues(time.clock.wallMs());
    const last = await queued(time, {}, client);
    await time.clock.advance(WITHIN_A_PERIOD_MS);
    expect([first, last].map((one) => listensForJvms(time, one))).toEqual([true, false]);
    await lease.unlock();
    await time.clock.advance(0);
    await release(first, time);
    // It is told, and takes the lock; ours behind it is the first of its client by now.
    expect(await thread.enters(time.clock.wallMs(), HOUR_MS)).toBe(true);
    expect(listensForJvms(time, last)).toBe(true);
    await thread.releases(time.clock.wallMs());
    await time.clock.advance(0);
    expect(last.lock.outcome).toMatchObject(held);
    await release(last, time);
  });

  test("by force, from nowhere, is found by the next sign of life", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const waiting = [await queued(time), await queued(time)];
    await time.clock.advance(WITHIN_A_PERIOD_MS);
    const thread = new JvmThread(rawOf(time));
    // As Redisson's forceUnlock: it deletes what is there, and tells the head of the queue.
    await thread.releases(time.clock.wallMs());
    await time.clock.advance(0);
    expect(entered(waiting)).toEqual([]);
    await time.clock.advance(WITHIN_A_PERIOD_MS);
    expect(entered(waiting)).toEqual([0]);
    for (const one of waiting) await release(one, time);
    await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
  });

  test("is found by the next sign of life when the first waiter can not listen to its own channel, which tries again", async () => {
    const time = open();
    const thread = new JvmThread(rawOf(time));
    await thread.holds(HOUR_MS);
    const client = time.connect();
    const subscribe = client.driver.channels.hold();
    const waiting = await queued(time, {}, client);
    client.driver.channels.failNext(new Error("no more channels"));
    subscribe();
    await time.clock.advance(0);
    expect(client.driver.channels.asked).toEqual([
      WAITER_CHANNEL + clientIdOf(waiting.holder),
      WAITER_CHANNEL + waiting.holder,
    ]);
    client.driver.channels.failNext(new Error("no more channels"));
    const other = await queued(time);
    await time.clock.advance(WITHIN_A_PERIOD_MS);
    expect(listensForJvms(time, other)).toBe(true);
    await thread.releases(time.clock.wallMs());
    await time.clock.advance(WITHIN_A_PERIOD_MS);
    expect(waiting.lock.outcome).toMatchObject(held);
    await release(waiting, time);
    await release(other, time);
  });
});

describe("clients of both sorts in the queue of a fair lock", () => {
  test("enter in their order, each at once when the one before leaves", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const [one, two] = [time.connect(), time.connect()];
    const threads = [new JvmThread(rawOf(time)), new JvmThread(rawOf(time), `${JVM_1}1`)];
    const ours: Waiting[] = [];
    for (const thread of threads) {
      ours.push(await queued(time, {}, one), await queued(time, {}, two));
      await thread.queues(time.clock.wallMs());
    }
    ours.push(await queued(time, {}, one), await queued(time, {}, two));
    await time.clock.advance(WITHIN_A_PERIOD_MS);
    expect(await queueOf(rawOf(time))).toHaveLength(8);
    await lease.unlock();
    await time.clock.advance(0);
    for (const [at, waiting] of ours.entries()) {
      expect(inside(ours)).toEqual([waiting]);
      await release(waiting, time);
      const thread = at % 2 === 1 ? threads[(at - 1) / 2] : undefined;
      if (thread === undefined) continue;
      expect(inside(ours)).toEqual([]);
      expect(await thread.enters(time.clock.wallMs(), HOUR_MS)).toBe(true);
      await time.clock.advance(fairTimes.grantMs);
      expect(inside(ours)).toEqual([]);
      await thread.releases(time.clock.wallMs());
      await time.clock.advance(0);
    }
    expect(Object.keys(time.server.dump())).toEqual([]);
  });

  test("hear of what ours give up, and of what a JVM that leaves the queue does not tell", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const thread = new JvmThread(rawOf(time));
    await thread.queues(time.clock.wallMs());
    const waiting = await queued(time);
    await lease.unlock();
    await time.clock.advance(0);
    expect(time.fields("a")).toEqual({});
    await thread.givesUp();
    await time.clock.advance(WITHIN_A_PERIOD_MS);
    expect(leaseOf(waiting).state).toBe("held");
    await release(waiting, time);
  });
});
