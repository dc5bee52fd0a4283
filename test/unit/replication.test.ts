import { afterEach, describe, expect, test } from "vitest";
import type { HoldfastOptions, ReplicaOptions } from "../../src/client-options.js";
import { ServerReplyError, WaitRefusedError } from "../../src/driver/driver.js";
import { NotReplicatedError } from "../../src/errors.js";
import { events } from "../../src/events.js";
import { Holdfast } from "../../src/holdfast.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";
import { AcknowledgingDriver, ofTopology } from "../support/drivers/acknowledging-driver.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { answerLate, answerWith, loseReply } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { isRequestKey } from "../support/servers/request-keys.js";

watchLeaks();
endRecordings();

const NAME = "order:7";
const WATCHDOG_MS = 30_000;
const required: ReplicaOptions = { mode: "require" };

interface World {
  readonly clock: FakeClock;
  readonly server: MemoryServer;
  readonly driver: AcknowledgingDriver;
  /** Of the server that answers. */
  readonly place: { now: string };
  readonly holdfast: Holdfast;
}

const opened: World[] = [];
afterEach(async () => {
  for (const { clock, server, driver, holdfast } of opened.splice(0)) {
    driver.acknowledged = driver.wanted;
    const closed = holdfast.close();
    await clock.advance(2 * WATCHDOG_MS);
    await closed;
    const keys = Object.keys(server.dump()).filter((key) => !isRequestKey(key));
    expect({ keys, timers: clock.pendingTimers }).toEqual({ keys: [], timers: 0 });
  }
});

function open(replicas: ReplicaOptions = required, options: HoldfastOptions = {}): World {
  const clock = new FakeClock();
  const server = new MemoryServer({ clock });
  const place = { now: "a:1" };
  const driver = new AcknowledgingDriver(memoryDriver(server), place);
  const holdfast = new Holdfast(driver, { clock, replicas, ...options });
  const world = { clock, server, driver, place, holdfast };
  opened.push(world);
  return world;
}

/** The hash of the lock; undefined when it is free. */
function fields({ server }: World): unknown {
  return server.dump()[NAME]?.value;
}

describe("whether replicas are asked", () => {
  function asks(topology: "standalone" | "sentinel" | "cluster", options?: ReplicaOptions) {
    const driver = new AcknowledgingDriver(memoryDriver(new MemoryServer()));
    const holdfast = new Holdfast(
      ofTopology(driver, topology),
      options === undefined ? {} : { replicas: options },
    );
    return holdfast
      .getLock(NAME)
      .using(() => undefined)
      .then(() => driver.asked.map(({ demand }) => demand.replicas))
      .finally(() => holdfast.close());
  }

  test("depends on the topology: where there are several servers, those that are connected are", async () => {
    expect(await asks("standalone")).toEqual([]);
    expect(await asks("sentinel")).toEqual(["connected", "connected"]);
    expect(await asks("cluster")).toEqual(["connected", "connected"]);
  });

  test("is what the options say, on every topology", async () => {
    for (const topology of ["standalone", "sentinel", "cluster"] as const) {
      expect(await asks(topology, { mode: "off" })).toEqual([]);
      expect(await asks(topology, { mode: "auto" })).toEqual(["connected", "connected"]);
      expect(await asks(topology, { mode: "require" })).toEqual([1, 1]);
      expect(await asks(topology, { mode: "require", min: "majority" })).toEqual(["majority", "majority"]);
    }
  });

  test("is refused at once where the Redis client can not, and left out where nobody has asked for it", async () => {
    const driver = memoryDriver(new MemoryServer());
    for (const mode of ["require", "auto"] as const) {
      expect(() => new Holdfast(driver, { replicas: { mode } })).toThrow(TypeError);
    }
    const holdfast = new Holdfast(ofTopology(driver, "cluster"));
    await holdfast.getLock(NAME).using(() => undefined);
    await holdfast.close();
  });
});

