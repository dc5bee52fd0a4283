import { describe, expect, test } from "vitest";
import { fairTimes } from "../../src/protocol/fair-scripts.js";
import {
  JVM_1,
  JVM_2,
  JvmThread,
  QUEUE,
  queueOf,
  TIMEOUTS,
  WAITER_CHANNEL,
} from "../support/models/fair-queue.js";
import { watchLeaks } from "../support/run/leaks.js";
import { queued, rawOf, release } from "../support/worlds/fair-waiters.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

const HOUR_MS = 60 * 60 * 1_000;
const PERIOD_MS = 1_500;
const held = { value: { state: "held" } };

/** A client of ours with the same face as that of a JVM: a UUID of version 8, another protocol's number behind it. */
const OTHER_PROTOCOL = "3f0c5f9e-6f1d-8002-9b0e-0c1d2e3f4a5b:57";

function jvm(time: FakeTime, holder: string = JVM_1): JvmThread {
  return new JvmThread(rawOf(time), holder);
}

function queue(time: FakeTime): Promise<readonly string[]> {
  return queueOf(rawOf(time));
}

function scoreOf({ server, clock }: FakeTime, holder: string): number {
  return Number(server.command("ZSCORE", TIMEOUTS, holder)) - clock.wallMs();
}

describe("a JVM behind a holder of ours", () => {
  test.each([
    ["a client id of Redisson's", JVM_1],
    ["one of ours with another protocol's number [R24]", OTHER_PROTOCOL],
  ])("with %s is told to come, is given nothing and is not overtaken", async (_, holder) => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const thread = jvm(time, holder);
    await thread.queues(time.clock.wallMs());
    const behind = await queued(time);
    expect(await queue(time)).toEqual([holder, behind.holder]);
    const messages: string[] = [];
    time.server.subscribe(thread.channel, (message) => messages.push(message));
    await lease.unlock();
    await time.clock.advance(0);
    expect(messages).toEqual(["0"]);
    expect(time.fields("a")).toEqual({});
    expect(await time.holdfast.getFairLock("a").tryLock()).toBeNull();
    await time.clock.advance(10_000);
    expect(behind.lock.outcome).toBeUndefined();
    expect(await thread.enters(time.clock.wallMs(), HOUR_MS)).toBe(true);
    await time.clock.advance(10_000);
    expect(behind.lock.outcome).toBeUndefined();
    await thread.releases(time.clock.wallMs());
    await time.clock.advance(0);
    expect(behind.lock.outcome).toMatchObject(held);
    await release(behind, time);
  });

  test("that dies does not stop those behind it for longer than its score and our grace [wire-L2]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock({ leaseMs: 10_000 });
    const thread = jvm(time);
    await thread.queues(time.clock.wallMs());
    const dueMs = scoreOf(time, thread.holder);
    const behind = await queued(time);
    await lease.unlock();
    await time.clock.advance(dueMs + fairTimes.graceMs - 1);
    expect(behind.lock.outcome).toBeUndefined();
    await time.clock.advance(PERIOD_MS + 100);
    expect(behind.lock.outcome).toMatchObject(held);
    await release(behind, time);
  });

  test("gets its score lowered by its predecessor's wait, as Redisson would, and keeps its place [R22]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock({ leaseMs: 30_000 });
    const first = await queued(time);
    const thread = jvm(time);
    await thread.queues(time.clock.wallMs());
    const before = scoreOf(time, thread.holder);
    await lease.unlock();
    await time.clock.advance(0);
    expect(first.lock.outcome).toMatchObject(held);
    expect(scoreOf(time, thread.holder)).toBe(before - 300_000);
    expect(await thread.evicts(time.clock.wallMs())).toEqual([]);
    await release(first, time);
    expect(await thread.enters(time.clock.wallMs(), 1_000)).toBe(true);
    await thread.releases(time.clock.wallMs());
  });
});

