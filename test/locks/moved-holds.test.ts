import { afterEach, describe, expect, test } from "vitest";
import type { ReplicaOptions } from "../../src/client-options.js";
import { evaluate, script } from "../../src/driver/conformance/conformance-case.js";
import { ServerReplyError } from "../../src/driver/driver.js";
import { Moves } from "../../src/driver/moves.js";
import { events } from "../../src/events.js";
import { Holdfast } from "../../src/holdfast.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";
import { permitLeasesKey, readHoldKey } from "../../src/protocol/names.js";
import { AcknowledgingDriver, ofTopology } from "../support/drivers/acknowledging-driver.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { answerLate, answerWith, neverDeliver } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";

watchLeaks();
endRecordings();

const NAME = "order:7";
const TIMEOUT_MS = 3_000;
const HOUR_MS = 3_600_000;
const required: ReplicaOptions = { mode: "require" };
const del = script("del", 'return redis.call("DEL", unpack(KEYS))');

/** Tells that keys have moved, as the test says. */
class MovingDriver extends AcknowledgingDriver {
  readonly #moves = new Moves();
  readonly #at: { now: string };
  looks = 0;
  listeners = 0;

  constructor(server: MemoryServer, topology: "cluster" | "sentinel" | "standalone", at = { now: "a:1" }) {
    super(ofTopology(memoryDriver(server), topology), at);
    this.#at = at;
  }

  onMoved(moved: () => void): () => void {
    this.listeners += 1;
    const end = this.#moves.add(moved);
    return () => {
      this.listeners -= 1;
      end();
    };
  }

  async lookForMoves(): Promise<void> {
    this.looks += 1;
  }

  moveTo(place: string): void {
    this.#at.now = place;
    this.#moves.tell();
  }
}

/** From this call on replicas acknowledge nothing. */
function unacknowledged(driver: AcknowledgingDriver): CallFault {
  return {
    name: "unacknowledged",
    meet(deliver) {
      driver.acknowledged = 0;
      return deliver();
    },
  };
}

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

function open(
  replicas: ReplicaOptions = required,
  topology: "cluster" | "sentinel" | "standalone" = "cluster",
) {
  const clock = new FakeClock();
  const server = new MemoryServer({ clock });
  const driver = new MovingDriver(server, topology);
  const holdfast = new Holdfast(driver, { clock, replicas, commandTimeoutMs: TIMEOUT_MS });
  ends.push(async () => {
    driver.acknowledged = driver.wanted;
    const closed = holdfast.close();
    await clock.advance(HOUR_MS);
    await closed;
    expect(clock.pendingTimers).toBe(0);
  });
  /** The scripts that were called since the last look. */
  let seen = 0;
  const called = () => {
    const names = driver.names.slice(seen);
    seen = driver.names.length;
    return names;
  };
  return { clock, server, driver, holdfast, called };
}

const lost = (name: string) => expect.objectContaining({ name, reason: "server-changed" }) as unknown;

