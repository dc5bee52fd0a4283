import { describe, expect, test } from "vitest";
import type { Clock } from "../../src/clock.js";
import { LeaseLostError, NotHeldError } from "../../src/errors.js";
import { answerLate } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { fakeMasters } from "../support/servers/fake-masters.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();

const LEASE_MS = 30_000;

describe("a multi lease that is lost with one member, and kept", () => {
  const open = fakeTime();

  test("leaves the others to the next one when their leases have run out", async () => {
    const time = open();
    const lock = time.holdfast.getMultiLock(time.holdfast.getLock("a"), time.holdfast.getLock("b"));
    const lease = await lock.lock();
    time.server.command("DEL", "a");
    await time.clock.advance(LEASE_MS / 3 + 1_000);
    expect([lease.state, Object.keys(time.server.dump())]).toEqual(["lost", ["b"]]);
    const next = watched(time.connect().holdfast.getLock("b").lock());
    await time.clock.advance(LEASE_MS);
    expect(next.outcome).toMatchObject({ value: { state: "held" } });
    await expect(lease.unlock()).rejects.toThrow(NotHeldError);
    expect(Object.keys(time.fields("b"))).toHaveLength(1);
  });

  test("takes nothing from a hold around it of one of the others", async () => {
    const time = open();
    const [a, b] = [time.holdfast.getLock("a"), time.holdfast.getLock("b")];
    await b.using(async (outer) => {
      const lease = await time.holdfast.getMultiLock(a, b).lock();
      time.server.command("DEL", "a");
      await time.clock.advance(10 * LEASE_MS);
      expect([lease.state, outer.state]).toEqual(["lost", "held"]);
      await expect(lease.unlock()).rejects.toThrow(NotHeldError);
      expect(Object.values(time.fields("b"))).toEqual(["1"]);
    });
  });

  test("is told by the release that finds it lost as its signal tells it [own-41]", async () => {
    const time = open();
    const lease = await time.holdfast
      .getMultiLock(time.holdfast.getLock("a"), time.holdfast.getLock("b"))
      .lock();
    const { signal } = lease;
    time.server.command("DEL", "b");
    const error = await lease.unlock().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NotHeldError);
    expect(error).toMatchObject({ lockName: "a+b", cause: { lockName: "a+b", reason: "stolen" } });
    expect(error).toHaveProperty("cause", signal.reason);
  });
});

describe("a multi lease whose members end one shortly after the other, while it looks at them", () => {
  const open = fakeTime();
  const APART_MS = 1;

  /** Time passes with each look at the clock, when it is told to. */
  function tickingClock(clock: Clock): Clock & { tickMs: number } {
    let passedMs = 0;
    return {
      tickMs: 0,
      monotonicMs() {
        passedMs += this.tickMs;
        return clock.monotonicMs() + passedMs;
      },
      wallMs: () => clock.wallMs() + passedMs,
      schedule: (delayMs, callback, keepAlive) => clock.schedule(delayMs, callback, keepAlive),
    };
  }

  async function endingSoon({ clock, connect }: FakeTime) {
    const ticking = tickingClock(clock);
    const [first, second] = [connect({ clock: ticking }), connect({ clock: ticking })];
    const late = answerLate();
    void first.driver.next(late, "lock-acquire");
    const lock = first.holdfast.getMultiLock(first.holdfast.getLock("a"), second.holdfast.getLock("b"));
    const taken = lock.lock({ leaseMs: LEASE_MS });
    await clock.advance(APART_MS);
    late.arrive();
    const lease = await taken;
    await clock.advance(lease.remainingMs() - APART_MS / 2);
    return { lease, ticking };
  }

  test("is lost once, and tells so", async () => {
    for (let tickMs = 0.1; tickMs < 1; tickMs += 0.01) {
      const { lease, ticking } = await endingSoon(open());
      const { signal } = lease;
      ticking.tickMs = tickMs;
      while (lease.remainingMs() > 0);
      expect(signal.reason, `${tickMs} ms a look`).toBeInstanceOf(LeaseLostError);
      expect(() => lease.assertHeld()).toThrow(signal.reason);
    }
  });

  test("tells so whoever asked for its signal in that very moment, and no more", async () => {
    for (let tickMs = 0.02; tickMs < 0.5; tickMs += 0.002) {
      const time = open();
      const { lease, ticking } = await endingSoon(time);
      ticking.tickMs = tickMs;
      const { signal } = lease;
      ticking.tickMs = 0;
      await time.clock.advance(2 * APART_MS);
      expect(signal.aborted, `${tickMs} ms a look`).toBe(true);
      expect(lease.state).toBe("lost");
    }
  });
});

describe("a red lease that is lost with its majority, and kept", () => {
  const open = fakeMasters();

  test("leaves the rest to the next one when its lease has run out", async () => {
    const world = open();
    const lease = await world.party().red().lock();
    for (const at of [0, 1]) world.masters[at]?.server.flush();
    await world.clock.advance(LEASE_MS / 3 + 1_000);
    expect([lease.state, world.heldOn("a")]).toEqual(["lost", [2]]);
    await world.clock.advance(LEASE_MS);
    expect(world.heldOn("a")).toEqual([]);
    await expect(lease.unlock()).rejects.toThrow(NotHeldError);
  });

  test("is told for the reason of the one with which it was lost, though a clock has ended another in that moment [own-79]", async () => {
    const world = open();
    const [unreachable] = world.masters;
    const party = world.party();
    const lease = await party.red().lock();
    if (unreachable !== undefined) unreachable.health = "silent";
    await world.clock.advance(LEASE_MS - 1_000);
    const { signal } = lease;
    world.clock.suspend(900);
    const closed = party.clients.map((client) => client.close({ graceMs: 0, releaseHeld: false }));
    await world.clock.advance(0);
    expect(signal.reason).toMatchObject({ reason: "closed", heldMs: LEASE_MS - 1_000 });
    await world.clock.advance(LEASE_MS);
    await Promise.all(closed);
  });
});