describe("a waiter of ours behind a JVM", () => {
  test("that holds the lock enters on its release, without a wait", async () => {
    const time = open();
    const thread = jvm(time);
    await thread.holds(HOUR_MS);
    const [first, second] = [await queued(time), await queued(time)];
    await time.clock.advance(20 * 60_000);
    await thread.releases(time.clock.wallMs());
    await time.clock.advance(0);
    expect(first.lock.outcome).toMatchObject(held);
    expect(second.lock.outcome).toBeUndefined();
    await release(first, time);
    expect(second.lock.outcome).toMatchObject(held);
    await release(second, time);
  });

  test("that waits lives through its arithmetic: J1, N1, J2 [R22]", async () => {
    const time = open();
    const [first, last] = [jvm(time), jvm(time, JVM_2)];
    const lease = await time.holdfast.getFairLock("a").lock({ leaseMs: 1_000 });
    await first.queues(time.clock.wallMs());
    const ours = await queued(time);
    await last.queues(time.clock.wallMs());
    await lease.unlock();
    expect(await first.enters(time.clock.wallMs(), HOUR_MS)).toBe(true);
    // It has taken 300 s off the scores of all others, and the last one looks for the dead.
    expect(await last.evicts(time.clock.wallMs())).toEqual([]);
    await time.clock.advance(PERIOD_MS - 1);
    expect(await last.evicts(time.clock.wallMs())).toEqual([]);
    expect(await queue(time)).toEqual([ours.holder, JVM_2]);
    await first.releases(time.clock.wallMs());
    await time.clock.advance(0);
    expect(ours.lock.outcome).toMatchObject(held);
    await release(ours, time);
    expect(await last.enters(time.clock.wallMs(), 1_000)).toBe(true);
    await last.releases(time.clock.wallMs());
  });

  test("lives through eight JVMs that give up before it, between two signs of life [R22]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const threads = Array.from({ length: 8 }, (_, i) => jvm(time, `${JVM_1}${i}`));
    for (const thread of threads) await thread.queues(time.clock.wallMs());
    const ours = await queued(time);
    const last = jvm(time, JVM_2);
    await last.queues(time.clock.wallMs());
    for (const thread of threads) await thread.givesUp();
    expect(await last.evicts(time.clock.wallMs())).toEqual([]);
    expect(await queue(time)).toEqual([ours.holder, JVM_2]);
    await last.givesUp();
    await lease.unlock();
    await time.clock.advance(0);
    await release(ours, time);
  });

  test("is not thrown out by a JVM whose clock is some minutes ahead, nor throws out one whose clock is behind", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock({ leaseMs: HOUR_MS });
    const ours = await queued(time);
    const ahead = jvm(time);
    expect(await ahead.evicts(time.clock.wallMs() + 5 * 60_000)).toEqual([]);
    // Behind ours it reads our score on its own clock.
    const behind = jvm(time, JVM_2);
    await behind.queues(time.clock.wallMs() - 60_000);
    await lease.unlock();
    await time.clock.advance(0);
    await release(ours, time);
    expect(await queue(time)).toEqual([JVM_2]);
    expect(await behind.enters(time.clock.wallMs() - 60_000, 1_000)).toBe(true);
    await behind.releases(time.clock.wallMs());
  });

  test("that throws it out of the queue by mistake stands in it again within a period", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const ours = await queued(time);
    const thread = jvm(time);
    expect(await thread.evicts(time.clock.wallMs() + HOUR_MS)).toEqual([ours.holder]);
    await time.clock.advance(PERIOD_MS + 100);
    expect(await queue(time)).toEqual([ours.holder]);
    await lease.unlock();
    await time.clock.advance(0);
    await release(ours, time);
  });

  test("that was promised the lock and has it by accident enters when told so by '0'", async () => {
    const time = open();
    const thread = jvm(time);
    await thread.holds(HOUR_MS);
    const ours = await queued(time);
    const before = ours.driver.names.length;
    time.server.command("PUBLISH", WAITER_CHANNEL + ours.holder, "0");
    await time.clock.advance(0);
    // Nothing has changed: asked once, and in its place.
    expect(ours.driver.names.slice(before)).toEqual(["fair-acquire"]);
    expect(await queue(time)).toEqual([ours.holder]);
    time.server.command("DEL", "a");
    time.server.command("PUBLISH", WAITER_CHANNEL + ours.holder, "0");
    await time.clock.advance(0);
    expect(ours.lock.outcome).toMatchObject(held);
    expect(time.server.command("EXISTS", QUEUE)).toBe(0);
    await release(ours, time);
  });
});