describe("replicas are asked for", () => {
  test("whatever changes a hold, and for nothing that only looks", async () => {
    const { driver, holdfast, clock } = open();
    const lock = holdfast.getLock(NAME);
    const lease = await lock.lock();
    await lock.isLocked();
    const inner = await lease.run(() => lock.lock());
    await lock.remainTimeToLive();
    await clock.advance(WATCHDOG_MS / 3 + 1_000);
    await inner.unlock();
    await lease.unlock();
    await holdfast.getFairLock(NAME).using(() => undefined);
    await holdfast
      .getReadWriteLock(NAME)
      .readLock()
      .using(() => undefined);
    expect(driver.demanded()).toEqual([
      ...["lock-acquire", "lock-acquire", "lock-renew", "lock-release", "lock-release"],
      ...["fair-acquire", "fair-release", "read-acquire", "read-release"],
    ]);
  });

  test("no longer than leaves time for the answer, and for a quarter of the lease", async () => {
    const { driver, holdfast } = open({ ...required, timeoutMs: 1_000 }, { commandTimeoutMs: 2_000 });
    await holdfast.getLock(NAME).using(() => undefined);
    await holdfast.getLock(NAME).using({ leaseMs: 400 }, () => undefined);
    expect(driver.asked.map(({ demand }) => demand.timeoutMs)).toEqual([1_000, 1_000, 100, 1_000]);
    const semaphore = holdfast.getPermitExpirableSemaphore("order:8");
    await semaphore.trySetPermits(1);
    driver.demanded();
    const permit = await semaphore.acquire({ leaseMs: 400 });
    expect(driver.asked).toMatchObject([{ script: "permit-acquire", demand: { timeoutMs: 100 } }]);
    await permit.release();
    await semaphore.delete();
  });
});