describe("when the server of a key changes", () => {
  test("n holds of one slot are asked about in n / 100 commands, and others in none", async () => {
    const { holdfast, driver, clock, called } = open();
    const names = Array.from({ length: 250 }, (_, at) => `{t}:${at}`);
    const leases = await Promise.all(names.map((name) => holdfast.getLock(name).lock({ leaseMs: HOUR_MS })));
    await holdfast.getLock("released").using(() => undefined);
    called();
    driver.moveTo("b:1");
    driver.moveTo("b:1");
    await clock.advance(TIMEOUT_MS);
    // The first command to a server that was not met before asks for its clock.
    expect(called()).toEqual(["server-probe", "lock-confirm", "lock-confirm", "lock-confirm"]);
    expect(new Set(leases.map(({ state }) => state))).toEqual(new Set(["held"]));
    driver.moveTo("b:1");
    await clock.advance(TIMEOUT_MS);
    expect(called()).toEqual([]);
  });

  test("a fixed lease that is confirmed ends when it did, here and in Redis", async () => {
    const { holdfast, driver, clock, server } = open();
    const lease = await holdfast.getLock(NAME).lock({ leaseMs: 10_000 });
    const remainingMs = lease.remainingMs();
    driver.moveTo("b:1");
    await clock.advance(4_000);
    expect(lease.remainingMs()).toBe(remainingMs - 4_000);
    expect(server.dump()[NAME]?.ttlMs).toBe(6_000);
    await lease.unlock();
  });

  test.each(["cluster", "sentinel"] as const)(
    "what its replicas do not acknowledge is lost after one command timeout where they are required (%s) [own-8]",
    async (topology) => {
      const { holdfast, driver, clock } = open(required, topology);
      const losses = recorded(events.leaseLost);
      const lease = await holdfast.getLock(NAME).lock({ leaseMs: HOUR_MS });
      const semaphore = holdfast.getPermitExpirableSemaphore("permits");
      await semaphore.trySetPermits(2);
      const permits = await semaphore.acquire({ leaseMs: HOUR_MS });
      driver.acknowledged = 0;
      driver.moveTo("b:1");
      await clock.advance(TIMEOUT_MS - 1);
      expect(losses).toEqual([]);
      expect(lease.state).toBe("held");
      await clock.advance(1);
      expect(losses).toEqual([lost(NAME), lost("permits")]);
      expect(lease.signal.reason).toMatchObject({ reason: "server-changed", heldMs: TIMEOUT_MS });
      // Permits that nobody has any more would not be told of.
      expect(permits.state).toBe("lost");
    },
  );

  test("the signal of what nobody answers for aborts by then, however long its lease is", async () => {
    const { holdfast, driver, clock } = open();
    const lease = await holdfast.getLock(NAME).lock({ leaseMs: HOUR_MS });
    const { signal } = lease;
    // Between two looks at who has the slot, which would find it over as well.
    await clock.advance(550);
    void driver.next(neverDeliver, "lock-confirm");
    driver.moveTo("b:1");
    await clock.advance(TIMEOUT_MS - 1);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.reason).toMatchObject({ reason: "server-changed" });
    expect(lease.state).toBe("lost");
  });

  test("permits that it confirms are held for as long as before", async () => {
    const { holdfast, driver, clock } = open();
    const semaphore = holdfast.getPermitExpirableSemaphore("permits");
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ leaseMs: HOUR_MS });
    const remainingMs = permits.remainingMs();
    driver.moveTo("b:1");
    await clock.advance(2 * TIMEOUT_MS);
    expect(permits.remainingMs()).toBe(remainingMs - 2 * TIMEOUT_MS);
    await permits.release();
  });

  test("holds about which it can not be asked together are asked about one by one", async () => {
    const { holdfast, driver, clock, called } = open();
    const names = ["{t}:a", "{t}:b"];
    const leases = await Promise.all(names.map((name) => holdfast.getLock(name).lock({ leaseMs: HOUR_MS })));
    called();
    void driver.next(answerWith(new ServerReplyError("TRYAGAIN not all keys are there")), "lock-confirm");
    driver.moveTo("b:1");
    await clock.advance(0);
    expect(called()).toEqual(["server-probe", "lock-confirm", "lock-confirm", "lock-confirm"]);
    expect(leases.map(({ state }) => state)).toEqual(["held", "held"]);
    for (const lease of leases) await lease.unlock();
  });

  test("one about which it refuses to be asked is asked about again after a pause", async () => {
    const { holdfast, driver, clock, called } = open();
    const lease = await holdfast.getLock(NAME).lock({ leaseMs: HOUR_MS });
    called();
    void driver.next(answerWith(new ServerReplyError("NOPERM not now")), "lock-confirm");
    driver.moveTo("b:1");
    await clock.advance(0);
    expect(called()).toEqual(["server-probe", "lock-confirm"]);
    await clock.advance(TIMEOUT_MS);
    expect(called()).toEqual(["lock-confirm"]);
    expect(lease.state).toBe("held");
    await lease.unlock();
  });

  test("what nobody answers for is lost after one command timeout where replicas are required", async () => {
    const { holdfast, driver, clock } = open();
    const lease = await holdfast.getLock(NAME).lock();
    void driver.next(neverDeliver, "lock-confirm");
    driver.moveTo("b:1");
    await clock.advance(TIMEOUT_MS - 1);
    expect(lease.state).toBe("held");
    await clock.advance(1);
    expect(lease.state).toBe("lost");
  });

  test("what replicas acknowledge at another try is held", async () => {
    const { holdfast, driver, clock } = open();
    const lease = await holdfast.getLock(NAME).lock({ leaseMs: HOUR_MS });
    driver.acknowledged = 0;
    driver.moveTo("b:1");
    await clock.advance(TIMEOUT_MS / 2);
    driver.acknowledged = 1;
    await clock.advance(2 * TIMEOUT_MS);
    expect(lease.state).toBe("held");
    await lease.unlock();
  });

  test.each([{ mode: "auto" }, { mode: "off" }, required] as const)(
    "what it does not have is lost at once, with $mode",
    async (replicas) => {
      const { holdfast, driver, clock } = open(replicas);
      const losses = recorded(events.leaseLost);
      const locks = [holdfast.getLock("{t}:a"), holdfast.getReadWriteLock("{t}:b").readLock()];
      const leases = await Promise.all(locks.map((lock) => lock.lock({ leaseMs: HOUR_MS })));
      const kept = await holdfast.getLock("{t}:c").lock({ leaseMs: HOUR_MS });
      const semaphore = holdfast.getPermitExpirableSemaphore("{t}:d");
      await semaphore.trySetPermits(1);
      const permits = await semaphore.acquire({ leaseMs: HOUR_MS });
      await evaluate(driver, del, ["{t}:a", "{t}:b", permitLeasesKey("{t}:d")]);
      driver.moveTo("b:1");
      await clock.advance(0);
      expect(losses).toEqual([lost("{t}:a"), lost("{t}:b"), lost("{t}:d")]);
      expect([...leases, permits].map(({ state }) => state)).toEqual(["lost", "lost", "lost"]);
      expect(kept.state).toBe("held");
      await kept.unlock();
    },
  );

  test("what its replicas do not acknowledge is held where they are not required", async () => {
    const { holdfast, driver, clock } = open({ mode: "auto" });
    const lease = await holdfast.getLock(NAME).lock({ leaseMs: HOUR_MS });
    driver.acknowledged = 0;
    driver.moveTo("b:1");
    await clock.advance(2 * TIMEOUT_MS);
    expect(lease.state).toBe("held");
    await lease.unlock();
  });

  test("one of a reader's holds that it does not have makes them lost", async () => {
    const { holdfast, driver, clock } = open();
    const lock = holdfast.getReadWriteLock(NAME).readLock();
    const outer = await lock.lock({ leaseMs: HOUR_MS });
    const inner = await outer.run(() => lock.lock({ leaseMs: HOUR_MS }));
    await evaluate(driver, del, [readHoldKey(NAME, outer.holder, 2)]);
    driver.moveTo("b:1");
    await clock.advance(0);
    expect([outer.state, inner.state]).toEqual(["lost", "lost"]);
  });

  test("what was asked for before, and answered after, is asked about", async () => {
    const { holdfast, driver, clock, called } = open();
    await holdfast.getLock("acquaintance").using(() => undefined);
    called();
    const moving: CallFault = {
      name: "moved before the answer",
      async meet(deliver) {
        const reply = await deliver();
        driver.moveTo("b:1");
        return reply;
      },
    };
    void driver.next(moving, "lock-acquire");
    const lease = await holdfast.getLock(NAME).lock({ leaseMs: HOUR_MS });
    await clock.advance(TIMEOUT_MS);
    expect(called()).toEqual(["lock-acquire", "server-probe", "lock-confirm"]);
    expect(lease.state).toBe("held");
    await lease.unlock();
  });

  test("a hold that is given back meanwhile is not taken for lost, nor those around it", async () => {
    const { holdfast, driver, clock } = open();
    const losses = recorded(events.leaseLost);
    const lock = holdfast.getReadWriteLock(NAME).readLock();
    const outer = await lock.lock({ leaseMs: HOUR_MS });
    const inner = await outer.run(() => lock.lock({ leaseMs: HOUR_MS }));
    const overtaken: CallFault = {
      name: "overtaken by the release",
      async meet(deliver) {
        await inner.unlock();
        return deliver();
      },
    };
    void driver.next(overtaken, "lock-confirm");
    driver.moveTo("b:1");
    await clock.advance(2 * TIMEOUT_MS);
    expect(losses).toEqual([]);
    expect(outer.state).toBe("held");
    await outer.unlock();
  });

  test("a hold is asked about each time that it moves, once it was confirmed", async () => {
    const { holdfast, driver, clock, called } = open();
    const lease = await holdfast.getLock(NAME).lock({ leaseMs: HOUR_MS });
    for (const place of ["b:1", "c:1", "b:1"]) {
      called();
      driver.moveTo(place);
      await clock.advance(10);
      expect(called()).toContain("lock-confirm");
    }
    await lease.unlock();
  });

  test("a client that is closed amid its question asks no more, and listens to no moves", async () => {
    const { holdfast, driver, clock, called } = open({ mode: "auto" });
    const lease = await holdfast.getLock(NAME).lock({ leaseMs: HOUR_MS });
    for (let i = 0; i < 9; i++) void driver.next(neverDeliver, "lock-confirm");
    driver.moveTo("b:1");
    await clock.advance(10);
    expect([driver.listeners, called().at(-1)]).toEqual([1, "lock-confirm"]);
    const closing = holdfast.close();
    await clock.advance(4 * TIMEOUT_MS);
    await closing;
    expect(lease.state).toBe("lost");
    called();
    driver.moveTo("c:1");
    await clock.advance(2 * TIMEOUT_MS);
    expect([driver.listeners, called()]).toEqual([0, []]);
  });

  test("what moves once more before it is confirmed is lost where the last server's replicas lack it", async () => {
    const { holdfast, driver, clock } = open();
    const lease = await holdfast.getLock(NAME).lock({ leaseMs: HOUR_MS });
    const moving: CallFault = {
      name: "moved before the answer",
      async meet(deliver) {
        const reply = await deliver();
        driver.moveTo("c:1");
        return reply;
      },
    };
    // What the first one's replicas have is acknowledged.
    void driver.next(moving, "lock-confirm").then(() => driver.next(unacknowledged(driver), "lock-confirm"));
    driver.moveTo("b:1");
    await clock.advance(TIMEOUT_MS);
    expect(lease.state).toBe("lost");
  });

  test("what was lost meanwhile does not hide that what was taken after it moves back [own-51]", async () => {
    const { holdfast, driver, clock, called } = open();
    const lock = holdfast.getLock(NAME);
    const outer = await lock.lock({ leaseMs: HOUR_MS });
    void driver.next(neverDeliver, "lock-confirm");
    driver.moveTo("b:1");
    await clock.advance(1_000);
    const late = answerLate();
    void driver.next(late, "lock-acquire");
    const entering = outer.run(() => lock.lock({ leaseMs: HOUR_MS }));
    await clock.advance(TIMEOUT_MS - 100);
    expect(outer.state).toBe("lost");
    late.arrive();
    const inner = await entering;
    expect(inner.state).toBe("held");
    called();
    driver.moveTo("a:1");
    await clock.advance(100);
    expect(called()).toContain("lock-confirm");
    await inner.unlock();
  });

  test("what has come back to its old server meanwhile has to be confirmed all the same", async () => {
    const { holdfast, driver, clock, called } = open();
    const lease = await holdfast.getLock(NAME).lock({ leaseMs: HOUR_MS });
    called();
    driver.acknowledged = 0;
    driver.moveTo("b:1");
    driver.moveTo("a:1");
    await clock.advance(TIMEOUT_MS);
    expect(called()).toContain("lock-confirm");
    expect(lease.state).toBe("lost");
  });
});

describe("while no server changes", () => {
  test("nothing is sent, but for a look each second where replicas are required", async () => {
    for (const replicas of [required, { mode: "auto" }, { mode: "off" }] as const) {
      const { holdfast, driver, clock, called } = open(replicas);
      const lease = await holdfast.getLock(NAME).lock({ leaseMs: HOUR_MS });
      called();
      await clock.advance(9_500);
      expect(called()).toEqual([]);
      const looks = replicas.mode === "require" ? 9 : 0;
      expect(Math.abs(driver.looks - looks)).toBeLessThanOrEqual(1);
      await lease.unlock();
      const before = driver.looks;
      await clock.advance(9_500);
      expect(driver.looks).toBe(before);
    }
  });

  test("a client of one server looks for nothing", async () => {
    const { holdfast, driver, clock, called } = open(required, "standalone");
    const lease = await holdfast.getLock(NAME).lock({ leaseMs: HOUR_MS });
    called();
    driver.moveTo("b:1");
    await clock.advance(9_500);
    expect([driver.looks, called()]).toEqual([0, []]);
    await lease.unlock();
  });
});
