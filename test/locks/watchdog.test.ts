import { describe, expect, test } from "vitest";
import type { Clock } from "../../src/clock.js";
import { NotHeldError } from "../../src/errors.js";
import { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import { FakeClock } from "../../src/memory/index.js";
import { AgreeingDriver } from "../support/drivers/agreeing-driver.js";
import { loseReply } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

/** The wheel's: so late a renewal may be. */
const TICK_MS = 100;

async function locked(holdfast: Holdfast, count: number): Promise<readonly Lease[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => holdfast.getLock(`lock:${i}`).lock()));
}

describe("the watchdog", () => {
  test("renews each third of the lease, and the key has its full TTL again", async () => {
    const { holdfast, clock, driver, ttlMs } = open();
    const lease = await holdfast.getLock("a").lock();
    await clock.advance(9_900);
    expect(driver.timesOf("lock-renew")).toEqual([]);
    await clock.advance(30_000);
    const times = driver.timesOf("lock-renew");
    expect(times).toHaveLength(3);
    for (const [i, atMs] of times.entries()) {
      expect(atMs).toBeGreaterThanOrEqual(10_000 * (i + 1));
      expect(atMs).toBeLessThanOrEqual((10_000 + TICK_MS) * (i + 1));
    }
    expect(ttlMs("a")).toBeGreaterThan(20_000 - TICK_MS);
    expect(lease.state).toBe("held");
  });

  test("carries a hold far past its first TTL, and what is left is never less than two thirds", async () => {
    const { holdfast, clock } = open();
    const leases: Lease[] = [];
    for (const name of ["a", "b", "c", "d"]) {
      leases.push(await holdfast.getLock(name).lock());
      await clock.advance(3_300);
    }
    let leastMs = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 600; i++) {
      await clock.advance(1_000);
      leastMs = Math.min(leastMs, ...leases.map((lease) => lease.remainingMs()));
    }
    expect(leases.map(({ state }) => state)).toEqual(["held", "held", "held", "held"]);
    expect(leastMs).toBeGreaterThan(29_698 - 10_000 - 2 * TICK_MS);
  });

  test("renews as often, and no more often, when the thread enters again", async () => {
    const { holdfast, clock, driver } = open();
    const lock = holdfast.getLock("a");
    await lock.using(async () => {
      await clock.advance(5_000);
      await lock.using(() => clock.advance(15_500));
      await lock.using({ leaseMs: 60_000 }, () => clock.advance(10_000));
    });
    expect(driver.timesOf("lock-renew").map((atMs) => Math.round(atMs / 1_000))).toEqual([10, 20, 30]);
  });

  test("has no timer while nothing is held, nor for fixed leases that nobody listens to", async () => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    await lock.lock({ leaseMs: 100_000 });
    await clock.advance(10_000);
    expect(clock.pendingTimers).toBe(0);
    const lease = await holdfast.getLock("b").lock();
    await clock.advance(65_000);
    expect(clock.pendingTimers).toBe(1);
    await lease.unlock();
    await clock.advance(10_000 + TICK_MS);
    expect(clock.pendingTimers).toBe(0);
  });

  test("keeps one timer and renews next to nothing when locks come and go all the time [wire-A1]", async () => {
    const { holdfast, clock, driver } = open();
    const lock = holdfast.getLock("a");
    let most = 0;
    const sleep = (ms: number) => new Promise<void>((resolve) => clock.schedule(ms, resolve));
    const comeAndGo = async () => {
      for (let i = 0; i < 600; i++) {
        await lock.using(() => sleep(50));
        most = Math.max(most, clock.pendingTimers);
        await sleep(1);
      }
    };
    const done = comeAndGo();
    await clock.advance(600 * 51 + 100);
    await done;
    expect(most).toBeLessThanOrEqual(3);
    expect(driver.timesOf("lock-renew").length).toBeLessThanOrEqual(3);
  });

  test("does not keep the process alive", async () => {
    const { clock, connect } = open();
    const keeping: number[] = [];
    const noting: Clock = {
      monotonicMs: () => clock.monotonicMs(),
      wallMs: () => clock.wallMs(),
      schedule(delayMs, callback, keepAlive) {
        if (keepAlive) keeping.push(delayMs);
        return clock.schedule(delayMs, callback);
      },
    };
    const lease = await connect({ clock: noting }).holdfast.getLock("a").lock();
    await clock.advance(60_000);
    expect(lease.signal.aborted).toBe(false);
    expect(keeping).toEqual([]);
  });
});

describe("a lock that was lost when the server restarted empty", () => {
  test("refuses the unlock, and the next one of that name is renewed, again and again", async () => {
    const { holdfast, clock, server, ttlMs } = open({ watchdogMs: 1_000 });
    const lock = holdfast.getLock("a");
    for (let round = 0; round < 3; round++) {
      const lost = await lock.lock();
      await clock.advance(2_000);
      server.flush();
      await expect(lost.unlock()).rejects.toBeInstanceOf(NotHeldError);
      const lease = await lock.lock();
      await clock.advance(2_500);
      expect(ttlMs("a")).toBeGreaterThan(500);
      expect(lease.state).toBe("held");
      await lease.unlock();
    }
  });

  test("and was taken anew by another thread of the client is renewed for that one at once [wire-A3]", async () => {
    const { holdfast, clock, server, ttlMs } = open();
    const first = await holdfast.getLock("a").lock();
    server.command("DEL", "a");
    const second = await holdfast.getLock("a").lock();
    await clock.advance(10_100);
    expect([first.state, second.state]).toEqual(["lost", "held"]);
    expect(first.signal.reason).toMatchObject({ reason: "stolen" });
    expect(ttlMs("a")).toBeGreaterThan(29_000);
  });
});