describe("an acquisition that too few replicas have", () => {
  test("fails once, and is taken back by a command that asks nobody [B30]", async () => {
    const world = open();
    const { driver, holdfast } = world;
    Object.assign(driver, { acknowledged: 1, wanted: 2 });
    const error = await holdfast
      .getLock(NAME)
      .lock()
      .catch((error: unknown) => error);
    expect(error).toBeInstanceOf(NotReplicatedError);
    expect(error).toMatchObject({
      code: "ERR_HOLDFAST_NOT_REPLICATED",
      lockName: NAME,
      acknowledged: 1,
      wanted: 2,
      timeoutMs: 1_000,
      message: `lock "${NAME}" was released again: 1 of 2 required replicas acknowledged it within 1000 ms`,
    });
    expect(fields(world)).toBeUndefined();
    expect(driver.names).toEqual(["server-probe", "lock-acquire", "lock-release", "lock-release"]);
    // On the connection that has taken it, before anybody is told of the failure; and then once more, for the replicas.
    expect(driver.asked.map(({ script, demand }) => [script, demand.replicas])).toEqual([
      ["lock-acquire", 1],
      ["lock-release", 0],
      ["lock-release", 1],
    ]);
  });

  test.each(["getSemaphore", "getPermitExpirableSemaphore"] as const)(
    "of permits of %s says that they were released again",
    async (factory) => {
      const { driver, holdfast } = open();
      const semaphore = holdfast[factory]("order:8");
      await semaphore.trySetPermits(1);
      Object.assign(driver, { acknowledged: 1, wanted: 2 });
      const error = await semaphore.acquire().catch((error: unknown) => error);
      expect(error).toMatchObject({
        message:
          'permits of "order:8" were released again: 1 of 2 required replicas acknowledged it within 1000 ms',
      });
      driver.acknowledged = driver.wanted;
      await semaphore.delete();
    },
  );

  test("is taken back once more where replicas are asked: one may have it, and take over [B30]", async () => {
    const { clock, driver, holdfast } = open();
    driver.acknowledged = 0;
    const semaphore = holdfast.getSemaphore("order:8");
    await semaphore.trySetPermits(1);
    await expect(holdfast.getLock(NAME).lock()).rejects.toBeInstanceOf(NotReplicatedError);
    await expect(semaphore.acquire()).rejects.toBeInstanceOf(NotReplicatedError);
    driver.demanded();
    await clock.advance(5_000);
    const again = driver.demanded();
    expect(new Set(again)).toEqual(new Set(["lock-release", "semaphore-cancel"]));
    driver.acknowledged = 1;
    await clock.advance(10_000);
    driver.demanded();
    await clock.advance(WATCHDOG_MS);
    expect(driver.demanded()).toEqual([]);
    await semaphore.delete();
  });

  test("lets the next in line ask, without waiting for anything", async () => {
    const { driver, holdfast } = open();
    const lock = holdfast.getLock(NAME);
    const lease = await lock.lock();
    driver.acknowledged = 0;
    const waiting = [lock.lock(), lock.lock()];
    await lease.unlock();
    // No time passes here.
    const outcomes = await Promise.allSettled(waiting);
    expect(outcomes).toMatchObject(waiting.map(() => ({ reason: { code: "ERR_HOLDFAST_NOT_REPLICATED" } })));
  });

  test("of a hold that is entered again leaves that as it was, with its time", async () => {
    const world = open();
    const { driver, holdfast } = world;
    const lock = holdfast.getLock(NAME);
    const outer = await lock.lock({ leaseMs: 5_000 });
    driver.acknowledged = 0;
    await expect(outer.run(() => lock.lock({ leaseMs: 60_000 }))).rejects.toBeInstanceOf(NotReplicatedError);
    expect(fields(world)).toEqual({ [outer.holder]: "1" });
    expect(world.server.command("PTTL", NAME)).toBe(5_000);
    expect(outer.remainingMs()).toBeLessThanOrEqual(5_000);
    await outer.unlock();
    expect(fields(world)).toBeUndefined();
  });

  test("leaves the lock free at once for the same thread", async () => {
    const { clock, driver, holdfast } = open();
    const lock = holdfast.getLock(NAME);
    driver.acknowledged = 0;
    // That replicas are missing is never told as if somebody had the lock.
    for (let i = 0; i < 3; i++) {
      await expect(lock.tryLock({ threadId: 7 })).rejects.toBeInstanceOf(NotReplicatedError);
      await clock.advance(1_000);
    }
    driver.acknowledged = 1;
    const lease = await lock.tryLock({ threadId: 7 });
    expect(lease?.state).toBe("held");
    await lease?.unlock();
  });

  test("leaves the next one to a program that unlocks by the thread, as with Redisson", async () => {
    const world = open();
    const { driver, holdfast } = world;
    const lock = holdfast.getLock(NAME);
    await holdfast.asThread(async () => {
      driver.acknowledged = 0;
      await expect(lock.lock()).rejects.toBeInstanceOf(NotReplicatedError);
      driver.acknowledged = 1;
      await lock.lock();
      expect(await lock.isHeldByCurrentThread()).toBe(true);
      await lock.unlock();
      expect(fields(world)).toBeUndefined();
    });
  });

  test("and that can not be taken back at once is taken back behind the scenes", async () => {
    const world = open();
    const { clock, driver, holdfast } = world;
    driver.acknowledged = 0;
    void driver.next(answerWith(new ServerReplyError("ERR not now")), "lock-release");
    await expect(holdfast.getLock(NAME).lock()).rejects.toBeInstanceOf(NotReplicatedError);
    driver.acknowledged = 1;
    await clock.advance(1_000);
    expect(fields(world)).toBeUndefined();
  });
});

