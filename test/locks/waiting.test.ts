import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { ClientClosedError, WaitTimeoutError } from "../../src/errors.js";
import { embeddedOnFakeTime, watched } from "../support/embedded-on-fake-time.js";
import { watchLeaks } from "../support/leaks.js";

watchLeaks();
const time = embeddedOnFakeTime();

const CHANNEL = "redisson_lock__channel:{a}";
const FOREIGN = "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:57";
const HOUR_MS = 60 * 60 * 1_000;

/** Nobody of ours holds it, so nobody of ours tells when it is free. */
async function heldByJvm(leaseMs: number): Promise<void> {
  await time.server.raw("HSET", "a", FOREIGN, 1);
  await time.server.raw("PEXPIRE", "a", leaseMs);
}

/** The JVM releases, and its message arrives as long as the test does not move the clock. */
async function releasedByJvm(): Promise<void> {
  await time.server.raw("DEL", "a");
  await time.server.raw("PUBLISH", CHANNEL, "0");
  await time.clock.advance(0);
}

/** How many clients listen to the lock's channel. The message means nothing to them. */
function listeners(): Promise<unknown> {
  return time.server.raw("PUBLISH", CHANNEL, "9");
}

describe("when a wait ends", () => {
  test("a wait of 5 s ends at 5 s, however often the lock was asked for meanwhile [B43]", async () => {
    await heldByJvm(HOUR_MS);
    const { client, driver } = time.scripted();
    const lock = client.getLock("a");
    const [head, second] = [watched(lock.tryLock({ waitMs: 5_000 })), watched(lock.lock({ waitMs: 5_000 }))];
    for (let i = 0; i < 49; i++) {
      await time.clock.advance(100);
      await time.server.raw("PUBLISH", CHANNEL, "0");
    }
    await time.clock.advance(99);
    expect(driver.names.length).toBeGreaterThan(49);
    expect([head.outcome, second.outcome]).toEqual([undefined, undefined]);
    await time.clock.advance(1);
    expect(head.outcome).toEqual({ value: null });
    expect(second.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_WAIT_TIMEOUT", waitedMs: 5_000 } });
    await time.server.flush();
  });

  test("a wait that began later ends later, also behind one that gave up", async () => {
    await heldByJvm(HOUR_MS);
    const lock = time.client().getLock("a");
    const first = watched(lock.lock({ waitMs: 1_000 }));
    await time.clock.advance(600);
    const second = watched(lock.lock({ waitMs: 1_000 }));
    await time.clock.advance(400);
    expect(first.outcome).toMatchObject({ error: { waitedMs: 1_000 } });
    await time.clock.advance(599);
    expect(second.outcome).toBeUndefined();
    await time.clock.advance(1);
    expect(second.outcome).toMatchObject({ error: { waitedMs: 1_000 } });
    await time.server.flush();
  });

  test("a waiter enters when a holder died without a message, as soon as the TTL has ended", async () => {
    await heldByJvm(10_000);
    const { client, driver } = time.scripted({ safetyPeriodMs: HOUR_MS });
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
    await heldByJvm(HOUR_MS);
    const { client, driver } = time.scripted({ safetyPeriodMs: 4_000 });
    const waiting = watched(client.getLock("a").lock());
    await time.clock.advance(0);
    driver.channels.mute(true);
    await releasedByJvm();
    await time.clock.advance(3_199);
    expect(waiting.outcome).toBeUndefined();
    await time.clock.advance(801);
    expect(waiting.outcome).toMatchObject({ value: { state: "held" } });
    await client.getLock("a").forceUnlock();
  });

  test("a subscription that failed is tried again soon, and is then as good as any [B8]", async () => {
    await heldByJvm(HOUR_MS);
    const { client, driver } = time.scripted({ safetyPeriodMs: HOUR_MS });
    driver.channels.failNext(new Error("no more channels"));
    const waiting = watched(client.getLock("a").lock());
    await time.clock.advance(0);
    expect(driver.channels.asked).toEqual([CHANNEL]);
    const other = await client.getLock("b").lock();
    await other.unlock();
    await time.clock.advance(1_000);
    expect(driver.channels.asked).toEqual([CHANNEL, CHANNEL]);
    await releasedByJvm();
    expect(waiting.outcome).toMatchObject({ value: { state: "held" } });
    await client.getLock("a").forceUnlock();
  });

  test("a lock whose key has no TTL is asked for each safety period", async () => {
    await time.server.raw("HSET", "a", FOREIGN, 1);
    const { client, driver } = time.scripted({ safetyPeriodMs: 4_000 });
    const waiting = watched(client.getLock("a").lock());
    await time.clock.advance(40_000);
    const attempts = driver.names.filter((name) => name === "lock-acquire").length;
    expect(attempts).toBeGreaterThanOrEqual(10);
    expect(attempts).toBeLessThanOrEqual(2 + 40_000 / 3_200);
    await time.server.raw("DEL", "a");
    await time.clock.advance(4_000);
    expect(waiting.outcome).toMatchObject({ value: { state: "held" } });
    await client.getLock("a").forceUnlock();
  });
});

describe("waiters of one client", () => {
  test("wakes the second when the first has given up, by the channel that both listened to [B7]", async () => {
    await heldByJvm(HOUR_MS);
    const lock = time.client({ safetyPeriodMs: HOUR_MS }).getLock("a");
    const first = watched(lock.tryLock({ waitMs: 1_000 }));
    const second = watched(lock.lock());
    await time.clock.advance(1_000);
    expect(first.outcome).toEqual({ value: null });
    // Longer than a channel without listeners is kept.
    await time.clock.advance(60_000);
    expect(await listeners()).toBe(1);
    await releasedByJvm();
    expect(second.outcome).toMatchObject({ value: { state: "held" } });
    await lock.forceUnlock();
  });

  test("passes on a message that arrives together with the end of the first one's wait [wire-L9]", async () => {
    await heldByJvm(HOUR_MS);
    const { clock } = time;
    const lock = time.client({ safetyPeriodMs: HOUR_MS }).getLock("a");
    await clock.advance(0);
    clock.schedule(1_000, () => void releasedByJvm());
    const first = watched(lock.tryLock({ waitMs: 1_000 }));
    const second = watched(lock.lock());
    await clock.advance(1_000);
    expect(first.outcome).toEqual({ value: null });
    expect(second.outcome).toMatchObject({ value: { state: "held" } });
    await lock.forceUnlock();
  });

  test("are served in the order in which they came", async () => {
    await heldByJvm(HOUR_MS);
    const lock = time.client({ safetyPeriodMs: HOUR_MS }).getLock("a");
    const served: number[] = [];
    const waiting = Array.from({ length: 20 }, (_, i) => lock.using(() => served.push(i)));
    await time.clock.advance(0);
    await releasedByJvm();
    await Promise.all(waiting);
    expect(served).toEqual(Array.from({ length: 20 }, (_, i) => i));
  });

  test("cost Redis the attempts of one waiter, whatever their number [wire-L10]", async () => {
    await heldByJvm(HOUR_MS);
    const { client, driver } = time.scripted({ safetyPeriodMs: HOUR_MS });
    const waiting = Array.from({ length: 200 }, () => watched(client.getLock("a").lock({ leaseMs: 1_000 })));
    await time.clock.advance(30_000);
    const attempts = () => driver.names.filter((name) => name === "lock-acquire").length;
    expect(attempts()).toBe(2);
    await time.server.raw("PUBLISH", CHANNEL, "0");
    await time.clock.advance(0);
    expect(attempts()).toBe(3);
    await releasedByJvm();
    expect(attempts()).toBe(4);
    expect(waiting.filter(({ outcome }) => outcome !== undefined)).toEqual([waiting[0]]);
    await client.close();
    await time.server.flush();
  });

  test("stop listening ten seconds after the last of them has gone", async () => {
    await heldByJvm(HOUR_MS);
    const client = time.client({ safetyPeriodMs: HOUR_MS });
    const waiting = watched(client.getLock("a").tryLock({ waitMs: 1_000 }));
    await time.clock.advance(1_000);
    expect(waiting.outcome).toEqual({ value: null });
    await time.clock.advance(9_000);
    expect(await listeners()).toBe(1);
    await time.clock.advance(2_000);
    expect(await listeners()).toBe(0);
    await time.server.flush();
  });
});

describe("tryLock without a wait", () => {
  test("asks once, listens to nothing and stands in no line [B44]", async () => {
    await heldByJvm(HOUR_MS);
    const { client, driver } = time.scripted();
    for (const options of [undefined, {}, { waitMs: 0 }]) {
      driver.calls.length = 0;
      expect(await client.getLock("a").tryLock(options)).toBeNull();
      expect(driver.names.filter((name) => name !== "server-probe")).toEqual(["lock-acquire"]);
    }
    expect(driver.channels.asked).toEqual([]);
    await time.server.flush();
  });

  test("may overtake those who wait, when the lock is free and they do not know yet", async () => {
    await heldByJvm(HOUR_MS);
    const { client, driver } = time.scripted({ safetyPeriodMs: 4_000 });
    const lock = client.getLock("a");
    const waiting = watched(lock.lock());
    await time.clock.advance(0);
    driver.channels.mute(true);
    await releasedByJvm();
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

describe("cancelling a wait", () => {
  test("rejects with the signal's own reason, at once", async () => {
    await heldByJvm(HOUR_MS);
    const lock = time.client().getLock("a");
    const reason = { why: "not an Error, and still the reason" };
    for (const call of [
      (signal: AbortSignal) => lock.lock({ signal }),
      (signal: AbortSignal) => lock.tryLock({ signal, waitMs: 5_000 }),
      (signal: AbortSignal) => lock.using({ signal }, () => undefined),
    ]) {
      const leaving = new AbortController();
      const waiting = watched(call(leaving.signal));
      await time.clock.advance(10);
      expect(waiting.outcome).toBeUndefined();
      leaving.abort(reason);
      await new Promise(setImmediate);
      expect(waiting.outcome).toEqual({ error: reason });
      expect(getEventListeners(leaving.signal, "abort")).toEqual([]);
    }
    await time.server.flush();
  });

  test("sends nothing when the signal was aborted before", async () => {
    const { client, driver } = time.scripted();
    const lock = client.getLock("a");
    const signal = AbortSignal.abort("too late");
    await expect(lock.lock({ signal })).rejects.toBe("too late");
    await expect(lock.tryLock({ signal })).rejects.toBe("too late");
    await expect(lock.using({ signal }, () => undefined)).rejects.toBe("too late");
    expect(driver.names).toEqual([]);
  });

  test("ends all asking: a cancelled call neither acquires nor releases later [wire-L22]", async () => {
    await heldByJvm(HOUR_MS);
    const { client, driver } = time.scripted({ safetyPeriodMs: 4_000 });
    const leaving = new AbortController();
    const waiting = watched(client.getLock("a").lock({ signal: leaving.signal }));
    await time.clock.advance(0);
    const messages = await time.server.listen(CHANNEL);
    leaving.abort("changed my mind");
    driver.calls.length = 0;
    await releasedByJvm();
    await time.clock.advance(60_000);
    expect(waiting.outcome).toEqual({ error: "changed my mind" });
    expect(driver.names).toEqual([]);
    expect(messages).toEqual(["0"]);
  });

  test("of all waiters happens when their client is closed", async () => {
    await heldByJvm(HOUR_MS);
    const client = time.client();
    const waiting = Array.from({ length: 3 }, () => watched(client.getLock("a").lock()));
    const reentering = watched(client.getLock("a").tryLock({ threadId: 7, waitMs: 60_000 }));
    await time.clock.advance(10);
    await client.close();
    for (const { outcome } of [...waiting, reentering]) {
      expect(outcome).toEqual({ error: expect.any(ClientClosedError) });
    }
    await time.server.flush();
  });

  test("leaves a timed wait its own end when the signal never aborts", async () => {
    await heldByJvm(HOUR_MS);
    const staying = new AbortController();
    const waiting = watched(time.client().getLock("a").lock({ waitMs: 50, signal: staying.signal }));
    await time.clock.advance(50);
    expect(waiting.outcome).toEqual({ error: expect.any(WaitTimeoutError) });
    expect(getEventListeners(staying.signal, "abort")).toEqual([]);
    await time.server.flush();
  });
});
