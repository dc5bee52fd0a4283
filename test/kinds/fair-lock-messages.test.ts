import { describe, expect, test } from "vitest";
import type { Lease } from "../../src/lease.js";
import { fairTimes } from "../../src/protocol/fair-scripts.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { answerLate, deliverLate, loseReply } from "../support/faults/call-faults.js";
import { queueOf, toldOurs, WAITER_CHANNEL } from "../support/models/fair-queue.js";
import { gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { leaseOf, queued, rawOf, type Waiting } from "../support/worlds/fair-waiters.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

const { grantMs } = fairTimes;
const PERIOD_MS = 1_500;

function message({ server }: FakeTime, { holder }: Waiting, untilMs: number): void {
  server.command("PUBLISH", ...toldOurs(holder, untilMs));
}

/** An old message that a waiter was given the lock, which a rival has, does not let it in; when the rival leaves, it is. */
async function waitsOn(time: FakeTime, waiting: Waiting, rival: Lease, untilMs: number): Promise<void> {
  message(time, waiting, untilMs);
  await time.clock.advance(0);
  expect(waiting.lock.outcome).toBeUndefined();
  expect(time.fields("a")).toEqual({ [rival.holder]: "1" });
  await rival.unlock();
  await time.clock.advance(0);
  await leaseOf(waiting).unlock();
}

describe("a message that the lock was given", () => {
  test.each([[true], [false]])(
    "to one whose time is up at that moment passes on (told first: %j) [R23]",
    async (toldFirst) => {
      const time = open();
      const lease = await time.holdfast.getFairLock("a").lock();
      const unlockSoon = () => time.clock.schedule(1_000, () => void lease.unlock());
      if (toldFirst) unlockSoon();
      const hasty = watched(time.connect().holdfast.getFairLock("a").tryLock({ waitMs: 1_000 }));
      await new Promise(setImmediate);
      const next = await queued(time);
      if (!toldFirst) unlockSoon();
      time.clock.block(1_000);
      await time.clock.advance(100);
      const { outcome } = hasty;
      if (outcome === undefined || !("value" in outcome)) throw new Error("the wait has not ended well");
      await outcome.value?.unlock();
      await time.clock.advance(0);
      expect(leaseOf(next).state).toBe("held");
      await leaseOf(next).unlock();
    },
  );

  test("and that is lost does not cost the place: the next sign of life tells [R23]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const [next, last] = [await queued(time), await queued(time)];
    next.driver.channels.mute(true);
    await lease.unlock();
    await time.clock.advance(PERIOD_MS + 100);
    expect(leaseOf(next)).toMatchObject({ state: "held", holder: next.holder });
    expect(last.lock.outcome).toBeUndefined();
    expect(time.ttlMs("a")).toBeGreaterThan(grantMs);
    await leaseOf(next).unlock();
    await time.clock.advance(0);
    await leaseOf(last).unlock();
  });

  test("and that comes when the time is over is a wake-up: the waiter stands in the queue again [R23]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const next = await queued(time);
    next.driver.channels.mute(true);
    const untilMs = time.clock.wallMs() + grantMs;
    await lease.unlock();
    // Its process stood still meanwhile, and somebody else came.
    time.clock.block(grantMs + 1);
    next.driver.channels.mute(false);
    const rival = await time.holdfast.getFairLock("a").lock();
    message(time, next, untilMs);
    await time.clock.advance(0);
    expect(next.lock.outcome).toBeUndefined();
    expect(time.fields("a")).toEqual({ [rival.holder]: "1" });
    await rival.unlock();
    await time.clock.advance(0);
    await leaseOf(next).unlock();
  });

  test.each<[string, (next: Waiting, time: FakeTime) => Promise<unknown>]>([
    ["its sign of life", (_, { clock }) => clock.advance(PERIOD_MS)],
    [
      "asking again",
      async ({ driver, holder }, { clock }) => {
        driver.channels.hear(...toldOurs(holder, 0));
        await clock.advance(0);
      },
    ],
  ])(
    "about a grant that was taken back, as the waiter learnt by %s, lets nobody in beside another [R4]",
    async (_, learn) => {
      const time = open();
      const lease = await time.holdfast.getFairLock("a").lock();
      const [next, other] = [await queued(time), await queued(time)];
      next.driver.channels.mute(true);
      const untilMs = time.clock.wallMs() + grantMs;
      await lease.unlock();
      await time.clock.advance(100);
      expect(time.fields("a")).toEqual({ [next.holder]: "1" });
      await time.holdfast.getFairLock("a").forceUnlock();
      await learn(next, time);
      await expectLeftOut(time, next, other, untilMs);
    },
  );

  test("about a grant that was taken back in the same millisecond lets nobody in beside another [R4]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const [next, other] = [await queued(time), await queued(time)];
    const late = deliverLate();
    void next.driver.next(late, "fair-refresh");
    await time.clock.advance(PERIOD_MS + 100);
    next.driver.channels.mute(true);
    const untilMs = time.clock.wallMs() + grantMs;
    await lease.unlock();
    await time.holdfast.getFairLock("a").forceUnlock();
    await late.arrive();
    await time.clock.advance(0);
    await expectLeftOut(time, next, other, untilMs);
  });

  test("lets nobody in whose own client has freed it by force since it was given [own-48]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const next = await queued(time);
    const other = await queued(time);
    await time.clock.advance(1);
    next.driver.channels.mute(true);
    const untilMs = time.clock.wallMs() + grantMs;
    await lease.unlock();
    await next.holdfast.getFairLock("a").forceUnlock();
    await time.clock.advance(0);
    expect(leaseOf(other).state).toBe("held");
    next.driver.channels.mute(false);
    message(time, next, untilMs);
    await time.clock.advance(0);
    expect(next.lock.outcome).toBeUndefined();
    await leaseOf(other).unlock();
    await time.clock.advance(PERIOD_MS + 100);
    expect(leaseOf(next).state).toBe("held");
    await leaseOf(next).unlock();
  });

  /** It has lost its place and stands in the queue again, under the same field; now it is told of the first time. */
  async function expectLeftOut(
    time: FakeTime,
    next: Waiting,
    other: Waiting,
    untilMs: number,
  ): Promise<void> {
    expect(await queueOf(rawOf(time))).toEqual([next.holder]);
    expect(leaseOf(other).state).toBe("held");
    next.driver.channels.mute(false);
    message(time, next, untilMs);
    await time.clock.advance(0);
    expect(next.lock.outcome).toBeUndefined();
    expect(time.fields("a")).toEqual({ [other.holder]: "1" });
    await leaseOf(other).unlock();
    await time.clock.advance(0);
    await leaseOf(next).unlock();
  }

  /** Redis stands still; what was sent meanwhile is handled in one burst, within one millisecond of its clock. */
  test("whose lock was taken as well, spent and given back in that millisecond lets nobody in beside another [own-1]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const next = await queued(time, { leaseMs: 50 });
    const other = await queued(time);
    const question = deliverLate();
    void next.driver.next(question, "fair-acquire");
    message(time, next, 0);
    await time.clock.advance(60);
    next.driver.channels.mute(true);
    const untilMs = time.clock.wallMs() + grantMs;
    await lease.unlock();
    await question.arrive();
    await time.clock.advance(0);
    expect(leaseOf(other).state).toBe("held");
    next.driver.channels.mute(false);
    message(time, next, untilMs);
    await time.clock.advance(0);
    expect(next.lock.outcome).toBeUndefined();
    expect(time.fields("a")).toEqual({ [other.holder]: "1" });
    // It waits on, under a field that has never been in the queue, and is told of that one.
    const [again, ...more] = await queueOf(rawOf(time));
    expect(again).not.toBe(next.holder);
    expect(more).toEqual([]);
    const before = next.driver.calls.length;
    await leaseOf(other).unlock();
    await time.clock.advance(0);
    expect(leaseOf(next)).toMatchObject({ state: "held", holder: again });
    // With the lease that it was given, it has not asked again, and writes its own lease at once.
    expect(next.driver.names.slice(before)).toEqual(["fair-release"]);
    await leaseOf(next).unlock();
  });

  test("comes to one who was put into the queue twice by copies of one question, of which it heard of one: it asks [own-1]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const client = time.connect({ commandTimeoutMs: 10_000 });
    // Its first question puts it into the queue; the answer is lost, and so is the message about the grant.
    void client.driver.next(loseReply, "fair-acquire");
    const again = deliverLate();
    void client.driver.next(again, "fair-acquire");
    client.driver.channels.mute(true);
    const next = await queued(time, {}, client);
    await time.clock.advance(100);
    const untilMs = time.clock.wallMs() + grantMs;
    await lease.unlock();
    await time.clock.advance(grantMs + 1);
    const rival = await time.holdfast.getFairLock("a").lock();
    await again.arrive();
    await time.clock.advance(0);
    client.driver.channels.mute(false);
    await waitsOn(time, next, rival, untilMs);
  });

  test("comes to one who was put into the queue again by a copy of a question that was too late in the end: it asks [own-63]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const client = time.connect({ commandTimeoutMs: 1_000 });
    const next = await queued(time, { leaseMs: 50 }, client);
    // Its next question is sent again and again, and only the last answer comes.
    const [second, third, last] = [gate(), gate(), gate()];
    const resent: CallFault = {
      name: "resent",
      async meet(deliver, driver) {
        for (const { opened } of [second, third, last]) {
          await deliver();
          driver.reset();
          await opened;
        }
        return deliver();
      },
    };
    void client.driver.next(resent, "fair-acquire");
    message(time, next, 0);
    await time.clock.advance(60);
    client.driver.channels.mute(true);
    const untilMs = time.clock.wallMs() + grantMs;
    await lease.unlock();
    second.open();
    await time.clock.advance(100);
    const rival = await time.holdfast.getFairLock("a").lock();
    third.open();
    await time.clock.advance(100);
    time.clock.suspend(1_000);
    last.open();
    await time.clock.advance(0);
    client.driver.channels.mute(false);
    await waitsOn(time, next, rival, untilMs);
  });

  test("and that comes together with the news that the place is gone lets nobody in beside another [own-1]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const [next, other] = [await queued(time), await queued(time)];
    const late = deliverLate();
    void next.driver.next(late, "fair-refresh");
    await time.clock.advance(PERIOD_MS + 100);
    next.driver.channels.mute(true);
    const untilMs = time.clock.wallMs() + grantMs;
    await lease.unlock();
    await time.holdfast.getFairLock("a").forceUnlock();
    await time.clock.advance(0);
    expect(leaseOf(other).state).toBe("held");
    next.driver.channels.mute(false);
    void late.arrive();
    message(time, next, untilMs);
    await time.clock.advance(0);
    expect(next.lock.outcome).toBeUndefined();
    expect(time.fields("a")).toEqual({ [other.holder]: "1" });
    await leaseOf(other).unlock();
    await time.clock.advance(0);
    await leaseOf(next).unlock();
  });

  test("is believed from the newest answer, though an older one comes after it [own-1]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const next = await queued(time);
    const sign = answerLate();
    void next.driver.next(sign, "fair-refresh");
    await time.clock.advance(PERIOD_MS + 100);
    // Later than the sign of life it asks, and hears of that first.
    await time.clock.advance(500);
    message(time, next, 0);
    await time.clock.advance(0);
    sign.arrive();
    await time.clock.advance(0);
    await lease.unlock();
    await time.clock.advance(0);
    expect(leaseOf(next).remainingMs()).toBeGreaterThan(grantMs - 50);
    await leaseOf(next).unlock();
  });

  test("and that an earlier stay should have had means nothing to the next one of a task [R4]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const next = await queued(time);
    next.driver.channels.mute(true);
    const untilMs = time.clock.wallMs() + grantMs;
    await lease.unlock();
    await time.clock.advance(PERIOD_MS + 100);
    await leaseOf(next).unlock();
    const other = await time.holdfast.getFairLock("a").lock();
    next.driver.channels.mute(false);
    const again = watched(next.holdfast.getFairLock("a").lock());
    await time.clock.advance(0);
    message(time, next, untilMs);
    await time.clock.advance(0);
    expect(again.outcome).toBeUndefined();
    await other.unlock();
    await time.clock.advance(0);
    expect(again.outcome).toMatchObject({ value: { state: "held" } });
    await next.holdfast.getFairLock("a").forceUnlock();
  });

  test("is a wake-up for one who waits under an id of the caller's, and it enters [R4]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const next = await queued(time, { threadId: 7 });
    expect(next.holder).toMatch(/:7$/);
    const before = next.driver.calls.length;
    message(time, next, time.clock.wallMs() + grantMs);
    await time.clock.advance(0);
    expect(next.lock.outcome).toBeUndefined();
    expect(next.driver.names.slice(before)).toEqual(["fair-acquire"]);
    await lease.unlock();
    await time.clock.advance(0);
    expect(leaseOf(next).state).toBe("held");
    expect(time.ttlMs("a")).toBeGreaterThan(grantMs);
    await leaseOf(next).unlock();
  });

  test("is a wake-up when the connection was lost since the last answer, and it enters [R4]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const next = await queued(time);
    next.driver.reset();
    const before = next.driver.calls.length;
    await lease.unlock();
    await time.clock.advance(0);
    expect(next.driver.names.slice(before)).toEqual(["fair-acquire"]);
    expect(leaseOf(next).state).toBe("held");
    expect(time.ttlMs("a")).toBe(30_000);
    await leaseOf(next).unlock();
  });

  test.each([
    "",
    "x",
    "-1",
    "1.5",
    "<own>",
    "<own>:",
    "<own>:x",
    "<own>:-1",
    "<own>:1.5",
    "<own>:9e99",
    "<other>:1",
  ])("and says %j is not acted on", async (text) => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const next = await queued(time);
    const threadId = Number(next.holder.split(":")[1]);
    const message = text.replace("<own>", `${threadId}`).replace("<other>", `${threadId + 1}`);
    const [channel] = toldOurs(next.holder, 0);
    const before = next.driver.calls.length;
    for (const each of [channel, WAITER_CHANNEL + next.holder]) time.server.command("PUBLISH", each, message);
    await time.clock.advance(100);
    expect(next.lock.outcome).toBeUndefined();
    expect(next.driver.calls.length).toBe(before);
    expect(time.fields("a")).toEqual({ [lease.holder]: "1" });
    await lease.unlock();
    await time.clock.advance(0);
    await leaseOf(next).unlock();
  });
});