describe("a release that too few replicas have", () => {
  test("is a release, and an event [B30]", async () => {
    const world = open();
    const short = recorded(events.replicasShort);
    const lease = await world.holdfast.getLock(NAME).lock();
    world.driver.acknowledged = 0;
    await lease.unlock();
    expect([lease.state, fields(world)]).toEqual(["released", undefined]);
    const { clientId } = world.holdfast;
    const { server } = world.driver.traits;
    expect(short).toEqual([{ clientId, server, script: "lock-release", acknowledged: 0, wanted: 1 }]);
  });

  test("of an inner hold does not prolong what is believed of the outer one", async () => {
    const { clock, driver, holdfast } = open();
    const lock = holdfast.getLock(NAME);
    const outer = await lock.lock();
    const inner = await outer.run(() => lock.lock());
    await clock.advance(5_000);
    const leftMs = outer.remainingMs();
    driver.acknowledged = 0;
    await inner.unlock();
    expect(outer.remainingMs()).toBe(leftMs);
    driver.acknowledged = 1;
    await outer.unlock();
  });

  test("of an inner hold is not repeated: one that takes over with the higher count is as good", async () => {
    const world = open();
    const { clock, driver, server, holdfast } = world;
    const lock = holdfast.getLock(NAME);
    const outer = await lock.lock();
    const inner = await outer.run(() => lock.lock());
    driver.acknowledged = 0;
    await inner.unlock();
    driver.acknowledged = 1;
    driver.demanded();
    await clock.advance(5_000);
    expect(driver.demanded()).toEqual([]);
    server.command("HSET", NAME, outer.holder, "2");
    const again = await outer.run(() => lock.lock());
    expect([again.state, fields(world)]).toEqual(["held", { [outer.holder]: "2" }]);
    await again.unlock();
    expect([outer.state, fields(world)]).toEqual(["held", { [outer.holder]: "1" }]);
    server.command("HSET", NAME, outer.holder, "2");
    await outer.unlock();
    expect(fields(world)).toBeUndefined();
  });

  test("is repeated for a minute, however long the lease was", async () => {
    const { clock, driver, holdfast } = open();
    const lease = await holdfast.getLock(NAME).lock({ leaseMs: 3_600_000 });
    driver.acknowledged = 0;
    await lease.unlock();
    await clock.advance(40_000);
    driver.demanded();
    await clock.advance(20_000);
    expect(driver.demanded()).toContain("lock-release");
    await clock.advance(60_000);
    expect(driver.demanded()).toEqual([]);
  });

  test("leaves the lock free at once for the same thread", async () => {
    const { driver, holdfast } = open();
    const lock = holdfast.getLock(NAME);
    const lease = await lock.lock({ threadId: 7 });
    driver.acknowledged = 0;
    await lease.unlock();
    driver.acknowledged = 1;
    const next = await lock.tryLock({ threadId: 7 });
    expect(next?.state).toBe("held");
    await next?.unlock();
  });

  test("leaves the next hold to a program that unlocks by the thread, as with Redisson", async () => {
    const world = open();
    const { driver, holdfast } = world;
    const lock = holdfast.getLock(NAME);
    await holdfast.asThread(async () => {
      await lock.lock();
      driver.acknowledged = 0;
      await lock.unlock();
      driver.acknowledged = 1;
      await lock.lock();
      expect([await lock.isHeldByCurrentThread(), await lock.getHoldCount()]).toEqual([true, 1]);
      await lock.unlock();
      expect(fields(world)).toBeUndefined();
    });
  });

  test("holds up no close(), neither while its repetition waits nor while that is under way", async () => {
    for (const isUnderWay of [false, true]) {
      const { driver, holdfast } = open();
      const lease = await holdfast.getLock(NAME).lock();
      driver.acknowledged = 0;
      const late = answerLate();
      if (isUnderWay) {
        let releases = 0;
        void driver.next(late, ({ script }) => script.name === "lock-release" && ++releases === 2);
      }
      await lease.unlock();
      const closed = holdfast.close();
      if (isUnderWay) late.arrive();
      // No time passes here.
      await closed;
      expect(driver.names.filter((name) => name === "lock-release")).toHaveLength(2);
    }
  });
});

describe("a renewal that too few replicas have", () => {
  test("does not move the end of the lease, which is lost then though the server has it", async () => {
    const world = open();
    const { clock, driver, server, holdfast } = world;
    const failed = recorded(events.renewalFailed);
    const lease = await holdfast.getLock(NAME).lock();
    const windowMs = lease.remainingMs();
    driver.acknowledged = 0;
    await clock.advance(windowMs - 1);
    expect([lease.state, lease.remainingMs()]).toEqual(["held", 1]);
    expect(driver.demanded().filter((script) => script === "lock-renew").length).toBeGreaterThan(2);
    expect(server.command("PTTL", NAME)).toBeGreaterThan(WATCHDOG_MS / 2);
    expect(failed[0]?.error).toMatchObject({
      message: "0 of 1 required replicas acknowledged the renewal in time",
    });
    await clock.advance(1);
    expect([lease.state, lease.signal.aborted]).toEqual(["lost", true]);
    expect(fields(world)).toEqual({ [lease.holder]: "1" });
    driver.demanded();
    await clock.advance(WATCHDOG_MS);
    expect(driver.demanded()).not.toContain("lock-renew");
  });

  test("is sent again soon, and moves it as soon as enough of them have it", async () => {
    const { clock, driver, holdfast } = open();
    const lease = await holdfast.getLock(NAME).lock();
    const windowMs = lease.remainingMs();
    driver.acknowledged = 0;
    await clock.advance(WATCHDOG_MS / 3 + 500);
    expect(lease.remainingMs()).toBe(windowMs - WATCHDOG_MS / 3 - 500);
    driver.acknowledged = 1;
    await clock.advance(1_000);
    expect(lease.remainingMs()).toBeGreaterThan(windowMs - 1_000);
    await lease.unlock();
  });

  test("is as good as any where replicas are not required", async () => {
    const { clock, driver, holdfast } = open({ mode: "auto" });
    const lease = await holdfast.getLock(NAME).lock();
    driver.acknowledged = 0;
    await clock.advance(10 * WATCHDOG_MS);
    expect(lease.state).toBe("held");
    await lease.unlock();
  });
});