describe("a release ends the renewal of its own hold and of no other", () => {
  test("of another thread that takes the lock after two locks and two unlocks of this one", async () => {
    const { holdfast, clock, ttlMs } = open({ watchdogMs: 1_000 });
    const lock = holdfast.getLock("a");
    await holdfast.asThread(async () => {
      await lock.lock();
      await lock.lock();
      await lock.unlock();
      await lock.unlock();
    });
    const lease = await lock.lock();
    for (let i = 0; i < 10; i++) {
      await clock.advance(1_000);
      expect(ttlMs("a")).toBeGreaterThan(500);
    }
    expect(lease.state).toBe("held");
  });

  test("of another lock that the same thread holds [wire-S5]", async () => {
    const { holdfast, clock } = open();
    const [a, b] = [holdfast.getLock("a"), holdfast.getLock("b")];
    await a.using(async (outer) => {
      await b.using(() => a.using(() => undefined));
      await clock.advance(95_000);
      expect(outer.state).toBe("held");
    });
  });

  test("of the outer hold, when the release of the inner one had to be sent three times [wire-S24]", async () => {
    const { holdfast, clock, driver, fields } = open();
    const lock = holdfast.getLock("a");
    const outer = await lock.lock();
    const inner = await outer.run(() => lock.lock());
    for (let i = 0; i < 2; i++) void driver.next(loseReply, "lock-release");
    const released = inner.unlock();
    await clock.advance(1_000);
    await released;
    expect(driver.timesOf("lock-release").slice(0, 3)).toEqual([0, 20, 60]);
    await clock.advance(95_000);
    expect(outer.state).toBe("held");
    expect(fields("a")).toEqual({ [outer.holder]: "1" });
  });

  test("of a hold of the same thread that is taken in the very moment of the release [wire-S22]", async () => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    const outer = await lock.lock({ leaseMs: 110_000 });
    const { threadId } = outer;
    for (let i = 0; i < 3; i++) {
      const first = await lock.lock({ threadId });
      const [second] = await Promise.all([lock.lock({ threadId }), first.unlock()]);
      await clock.advance(35_000);
      expect([first.state, second.state]).toEqual(["released", "held"]);
      await second.unlock();
    }
    await outer.unlock();
  });

  test("and leaves none behind, however fast lock and unlock follow each other [wire-S23]", async () => {
    const { holdfast, clock, driver } = open();
    const lock = holdfast.getLock("a");
    for (let i = 0; i < 100; i++) await (await lock.lock()).unlock();
    const lease = await lock.lock();
    await clock.advance(10_100);
    const renewals = driver.calls.filter(({ call }) => call.script.name === "lock-renew");
    expect(renewals.map(({ call }) => call.args)).toEqual([[lease.holder, "30000"]]);
  });
});

describe("many locks", () => {
  async function withLocks(count: number) {
    const clock = new FakeClock();
    const driver = new AgreeingDriver(clock);
    const holdfast = new Holdfast(driver, { clock });
    const leases = await locked(holdfast, count);
    return { clock, driver, holdfast, leases };
  }

  test("5,000 are renewed in 50 calls of 100 each third of the lease", { timeout: 60_000 }, async () => {
    const { clock, driver, holdfast } = await withLocks(5_000);
    await clock.advance(10_000 - TICK_MS);
    expect(driver.keyCounts["lock-renew"]).toEqual([]);
    await clock.advance(2 * TICK_MS);
    expect(driver.keyCounts["lock-renew"]).toEqual(Array(50).fill(100));
    await holdfast.close();
  });

  test("20,000 are held for three leases with a call for each hundred of them in each third [B38]", {
    timeout: 60_000,
  }, async () => {
    const { clock, driver, holdfast, leases } = await withLocks(20_000);
    await clock.advance(3 * 30_000 + 10 * TICK_MS);
    expect(leases.filter(({ state }) => state !== "held")).toEqual([]);
    expect(driver.keyCounts["lock-renew"]).toEqual(Array(9 * 200).fill(100));
    await Promise.all(leases.map((lease) => lease.unlock()));
    await clock.advance(11_000);
    expect(clock.pendingTimers).toBe(0);
    await holdfast.close();
  });
});

test("what was taken under a chosen id is renewed, also when a body of an earlier thread of that id takes another lock [own-70]", async () => {
  const { holdfast, clock } = open();
  const first = await holdfast.getLock("a").lock({ threadId: 7 });
  await first.run(async () => {
    await first.unlock();
    const second = await holdfast.getLock("b").lock({ threadId: 7 });
    const third = await holdfast.getLock("c").lock();
    await clock.advance(40_000);
    expect([second.state, third.state]).toEqual(["held", "held"]);
    await second.unlock();
    await third.unlock();
  });
});
