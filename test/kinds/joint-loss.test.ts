import { describe, expect, test } from "vitest";
import { NotHeldError } from "../../src/errors.js";
import { fakeMasters } from "../support/fake-masters.js";
import { fakeTime } from "../support/fake-time.js";
import { watchLeaks } from "../support/leaks.js";
import { watched } from "../support/watched.js";

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
});
