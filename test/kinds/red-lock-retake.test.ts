import { describe, expect, test } from "vitest";
import { LeaseLostError } from "../../src/errors.js";
import { events } from "../../src/events.js";
import { answerLate, neverDeliver } from "../support/faults/call-faults.js";
import { gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { type FakeMasters, fakeMasters } from "../support/servers/fake-masters.js";
import { got } from "../support/worlds/hand-off-scene.js";

watchLeaks();
const open = fakeMasters();

const LEASE_MS = 30_000;
const HOUR_MS = 3_600_000;
const ALL = [0, 1, 2];

/** A server loses all that it has; the lock is taken there again. */
async function restartEmpty({ clock, masters, heldOn }: FakeMasters, at: number): Promise<void> {
  masters[at]?.server.flush();
  await clock.advance(LEASE_MS / 2);
  expect(heldOn("a")).toEqual(ALL);
}

describe("a red lock, most members of which were taken again", () => {
  test("is released by unlock in asThread, and not taken again", async () => {
    const world = open();
    const [client] = world.party().clients;
    if (client === undefined) throw new Error("there are three");
    // The asThread of one client is to be that of all members: names instead of servers.
    const names = ["a", "b", "c"];
    const lock = client.getRedLock(...names.map((name) => client.getLock(name)));
    const stored = () => names.filter((name) => world.heldOn(name).includes(0));
    await client.asThread(async () => {
      const lease = await lock.lock();
      for (const name of ["b", "c"]) {
        world.masters[0]?.server.command("DEL", name);
        await world.clock.advance(LEASE_MS / 2);
      }
      expect([lease.state, stored()]).toEqual(["held", names]);
      await lock.unlock();
      expect([lease.state, stored()]).toEqual(["released", []]);
      await world.clock.advance(2 * LEASE_MS);
      expect(stored()).toEqual([]);
    });
  });

  test("is entered again inside its body", async () => {
    const world = open();
    const lock = world.party().red();
    await lock.using(async (lease) => {
      for (const at of [1, 2]) await restartEmpty(world, at);
      const inner = watched(lock.using(({ holdCount }) => holdCount));
      await world.clock.advance(1_000);
      expect([lease.state, inner.outcome]).toEqual(["held", { value: 2 }]);
    });
    expect(world.heldOn("a")).toEqual([]);
  });

  test("is entered again, and released, by the threadId of its lease", async () => {
    const world = open();
    const lock = world.party().red();
    const lease = await lock.lock();
    for (const at of [0, 1]) await restartEmpty(world, at);
    const { threadId } = lease;
    expect(await lock.tryLock({ threadId })).toMatchObject({ holdCount: 2 });
    for (const { fields } of world.masters) expect(Object.values(fields("a"))).toEqual(["2"]);
    await lock.unlock(threadId);
    await lock.unlock(threadId);
    expect([lease.state, world.heldOn("a")]).toEqual(["released", []]);
  });

  test("is entered again inside its body, where a member was dead when it began", async () => {
    const world = open();
    const { clients, red } = world.party();
    for (const client of clients) await client.getLock("acquaintance").isLocked();
    const dead = world.masters[2];
    if (dead === undefined) throw new Error("there are three");
    dead.health = "dead";
    const restarted = gate();
    const body = watched(
      red().using(async () => {
        await restarted.opened;
        return red().using(({ holdCount }) => holdCount);
      }),
    );
    await world.clock.advance(300);
    expect(world.heldOn("a")).toEqual([0, 1]);
    dead.health = 0;
    await world.clock.advance(LEASE_MS / 2);
    await restartEmpty(world, 1);
    restarted.open();
    await world.clock.advance(HOUR_MS);
    expect(body.outcome).toEqual({ value: 2 });
  });

  test("aborts its signal as soon as too few of these are left", async () => {
    const world = open();
    const { clock, masters } = world;
    const lease = await world.party().red().lock();
    const [told, lost]: [number[], number[]] = [[], []];
    lease.signal.addEventListener("abort", () => told.push(clock.monotonicMs()));
    for (const at of ALL) await restartEmpty(world, at);
    const onLost = () => void lost.push(clock.monotonicMs());
    events.leaseLost.subscribe(onLost);
    for (const at of [0, 1]) masters[at]?.server.flush();
    await clock.advance(LEASE_MS);
    events.leaseLost.unsubscribe(onLost);
    expect(told).toEqual([lost[1]]);
  });

  test("is given back after maxHoldMs, however often servers have restarted", async () => {
    const world = open();
    const lock = world.party({ watchdogMs: 3_000, fleetWatchdogMs: 3_000 }).red();
    const lease = await lock.lock({ maxHoldMs: 20_000 });
    for (let restarts = 0; restarts < 12; restarts++) {
      world.masters[restarts % 3]?.server.flush();
      await world.clock.advance(1_600);
    }
    expect([lease.state, world.heldOn("a")]).toEqual(["held", ALL]);
    await world.clock.advance(20_000 - 12 * 1_600);
    expect(lease.state).toBe("lost");
    expect(lease.signal.reason).toMatchObject({ reason: "max-hold", heldMs: 20_000 });
  });
});

describe("a red lock that is released", () => {
  test("is given back where it was just being taken again", async () => {
    const world = open();
    const { clients, drivers, red } = world.party();
    const lease = await red().lock();
    await clients[2]?.getLock("a").forceUnlock();
    const late = answerLate();
    const retaken = watched(drivers[2]?.next(late, "lock-acquire") ?? Promise.reject(new Error("no driver")));
    while (retaken.outcome === undefined) await world.clock.advance(10);
    await lease.unlock();
    expect(world.heldOn("a")).toEqual([2]);
    late.arrive();
    await world.clock.advance(10);
    expect(world.heldOn("a")).toEqual([]);
  });

  test("by its owner lock by lock is given back everywhere once most of its locks are", async () => {
    const world = open();
    const { clients, red } = world.party();
    const lease = await red().lock({ threadId: 7 });
    for (const client of clients.slice(0, 2)) await client.getLock("a").unlock(7);
    expect([lease.state, world.heldOn("a")]).toEqual(["released", [2]]);
    await world.clock.advance(LEASE_MS / 10);
    expect(world.heldOn("a")).toEqual([]);
  });
});

test("a red lock that is made shorter while a missing lock is asked for leaves none that outlives it [own-111]", async () => {
  const world = open();
  const { clients, drivers, red } = world.party();
  const lease = await red().lock({ leaseMs: LEASE_MS });
  await clients[2]?.getLock("a").forceUnlock();
  const late = answerLate();
  const retaken = watched(drivers[2]?.next(late, "lock-acquire") ?? Promise.reject(new Error("no driver")));
  while (retaken.outcome === undefined) await world.clock.advance(10);
  await lease.extend(1_000);
  expect(world.heldOn("a")).toEqual(ALL);
  late.arrive();
  await world.clock.advance(1_100);
  expect([lease.state, world.heldOn("a")]).toEqual(["lost", []]);
});

describe("a red lock, one client of which is closed", () => {
  test("is not taken again through that one, which has released it", async () => {
    const world = open();
    const { clients, drivers, red } = world.party();
    const [client, driver] = [clients[1], drivers[1]];
    if (client === undefined || driver === undefined) throw new Error("there are three");
    const lease = await red().lock();
    // Something is under way, so that closing takes a while.
    const met = driver.next(neverDeliver);
    const question = watched(client.getLock("other").isLocked());
    await met;
    const closed = watched(client.close({ releaseHeld: true }));
    for (let ms = 0; ms < LEASE_MS; ms += 500) {
      await world.clock.advance(500);
      expect(world.heldOn("a")).toEqual([0, 2]);
    }
    expect([closed.outcome, question.outcome, lease.state]).toEqual([
      { value: undefined },
      { error: expect.objectContaining({ code: "ERR_HOLDFAST_UNAVAILABLE" }) },
      "held",
    ]);
    await lease.unlock();
  });

  test("is taken again through the others, also when it was named first", async () => {
    const world = open(5);
    const { clients, red } = world.party();
    const lease = await red().lock();
    await clients[0]?.close({ releaseHeld: true });
    world.masters[4]?.server.flush();
    await world.clock.advance(LEASE_MS / 2);
    expect([lease.state, world.heldOn("a")]).toEqual(["held", [1, 2, 3, 4]]);
    await lease.unlock();
  });
});

describe("in the body of a red lock, a call for a member that is just being taken", () => {
  /** Calls when the server that was away has given its lock, before the answer is here. */
  async function callWhileTaken(away: "from the start" | "by a restart") {
    const world = open();
    const { masters, clock, party } = world;
    for (const master of masters) master.health = 10;
    const { clients, drivers, red } = party();
    const [[master], [client], [driver]] = [masters, clients, drivers];
    if (master === undefined || client === undefined || driver === undefined)
      throw new Error("there are three");
    if (away === "from the start") master.health = "dead";
    const { opened, open: go } = gate();
    const member = client.getLock("a");
    const calls: unknown[] = [];
    const body = watched(
      red().using(async (lease) => {
        await opened;
        calls.push(await member.using(() => "entered").catch((error: unknown) => error));
        await new Promise<void>((resolve) => void clock.schedule(LEASE_MS / 2, resolve));
        calls.push(await member.using(() => "entered"));
        return lease.state;
      }),
    );
    await clock.advance(200);
    const asked = () => driver.names.filter((name) => name === "lock-acquire").length;
    const before = asked();
    if (away === "from the start") master.health = 10;
    else master.server.flush();
    while (asked() === before) await clock.advance(1);
    await clock.advance(5);
    expect(world.heldOn("a")).toEqual(ALL);
    go();
    await clock.advance(LEASE_MS);
    return { outcome: body.outcome, calls };
  }

  test.each(["from the start", "by a restart"] as const)(
    "does not wait for its own lease, and enters once it is there (away %s)",
    async (away) => {
      expect(await callWhileTaken(away)).toEqual({
        outcome: { value: "held" },
        calls: [expect.any(LeaseLostError), "entered"],
      });
    },
  );
});

describe("in the body of a red lock, a call for the other half of a member that is just being taken", () => {
  test.each([
    ["writeLock", "readLock", "write-acquire"],
    ["readLock", "writeLock", "read-acquire"],
  ] as const)("does not wait for its own lease (%s, %s)", async (half, other, script) => {
    const { masters, clock, party, heldOn } = open();
    for (const master of masters) master.health = 10;
    const { clients, drivers } = party();
    const [[master], [client], [driver]] = [masters, clients, drivers];
    if (master === undefined || client === undefined || driver === undefined)
      throw new Error("there are three");
    master.health = "dead";
    const { opened, open: go } = gate();
    const lock = client.getRedLock(...clients.map((one) => one.getReadWriteLock("a")[half]()));
    const body = watched(
      lock.using(async () => {
        await opened;
        await client.getReadWriteLock("a")[other]().lock();
      }),
    );
    await clock.advance(200);
    const asked = () => driver.names.filter((name) => name === script).length;
    const before = asked();
    master.health = 10;
    while (asked() === before) await clock.advance(1);
    await clock.advance(5);
    expect(heldOn("a")).toEqual(ALL);
    go();
    await clock.advance(LEASE_MS);
    expect(body.outcome).toEqual({ error: expect.any(LeaseLostError) });
  });
});

test("with reentry explicit, a call in the body of a red lock for a member that is missing is a stranger's", async () => {
  const { masters, clock, party } = open();
  const { clients } = party();
  for (const client of clients) await client.getLock("acquaintance").isLocked();
  const [[master], [client]] = [masters, clients];
  if (master === undefined || client === undefined) throw new Error("there are three");
  master.health = "dead";
  const settings = { reentry: "explicit" } as const;
  const lock = client.getRedLock(...clients.map((one) => one.getLock("a", settings)));
  const body = watched(
    lock.using(async () => {
      master.health = 0;
      return client.getLock("a", settings).using(() => "entered");
    }),
  );
  await clock.advance(1_000);
  expect(body.outcome).toEqual({ value: "entered" });
});

test("a red lock whose lease was made longer asks for what is missing in the pace of that", async () => {
  const world = open();
  const [first] = world.masters;
  if (first === undefined) throw new Error("there are three");
  first.health = "dead";
  const taken = watched(world.party().red().lock({ leaseMs: LEASE_MS }));
  await world.clock.advance(LEASE_MS / 10);
  const lease = got(taken);
  await lease.extend(HOUR_MS);
  await world.clock.advance(LEASE_MS);
  first.health = 0;
  await world.clock.advance(HOUR_MS / 20 - 2 * LEASE_MS);
  expect([lease.state, world.heldOn("a")]).toEqual(["held", [1, 2]]);
  await world.clock.advance(HOUR_MS / 20);
  expect(world.heldOn("a")).toEqual(ALL);
  await lease.unlock();
});
