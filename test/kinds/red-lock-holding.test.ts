import { describe, expect, test } from "vitest";
import { LeaseLostError, NotHeldError, ReentryError } from "../../src/errors.js";
import { gate } from "../support/run/gate.js";
import { watched } from "../support/run/watched.js";
import { type FakeMasters, fakeMasters, type Health } from "../support/servers/fake-masters.js";

const HOUR_MS = 3_600_000;
const LEASE_MS = 30_000;

function setHealth({ masters }: FakeMasters, on: readonly number[], health: Health): void {
  for (const at of on) Object.assign(masters[at] ?? {}, { health });
}

function restartEmpty({ masters }: FakeMasters, on: readonly number[]): void {
  for (const at of on) masters[at]?.server.flush();
}

describe("a red lock that is held", () => {
  const open = fakeMasters();

  test("is renewed everywhere for as long as it is held", async () => {
    const world = open();
    const lease = await world.party().red().lock();
    const { signal } = lease;
    await world.clock.advance(HOUR_MS);
    expect([lease.state, signal.aborted, world.heldOn("a")]).toEqual(["held", false, [0, 1, 2]]);
    await lease.unlock();
  });

  test.each(["dead", "silent"] as const)("stays held for ever while a minority is %s", async (health) => {
    const world = open(5);
    const lease = await world.party().red().lock();
    const { signal } = lease;
    setHealth(world, [0, 1], health);
    await world.clock.advance(10 * LEASE_MS);
    expect([lease.state, signal.aborted, lease.remainingMs() > 0]).toEqual(["held", false, true]);
    const rival = watched(world.party().red().tryLock());
    await world.clock.advance(300);
    expect(rival.outcome).toEqual({ value: null });
    const unlocked = watched(lease.unlock());
    await world.clock.advance(4_000);
    expect(unlocked.outcome).toEqual({ value: undefined });
    setHealth(world, [0, 1], 0);
    await world.clock.advance(LEASE_MS);
    expect(world.heldOn("a")).toEqual([]);
  });

  test.each(["dead", "silent"] as const)(
    "is lost at the end of its window when a majority is %s, and says that it could not be renewed",
    async (health) => {
      const world = open(5);
      const lease = await world.party().red().lock();
      const { signal } = lease;
      setHealth(world, [0, 1], health);
      await world.clock.advance(LEASE_MS);
      expect(lease.state).toBe("held");
      setHealth(world, [2], health);
      const endMs = world.clock.monotonicMs() + lease.remainingMs();
      const lost: number[] = [];
      signal.addEventListener("abort", () => lost.push(world.clock.monotonicMs()));
      await world.clock.advance(LEASE_MS);
      expect(lost).toEqual([endMs]);
      expect([lease.state, signal.aborted, lease.remainingMs()]).toEqual(["lost", true, 0]);
      expect(signal.reason).toBeInstanceOf(LeaseLostError);
      expect(signal.reason).toMatchObject({ reason: "unreachable", lockName: "a+a+a+a+a" });
      // A majority that comes back changes nothing any more.
      setHealth(world, [0, 1, 2], 0);
      await world.clock.advance(LEASE_MS);
      expect([lease.state, world.heldOn("a").length < 5]).toEqual(["lost", true]);
      await expect(lease.unlock()).rejects.toThrow(NotHeldError);
      await world.clock.advance(LEASE_MS);
      expect(world.heldOn("a")).toEqual([]);
    },
  );

  test("takes a server that has restarted empty again, so that the next failure does not end it [R16]", async () => {
    const world = open(5);
    const lease = await world.party().red().lock();
    for (const at of [0, 1, 2, 3, 4]) {
      restartEmpty(world, [at]);
      expect(world.heldOn("a")).toHaveLength(4);
      await world.clock.advance(LEASE_MS / 2);
      expect([lease.state, world.heldOn("a")]).toEqual(["held", [0, 1, 2, 3, 4]]);
    }
    await lease.unlock();
    expect(world.heldOn("a")).toEqual([]);
  });

  test("takes a server again that was dead when it was acquired [R16]", async () => {
    const world = open();
    setHealth(world, [2], "dead");
    const call = watched(world.party().red().lock());
    await world.clock.advance(300);
    expect(world.heldOn("a")).toEqual([0, 1]);
    setHealth(world, [2], 0);
    await world.clock.advance(15_000);
    expect([call.outcome, world.heldOn("a")]).toMatchObject([{ value: { state: "held" } }, [0, 1, 2]]);
    if (call.outcome && "value" in call.outcome) await call.outcome.value.unlock();
    await world.clock.advance(LEASE_MS);
    expect(world.heldOn("a")).toEqual([]);
  });

  test("keeps a second holder out while the servers that still have it are a majority [R16]", async () => {
    const world = open(5);
    const lease = await world.party().red().lock();
    restartEmpty(world, [0, 1]);
    const rival = world.party().red();
    expect(await rival.tryLock()).toBeNull();
    const waiting = watched(rival.lock());
    await world.clock.advance(2 * LEASE_MS);
    expect([waiting.outcome, lease.state, world.heldOn("a")]).toEqual([undefined, "held", [0, 1, 2, 3, 4]]);
    await lease.unlock();
    await world.clock.advance(500);
    expect(waiting.outcome).toMatchObject({ value: { state: "held" } });
    if (waiting.outcome && "value" in waiting.outcome) await waiting.outcome.value.unlock();
  });

  test("hears of its loss at the next renewal when a majority has restarted empty [R16]", async () => {
    const world = open(5);
    const lease = await world.party().red().lock();
    const { signal } = lease;
    restartEmpty(world, [0, 1, 2]);
    await world.clock.advance(LEASE_MS / 3 + 200);
    expect([signal.aborted, lease.state]).toEqual([true, "lost"]);
    expect(signal.reason).toMatchObject({ reason: "stolen" });
    await expect(lease.unlock()).rejects.toThrow(NotHeldError);
  });

  test("has a fixed end with leaseMs, which no server that is taken later prolongs", async () => {
    const world = open();
    setHealth(world, [2], "dead");
    const call = watched(world.party().red().lock({ leaseMs: 10_000 }));
    await world.clock.advance(1_000);
    expect(world.heldOn("a")).toEqual([0, 1]);
    setHealth(world, [2], 0);
    await world.clock.advance(8_000);
    expect([call.outcome, world.heldOn("a")]).toMatchObject([{ value: { state: "held" } }, [0, 1, 2]]);
    await world.clock.advance(1_010);
    expect([call.outcome, world.heldOn("a")]).toMatchObject([{ value: { state: "lost" } }, []]);
    if (!call.outcome || !("value" in call.outcome)) return;
    expect(call.outcome.value.signal.reason).toMatchObject({ reason: "expired" });
    await expect(call.outcome.value.unlock()).rejects.toThrow(NotHeldError);
  });

  test("is lost when maxHoldMs is over, also where a server was taken again", async () => {
    const world = open();
    const lease = await world.party().red().lock({ maxHoldMs: 60_000 });
    const { signal } = lease;
    restartEmpty(world, [0]);
    await world.clock.advance(59_000);
    expect([lease.state, world.heldOn("a")]).toEqual(["held", [0, 1, 2]]);
    await world.clock.advance(1_000);
    expect(signal.reason).toMatchObject({ reason: "max-hold" });
    await world.clock.advance(LEASE_MS);
    expect(world.heldOn("a")).toEqual([]);
  });

  test("is released though a minority is not there to hear it, and rejects when a majority is not [wire-L21]", async () => {
    const world = open();
    const party = world.party({ commandTimeoutMs: 1_000 });
    const [first, second] = [await party.red().lock(), await party.red("b").lock()];
    restartEmpty(world, [0]);
    await first.unlock();
    expect(world.heldOn("a")).toEqual([]);
    setHealth(world, [0, 1], "dead");
    const failed = watched(second.unlock());
    await world.clock.advance(2_000);
    expect(failed.outcome).toHaveProperty("error");
    expect(world.heldOn("b")).toEqual([1]);
    setHealth(world, [0, 1], 0);
    await world.clock.advance(LEASE_MS);
    expect(world.heldOn("b")).toEqual([]);
  });

  test("that has expired is told as lost by its release: one command for each server, and no second [B16]", async () => {
    const world = open(5);
    const { red, drivers } = world.party();
    const lease = await red().lock({ leaseMs: 1_000 });
    await world.clock.advance(2_000);
    for (const { calls } of drivers) calls.length = 0;
    const call = watched(lease.unlock());
    await world.clock.advance(0);
    expect(call.outcome).toMatchObject({
      error: { code: "ERR_HOLDFAST_NOT_HELD", lockName: "a+a+a+a+a", cause: { reason: "expired" } },
    });
    await world.clock.advance(2 * LEASE_MS);
    expect(drivers.map(({ names }) => names)).toEqual(drivers.map(() => ["lock-release"]));
  });

  test("is entered again inside its body, by a majority that is there", async () => {
    const world = open();
    const lock = world.party().red();
    await lock.using(async () => {
      await lock.using(async (inner) => {
        expect([inner.holdCount, await lock.getHoldCount()]).toEqual([2, 2]);
      });
      expect([await lock.getHoldCount(), await lock.isHeldByCurrentThread()]).toEqual([1, true]);
      restartEmpty(world, [2]);
      await lock.using(async (inner) => expect(inner.state).toBe("held"));
    });
    await world.clock.advance(1_000);
    expect(world.heldOn("a")).toEqual([]);
  });

  test("refuses re-entry of members of a non-reentrant kind", async () => {
    const world = open();
    const { clients } = world.party();
    const lock = clients[0]?.getRedLock(...clients.map((client) => client.getNonReentrantLock("a")));
    await lock?.using(async () => {
      await expect(lock.tryLock()).rejects.toThrow(ReentryError);
      await expect(lock.lock()).rejects.toThrow(ReentryError);
    });
    expect(world.heldOn("a")).toEqual([]);
  });

  test("lets siblings inside it enter one after the other", async () => {
    const world = open();
    const lock = world.party().red();
    const leave = gate();
    const visits: string[] = [];
    const outer = watched(
      lock.using(() =>
        Promise.all([
          lock.using(async () => {
            await leave.opened;
            visits.push("first");
          }),
          lock.using(() => visits.push("second")),
          lock.using(() => visits.push("third")),
        ]),
      ),
    );
    await world.clock.advance(100);
    expect(visits).toEqual([]);
    leave.open();
    await world.clock.advance(1_000);
    expect(visits).toEqual(["first", "second", "third"]);
    expect(outer.outcome).toHaveProperty("value");
  });

  test("is lost when the clients of a majority are closed, and held when that of a minority is", async () => {
    const world = open();
    const { red, clients } = world.party();
    const lease = await red().lock();
    const { signal } = lease;
    await clients[1]?.close({ releaseHeld: true });
    expect([lease.state, world.heldOn("a")]).toEqual(["held", [0, 2]]);
    await clients[2]?.close({ releaseHeld: true });
    expect([lease.state, signal.reason]).toMatchObject(["lost", { reason: "closed" }]);
    await expect(lease.unlock()).rejects.toThrow(NotHeldError);
  });
});
