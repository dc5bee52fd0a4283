import { describe, expect, test } from "vitest";
import { NotHeldError, QuorumError } from "../../src/errors.js";
import { fencingTokenKey } from "../../src/protocol/names.js";
import { watched } from "../support/run/watched.js";
import { type FakeMasters, fakeMasters } from "../support/servers/fake-masters.js";

const HOUR_MS = 3_600_000;
const CHANNEL = "redisson_lock__channel:{a}";
const JVM = "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:57";

function heldByJvm({ masters }: FakeMasters, on: readonly number[], leaseMs = HOUR_MS): void {
  for (const at of on) {
    masters[at]?.server.command("HSET", "a", JVM, 1);
    masters[at]?.server.command("PEXPIRE", "a", leaseMs);
  }
}

function freedByJvm({ masters }: FakeMasters, on: readonly number[]): void {
  for (const at of on) {
    masters[at]?.server.command("DEL", "a");
    masters[at]?.server.command("PUBLISH", CHANNEL, "0");
  }
}

describe("a red lock", () => {
  const open = fakeMasters();

  test("is held on all servers, excludes others, and leaves nothing [wire-RedissonMultiLockTest]", async () => {
    const world = open();
    const [mine, other] = [world.party().red(), world.party().red()];
    const lease = await mine.lock();
    expect([world.heldOn("a"), lease.state, await mine.isLocked()]).toEqual([[0, 1, 2], "held", true]);
    expect([await other.tryLock(), await other.tryLock()]).toEqual([null, null]);
    expect(world.heldOn("a")).toEqual([0, 1, 2]);
    await lease.unlock();
    await lease.unlock();
    expect([world.heldOn("a"), lease.state, await mine.isLocked()]).toEqual([[], "released", false]);
  });

  test("asks all servers at once: the slowest sets the pace, not the sum of them", async () => {
    const world = open(5);
    const { red, clients } = world.party();
    await Promise.all(clients.map((client) => client.getLock("acquaintance").using(() => undefined)));
    for (const master of world.masters) master.health = 10;
    const call = watched(red().lock());
    await world.clock.advance(20);
    expect(call.outcome).toMatchObject({ value: { state: "held" } });
    for (const master of world.masters) master.health = 0;
    if (call.outcome && "value" in call.outcome) await call.outcome.value.unlock();
  });

  test.each(["dead", "silent"] as const)("is had and released while a minority is %s", async (health) => {
    const world = open(5);
    const lock = world.party().red();
    for (const at of [0, 3]) Object.assign(world.masters[at] ?? {}, { health });
    const call = watched(lock.tryLock());
    await world.clock.advance(60);
    expect(call.outcome).toMatchObject({ value: { state: "held" } });
    expect(world.heldOn("a")).toEqual([1, 2, 4]);
    if (!call.outcome || !("value" in call.outcome)) return;
    const unlocked = watched(call.outcome.value?.unlock() ?? Promise.reject());
    await world.clock.advance(10_000);
    expect([unlocked.outcome, world.heldOn("a")]).toEqual([{ value: undefined }, []]);
  });

  test.each(["dead", "silent"] as const)(
    "throws QuorumError, also in tryLock, when a majority is %s",
    async (health) => {
      const world = open(5);
      const lock = world.party().red();
      for (const at of [0, 1, 2]) Object.assign(world.masters[at] ?? {}, { health });
      for (const call of [watched(lock.tryLock()), watched(lock.lock()), watched(lock.using(() => 1))]) {
        await world.clock.advance(60);
        expect(call.outcome).toEqual({ error: expect.any(QuorumError) });
        expect(call.outcome).toMatchObject({
          error: { code: "ERR_HOLDFAST_QUORUM", wanted: 3, failures: { length: 3 } },
        });
      }
      await world.clock.advance(1_000);
      expect(world.heldOn("a")).toEqual([]);
    },
  );

  test("waits redMemberTimeoutMs for a server, and as long as the client is told to", async () => {
    const world = open();
    const { red, clients } = world.party({ redMemberTimeoutMs: 400 });
    await Promise.all(clients.map((client) => client.getLock("acquaintance").using(() => undefined)));
    Object.assign(world.masters[0] ?? {}, { health: 150 });
    const slow = watched(red().lock());
    await world.clock.advance(300);
    expect([world.heldOn("a"), slow.outcome]).toMatchObject([[0, 1, 2], { value: { state: "held" } }]);
    if (slow.outcome && "value" in slow.outcome) {
      const unlocked = slow.outcome.value.unlock();
      await world.clock.advance(300);
      await unlocked;
    }
    Object.assign(world.masters[0] ?? {}, { health: "silent" });
    const dead = watched(red().tryLock());
    await world.clock.advance(390);
    expect(dead.outcome).toBeUndefined();
    await world.clock.advance(20);
    expect(dead.outcome).toMatchObject({ value: { state: "held" } });
    if (dead.outcome && "value" in dead.outcome) void dead.outcome.value?.unlock();
    await world.clock.advance(10_000);
  });

  test("is woken by the message of a release, long before any lease ends", async () => {
    const world = open();
    heldByJvm(world, [0, 1]);
    const { red, drivers } = world.party({ safetyPeriodMs: HOUR_MS });
    const call = watched(red().lock());
    await world.clock.advance(1_000);
    const asked = drivers.map(({ calls }) => calls.length);
    await world.clock.advance(HOUR_MS / 2);
    expect([call.outcome, world.heldOn("a")]).toEqual([undefined, [0, 1]]);
    expect(drivers.map(({ calls }) => calls.length)).toEqual(asked);
    freedByJvm(world, [1]);
    await world.clock.advance(200);
    expect(call.outcome).toMatchObject({ value: { state: "held" } });
    expect(world.masters.map(({ fields }) => Object.keys(fields("a")).includes(JVM))).toEqual([
      true,
      false,
      false,
    ]);
    freedByJvm(world, [0]);
    if (call.outcome && "value" in call.outcome) await call.outcome.value.unlock();
  });

  test("is asked for again when the leases that stood in the way have ended", async () => {
    const world = open();
    heldByJvm(world, [0, 1], 20_000);
    const call = watched(world.party({ safetyPeriodMs: HOUR_MS }).red().lock());
    await world.clock.advance(19_000);
    expect(call.outcome).toBeUndefined();
    await world.clock.advance(1_500);
    expect(call.outcome).toMatchObject({ value: { state: "held" } });
    if (call.outcome && "value" in call.outcome) await call.outcome.value.unlock();
  });

  test("ends its wait in time and holds nothing then", async () => {
    const world = open();
    heldByJvm(world, [0, 1]);
    const lock = world.party().red();
    const [thrown, refused] = [watched(lock.lock({ waitMs: 500 })), watched(lock.tryLock({ waitMs: 500 }))];
    await world.clock.advance(600);
    expect(thrown.outcome).toMatchObject({
      error: { code: "ERR_HOLDFAST_WAIT_TIMEOUT", obstacle: { holder: JVM, own: false } },
    });
    expect(refused.outcome).toEqual({ value: null });
    expect(world.heldOn("a")).toEqual([0, 1]);
    freedByJvm(world, [0, 1]);
  });

  test("resolves split votes: of many that want it at once, each gets it in its turn", async () => {
    const world = open(5);
    const parties = Array.from({ length: 4 }, () => world.party());
    let [inside, most, visits] = [0, 0, 0];
    const all = parties.map(({ red }) =>
      red().using(async () => {
        inside += 1;
        visits += 1;
        most = Math.max(most, inside);
        await new Promise<void>((resolve) => world.clock.schedule(5, resolve));
        inside -= 1;
      }),
    );
    const done = watched(Promise.all(all));
    for (let i = 0; i < 600 && done.outcome === undefined; i++) await world.clock.advance(50);
    expect([done.outcome && "value" in done.outcome, visits, most]).toEqual([true, 4, 1]);
    expect(world.heldOn("a")).toEqual([]);
  });

  test("succeeds in the next try after one that a single server granted too late [B18]", async () => {
    const world = open();
    const { red, clients } = world.party();
    await Promise.all(clients.map((client) => client.getLock("acquaintance").using(() => undefined)));
    heldByJvm(world, [1, 2]);
    Object.assign(world.masters[0] ?? {}, { health: 40 });
    const failed = watched(red().tryLock());
    await world.clock.advance(60);
    expect(world.heldOn("a")).toContain(0);
    Object.assign(world.masters[0] ?? {}, { health: 0 });
    freedByJvm(world, [1, 2]);
    const retried = watched(red().lock({ waitMs: 10_000 }));
    await world.clock.advance(3_000);
    expect(failed.outcome).toEqual({ value: null });
    expect([world.heldOn("a"), retried.outcome]).toMatchObject([[0, 1, 2], { value: { state: "held" } }]);
    if (retried.outcome && "value" in retried.outcome) await retried.outcome.value.unlock();
  });

  test("passes its options on to every member, and checks them at the door [B34]", async () => {
    const world = open();
    const { red, clients } = world.party();
    const lease = await red().lock({ threadId: 7, leaseMs: 60_000 });
    clients.forEach(({ clientId }, at) => {
      expect(world.masters[at]?.fields("a")).toEqual({ [`${clientId}:7`]: "1" });
      expect(world.masters[at]?.server.command("PTTL", "a")).toBe(60_000);
    });
    expect([await red().isHeldByThread(7), await red().getHoldCount(7)]).toEqual([true, 1]);
    await red().unlock(7);
    expect([world.heldOn("a"), lease.state]).toEqual([[], "released"]);
    await expect(red().lock({ leaseMs: 0 })).rejects.toThrow(RangeError);
    await expect(red().tryLock({ waitMs: -1 })).rejects.toThrow("waitMs");
    await expect(red().lock({ threadId: 2 ** 33 })).rejects.toThrow(NotHeldError);
    expect(() => clients[0]?.getRedLock()).toThrow(new TypeError("a red lock needs at least one lock"));
    expect(world.heldOn("a")).toEqual([]);
  });

  test("answers questions by majority, whatever a minority says or fails to say", async () => {
    const world = open();
    const lock = world.party({ commandTimeoutMs: 1_000 }).red();
    heldByJvm(world, [0]);
    expect([await lock.isLocked(), await lock.remainTimeToLive()]).toEqual([false, -2]);
    heldByJvm(world, [1], 60_000);
    expect([await lock.isLocked(), await lock.remainTimeToLive()]).toEqual([true, 60_000]);
    Object.assign(world.masters[2] ?? {}, { health: "dead" });
    const asked = watched(lock.isLocked());
    await world.clock.advance(2_000);
    expect(asked.outcome).toEqual({ value: true });
    Object.assign(world.masters[1] ?? {}, { health: "dead" });
    const unknown = watched(lock.isLocked());
    await world.clock.advance(2_000);
    expect(unknown.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_UNAVAILABLE" } });
    for (const master of world.masters) master.health = 0;
    expect([await lock.forceUnlock(), world.heldOn("a")]).toEqual([true, []]);
  });

  test("takes locks of any kind: fenced ones draw a token on each server", async () => {
    const world = open();
    const { clients } = world.party();
    const lock = clients[0]?.getRedLock(...clients.map((client) => client.getFencedLock("a")));
    await lock?.using({ leaseMs: 60_000 }, () => {
      for (const { server } of world.masters) {
        expect(server.command("GET", fencingTokenKey("a"))).toBe("1");
        expect(server.command("PTTL", fencingTokenKey("a"))).toBe(-1);
      }
    });
    for (const { server } of world.masters) server.command("DEL", fencingTokenKey("a"));
    expect(lock?.name).toBe("a+a+a");
  });
});