describe("a server that refuses to ask its replicas", () => {
  const refusal = new WaitRefusedError("NOPERM this user may not");

  test("is told of once and gone on with where they are not required, and locks are granted again", async () => {
    const { clock, driver, holdfast } = open({ mode: "auto" }, { groupCommit: false });
    const short = recorded(events.replicasShort);
    driver.refusal = refusal;
    const leases = await Promise.all(["a", "b"].map((name) => holdfast.getLock(name).lock()));
    expect(short).toMatchObject([{ script: "lock-acquire", acknowledged: 0, wanted: 0, error: refusal }]);
    await Promise.all(leases.map((lease) => lease.unlock()));
    expect(driver.demanded()).toEqual(["lock-acquire", "lock-acquire"]);
    const lease = await holdfast.getFairLock(NAME).lock();
    const waiting = holdfast.getFairLock(NAME).lock();
    await clock.advance(0);
    const asked = driver.names.filter((name) => name === "fair-acquire").length;
    await lease.unlock();
    await (await waiting).unlock();
    expect(driver.names.filter((name) => name === "fair-acquire")).toHaveLength(asked);
  });

  test("fails what would have to be known to replicas, and is asked nothing more", async () => {
    const { driver, holdfast } = open();
    driver.refusal = refusal;
    for (let i = 0; i < 2; i++) {
      await expect(holdfast.getLock(NAME).lock()).rejects.toMatchObject({
        code: "ERR_HOLDFAST_UNAVAILABLE",
        outcomeUnknown: false,
        cause: refusal,
      });
    }
    expect(driver.names).toEqual(["server-probe"]);
  });

  test("lets go what was taken where replicas could be asked, and believes nothing that it can not tell them of", async () => {
    const world = open();
    const { clock, driver, holdfast } = world;
    const lease = await holdfast.getLock(NAME).lock();
    const other = await holdfast.getLock("order:8").lock();
    driver.refusal = refusal;
    await lease.unlock();
    expect([lease.state, fields(world)]).toEqual(["released", undefined]);
    await clock.advance(WATCHDOG_MS);
    expect(other.state).toBe("lost");
    await expect(other.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
  });
});

describe("a red lock of clients that require replicas", () => {
  function party(shortOn: readonly number[]) {
    const worlds = [0, 1, 2].map(() => open());
    for (const at of shortOn) Object.assign(worlds[at]?.driver ?? {}, { acknowledged: 0 });
    const [first] = worlds;
    if (first === undefined) throw new Error("there are three");
    return {
      worlds,
      lock: first.holdfast.getRedLock(...worlds.map(({ holdfast }) => holdfast.getLock(NAME))),
    };
  }

  test("is had where a majority of the masters have theirs, and the rest is given back", async () => {
    const { worlds, lock } = party([1]);
    const lease = await lock.lock();
    await new Promise(setImmediate);
    expect(worlds.map((world) => fields(world) !== undefined)).toEqual([true, false, true]);
    await lease.unlock();
  });

  test("fails where they have not, and leaves nothing", async () => {
    const { worlds, lock } = party([1, 2]);
    await expect(lock.lock()).rejects.toMatchObject({
      code: "ERR_HOLDFAST_QUORUM",
      failures: [{ code: "ERR_HOLDFAST_NOT_REPLICATED" }, { code: "ERR_HOLDFAST_NOT_REPLICATED" }],
    });
    await new Promise(setImmediate);
    expect(worlds.map(fields)).toEqual([undefined, undefined, undefined]);
  });
});

describe("a server in whose place another has come", () => {
  /** It carries out what it was sent and fails before it answers. */
  function failsOver(place: World["place"], then: () => void = () => undefined): CallFault {
    return {
      name: "fails over",
      meet: (deliver, driver) => {
        place.now = "b:2";
        then();
        return loseReply.meet(deliver, driver);
      },
    };
  }

  test("is not believed to have the other's clock: the new one is asked first [R12]", async () => {
    const clock = new FakeClock();
    const server = new MemoryServer({ clock });
    const place = { now: "a:1" };
    const driver = new AcknowledgingDriver(memoryDriver(server), place);
    const holdfast = new Holdfast(driver, { clock });
    const lock = holdfast.getLock(NAME);
    await lock.using(() => undefined);
    const lease = await lock.lock();
    place.now = "b:2";
    await lease.run(() => lock.using(() => undefined));
    await lease.unlock();
    place.now = "a:1";
    await lock.using(() => undefined);
    const cycle = ["lock-acquire", "lock-release"];
    expect(driver.names).toEqual([
      ...["server-probe", ...cycle, "lock-acquire"],
      ...["server-probe", ...cycle, "lock-release"],
      ...cycle,
    ]);
    await holdfast.close();
    expect(clock.pendingTimers).toBe(0);
  });

  describe.each([
    ["NOAUTH Authentication required.", 1],
    ["NOPERM this user has no permissions", 1],
    // For longer than a command may take.
    ["LOADING Redis is loading the dataset in memory", 15],
  ])("and that answers %s", (message, times) => {
    /** Where the first has given what is asked for. */
    async function expectUnknown(world: World, script: string, acquire: () => Promise<unknown>) {
      const { clock, driver, place } = world;
      void driver.next(failsOver(place), script);
      for (let i = 0; i < times; i++)
        void driver.next(answerWith(new ServerReplyError(message)), "server-probe");
      const failure = expect(acquire()).rejects.toMatchObject({ outcomeUnknown: true });
      await clock.advance(60_000);
      await failure;
    }

    test("has not said what has become of a lock, which is given back", async () => {
      const world = open({ mode: "auto" });
      const lock = world.holdfast.getLock(NAME);
      await lock.using(() => undefined);
      await expectUnknown(world, "lock-acquire", () => lock.tryLock({ leaseMs: 3_600_000 }));
      expect(fields(world)).toBeUndefined();
    });

    test("has not said what has become of a permit, which is given back", async () => {
      const world = open({ mode: "auto" });
      const semaphore = world.holdfast.getSemaphore("order:8");
      await semaphore.trySetPermits(1);
      await expectUnknown(world, "semaphore-acquire", () => semaphore.tryAcquire());
      expect(await semaphore.availablePermits()).toBe(1);
      await semaphore.delete();
    });
  });

  test("and that is too old has not said it either", async () => {
    const world = open({ mode: "auto" });
    const { clock, driver, place, holdfast } = world;
    const lock = holdfast.getLock(NAME);
    await lock.using(() => undefined);
    void driver.next(failsOver(place), "lock-acquire");
    void driver.next({ name: "too old", meet: async () => [1_000, "6.0.16", 0] }, "server-probe");
    const failure = expect(lock.lock({ leaseMs: 3_600_000 })).rejects.toMatchObject({
      message: expect.stringMatching(/^lock "order:7": [^ ]+: Redis 6\.0\.16 is too old/),
      outcomeUnknown: true,
    });
    await clock.advance(60_000);
    await failure;
    expect(fields(world)).toBeUndefined();
  });

  test("and that refuses to ask its replicas, which are required, has not said it either, and frees it", async () => {
    const world = open();
    const { clock, driver, place, holdfast } = world;
    const lock = holdfast.getLock(NAME);
    await lock.using(() => undefined);
    const refusal = new WaitRefusedError("NOPERM this user may not");
    void driver.next(
      failsOver(place, () => Object.assign(driver, { refusal })),
      "lock-acquire",
    );
    const failure = expect(lock.lock({ leaseMs: 3_600_000 })).rejects.toMatchObject({
      outcomeUnknown: true,
      cause: refusal,
    });
    await clock.advance(4_000);
    await failure;
    expect(fields(world)).toBeUndefined();
  });
});
