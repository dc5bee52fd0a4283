import { describe, expect, test } from "vitest";
import type { Clock } from "../../src/clock.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { neverDeliver } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";
import { CHANNEL, heldByJvm, releasedByJvm } from "../support/worlds/foreign-holder.js";

watchLeaks();
const open = fakeTime();

const HOUR_MS = 60 * 60 * 1_000;

/** How many clients listen to the lock's channel. The message means nothing to them. */
function listeners(time: FakeTime): unknown {
  return time.server.command("PUBLISH", CHANNEL, "9");
}

describe("a clock of the caller's that throws", () => {
  test("fails the call that is to wait, and no other", async () => {
    const time = open();
    let isBroken = true;
    const broken: Clock = {
      monotonicMs: () => time.clock.monotonicMs(),
      wallMs: () => time.clock.wallMs(),
      schedule(delayMs, callback, keepAlive) {
        if (isBroken && keepAlive) throw new Error("no timers are left");
        return time.clock.schedule(delayMs, callback);
      },
    };
    heldByJvm(time, HOUR_MS);
    const lock = time.connect({ clock: broken }).holdfast.getLock("a");
    const failing = watched(lock.lock());
    await time.clock.advance(0);
    expect(failing.outcome).toMatchObject({ error: { message: "no timers are left" } });
    isBroken = false;
    const waiting = watched(lock.lock({ leaseMs: HOUR_MS }));
    await time.clock.advance(100);
    await releasedByJvm(time);
    await time.clock.advance(0);
    expect(waiting.outcome).toMatchObject({ value: { state: "held" } });
    time.server.flush();
  });
});

describe("when a wait ends", () => {
  test("a wait of 5 s ends at 5 s, however often the lock was asked for meanwhile [B43]", async () => {
    const time = open();
    heldByJvm(time, HOUR_MS);
    const { holdfast: client, driver } = time.connect();
    const lock = client.getLock("a");
    const [head, second] = [watched(lock.tryLock({ waitMs: 5_000 })), watched(lock.lock({ waitMs: 5_000 }))];
    for (let i = 0; i < 49; i++) {
      await time.clock.advance(100);
      time.server.command("PUBLISH", CHANNEL, "0");
    }
    await time.clock.advance(99);
    expect(driver.names.length).toBeGreaterThan(49);
    expect([head.outcome, second.outcome]).toEqual([undefined, undefined]);
    await time.clock.advance(1);
    expect(head.outcome).toEqual({ value: null });
    expect(second.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_WAIT_TIMEOUT", waitedMs: 5_000 } });
    time.server.flush();
  });

  test.each([
    { when: "as its time is up", waitMs: 100 },
    { when: "for longer than its time", waitMs: 300 },
  ])(
    "whose lock came too late to be of use does not wait $when until it is given back [own-36]",
    async ({ waitMs }) => {
      const time = open();
      const { holdfast: client, driver } = time.connect();
      const late: CallFault = {
        name: "answered late",
        async meet(deliver) {
          const answer = await deliver();
          await new Promise<void>((resolve) => void time.clock.schedule(200, resolve));
          return answer;
        },
      };
      void driver.next(late, "lock-acquire");
      void driver.next(neverDeliver, "lock-release");
      const waiting = watched(client.getLock("a").tryLock({ waitMs, leaseMs: 150 }));
      await time.clock.advance(waitMs + 150);
      // The lock was free: it was given, and is being given back.
      expect(waiting.outcome).toMatchObject({
        error: { code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: true },
      });
      await time.clock.advance(HOUR_MS);
      expect(Object.keys(time.server.dump())).toEqual([]);
    },
  );

  test("a wait that began later ends later, also behind one that gave up", async () => {
    const time = open();
    heldByJvm(time, HOUR_MS);
    const lock = time.connect().holdfast.getLock("a");
    const first = watched(lock.lock({ waitMs: 1_000 }));
    await time.clock.advance(600);
    const second = watched(lock.lock({ waitMs: 1_000 }));
    await time.clock.advance(400);
    expect(first.outcome).toMatchObject({ error: { waitedMs: 1_000 } });
    await time.clock.advance(599);
    expect(second.outcome).toBeUndefined();
    await time.clock.advance(1);
    expect(second.outcome).toMatchObject({ error: { waitedMs: 1_000 } });
    time.server.flush();
  });

  test("a waiter enters when a holder died without a message, as soon as the TTL has ended", async () => {
    const time = open();
    heldByJvm(time, 10_000);
    const { holdfast: client, driver } = time.connect({ safetyPeriodMs: HOUR_MS });
    const waiting = watched(client.getLock("a").lock());
    await time.clock.advance(9_999);
    expect(waiting.outcome).toBeUndefined();
    const asked = driver.names.length;
    await time.clock.advance(2);
    expect(waiting.outcome).toMatchObject({ value: { state: "held" } });
    expect(driver.names.length).toBe(asked + 1);
    await client.getLock("a").forceUnlock();
  });

  test("a lost message costs a waiter the safety period at most", async () => {
    const time = open();
    heldByJvm(time, HOUR_MS);
    const { holdfast: client, driver } = time.connect({ safetyPeriodMs: 4_000 });
    const waiting = watched(client.getLock("a").lock());
    await time.clock.advance(0);
    driver.channels.mute(true);
    await releasedByJvm(time);
    await time.clock.advance(3_199);
    expect(waiting.outcome).toBeUndefined();
    await time.clock.advance(801);
    expect(waiting.outcome).toMatchObject({ value: { state: "held" } });
    await client.getLock("a").forceUnlock();
  });

  test("a subscription that failed is tried again soon, and is then as good as any [B8]", async () => {
    const time = open();
    heldByJvm(time, HOUR_MS);
    const { holdfast: client, driver } = time.connect({ safetyPeriodMs: HOUR_MS });
    driver.channels.failNext(new Error("no more channels"));
    const waiting = watched(client.getLock("a").lock());
    await time.clock.advance(0);
    // Meanwhile it hears what all hear.
    const own = expect.stringMatching(/^redisson_lock__channel:\{a\}:/);
    expect(driver.channels.asked).toEqual([own, CHANNEL]);
    const other = await client.getLock("b").lock();
    await other.unlock();
    await time.clock.advance(1_000);
    expect(driver.channels.asked).toEqual([own, CHANNEL, own]);
    await releasedByJvm(time);
    expect(waiting.outcome).toMatchObject({ value: { state: "held" } });
    await client.getLock("a").forceUnlock();
  });

  test("a lock whose key has no TTL is asked for each safety period", async () => {
    const time = open();
    heldByJvm(time, HOUR_MS);
    time.server.command("PERSIST", "a");
    const { holdfast: client, driver } = time.connect({ safetyPeriodMs: 4_000 });
    const waiting = watched(client.getLock("a").lock());
    await time.clock.advance(40_000);
    const attempts = driver.names.filter((name) => name === "lock-acquire").length;
    expect(attempts).toBeGreaterThanOrEqual(10);
    expect(attempts).toBeLessThanOrEqual(2 + 40_000 / 3_200);
    time.server.command("DEL", "a");
    await time.clock.advance(4_000);
    expect(waiting.outcome).toMatchObject({ value: { state: "held" } });
    await client.getLock("a").forceUnlock();
  });
});

describe("waiters of one client", () => {
  test("wakes the second when the first has given up, by the channel that both listened to [B7]", async () => {
    const time = open();
    heldByJvm(time, HOUR_MS);
    const lock = time.connect({ safetyPeriodMs: HOUR_MS }).holdfast.getLock("a");
    const first = watched(lock.tryLock({ waitMs: 1_000 }));
    const second = watched(lock.lock());
    await time.clock.advance(1_000);
    expect(first.outcome).toEqual({ value: null });
    // Longer than a channel without listeners is kept.
    await time.clock.advance(60_000);
    expect(listeners(time)).toBe(1);
    await releasedByJvm(time);
    expect(second.outcome).toMatchObject({ value: { state: "held" } });
    await lock.forceUnlock();
  });

  test("passes on a message that arrives together with the end of the first one's wait [wire-L9]", async () => {
    const time = open();
    heldByJvm(time, HOUR_MS);
    const { clock } = time;
    const lock = time.connect({ safetyPeriodMs: HOUR_MS }).holdfast.getLock("a");
    await clock.advance(0);
    clock.schedule(1_000, () => void releasedByJvm(time));
    const first = watched(lock.tryLock({ waitMs: 1_000 }));
    const second = watched(lock.lock());
    await clock.advance(1_000);
    expect(first.outcome).toEqual({ value: null });
    expect(second.outcome).toMatchObject({ value: { state: "held" } });
    await lock.forceUnlock();
  });

  test("are served in the order in which they came", async () => {
    const time = open();
    heldByJvm(time, HOUR_MS);
    const lock = time.connect({ safetyPeriodMs: HOUR_MS }).holdfast.getLock("a");
    const served: number[] = [];
    const waiting = Array.from({ length: 20 }, (_, i) => lock.using(() => served.push(i)));
    await time.clock.advance(0);
    await releasedByJvm(time);
    await Promise.all(waiting);
    expect(served).toEqual(Array.from({ length: 20 }, (_, i) => i));
  });

  test("cost Redis the attempts of one waiter, whatever their number [wire-L10]", async () => {
    const time = open();
    heldByJvm(time, HOUR_MS);
    const { holdfast: client, driver } = time.connect({ safetyPeriodMs: HOUR_MS });
    const waiting = Array.from({ length: 200 }, () => watched(client.getLock("a").lock({ leaseMs: 1_000 })));
    await time.clock.advance(30_000);
    const attempts = () => driver.names.filter((name) => name === "lock-acquire").length;
    expect(attempts()).toBe(3);
    time.server.command("PUBLISH", CHANNEL, "0");
    await time.clock.advance(0);
    expect(attempts()).toBe(4);
    await releasedByJvm(time);
    expect(attempts()).toBe(5);
    expect(waiting.filter(({ outcome }) => outcome !== undefined)).toEqual([waiting[0]]);
    await client.close();
    time.server.flush();
  });

  test("stop listening ten seconds after the last of them has gone", async () => {
    const time = open();
    heldByJvm(time, HOUR_MS);
    const client = time.connect({ safetyPeriodMs: HOUR_MS }).holdfast;
    const waiting = watched(client.getLock("a").tryLock({ waitMs: 1_000 }));
    await time.clock.advance(1_000);
    expect(waiting.outcome).toEqual({ value: null });
    await time.clock.advance(9_000);
    expect(listeners(time)).toBe(1);
    await time.clock.advance(2_000);
    expect(listeners(time)).toBe(0);
    time.server.flush();
  });
});

describe("tryLock without a wait", () => {
  test("asks once, listens to nothing and stands in no line [B44]", async () => {
    const time = open();
    heldByJvm(time, HOUR_MS);
    const { holdfast: client, driver } = time.connect();
    for (const options of [undefined, {}, { waitMs: 0 }]) {
      driver.calls.length = 0;
      expect(await client.getLock("a").tryLock(options)).toBeNull();
      expect(driver.names.filter((name) => name !== "server-probe")).toEqual(["lock-acquire"]);
    }
    expect(driver.channels.asked).toEqual([]);
    const waiting = watched(client.getLock("a").lock());
    await time.clock.advance(0);
    driver.calls.length = 0;
    expect(await client.getLock("a").tryLock()).toBeNull();
    expect(driver.names).toEqual(["lock-acquire"]);
    expect(waiting.outcome).toBeUndefined();
    await client.close();
    time.server.flush();
  });

  test("may overtake those who wait, when the lock is free and they do not know yet", async () => {
    const time = open();
    heldByJvm(time, HOUR_MS);
    const { holdfast: client, driver } = time.connect({ safetyPeriodMs: 4_000 });
    const lock = client.getLock("a");
    const waiting = watched(lock.lock());
    await time.clock.advance(0);
    driver.channels.mute(true);
    await releasedByJvm(time);
    const barging = await lock.tryLock();
    expect(barging).toMatchObject({ state: "held" });
    expect(waiting.outcome).toBeUndefined();
    driver.channels.mute(false);
    await barging?.unlock();
    await time.clock.advance(0);
    expect(waiting.outcome).toMatchObject({ value: { state: "held" } });
    await lock.forceUnlock();
  });
});
