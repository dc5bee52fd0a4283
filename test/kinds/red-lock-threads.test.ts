import { describe, expect, test } from "vitest";
import { NotHeldError, QuorumError } from "../../src/errors.js";
import type { Lease } from "../../src/lease.js";
import { deliverLate } from "../support/faults/call-faults.js";
import { watched } from "../support/run/watched.js";
import { type FakeMasters, fakeMasters } from "../support/servers/fake-masters.js";

const LEASE_MS = 30_000;

function restartEmpty({ masters }: FakeMasters, on: readonly number[]): void {
  for (const at of on) masters[at]?.server.flush();
}

describe("a red lock in Redisson's style", () => {
  const open = fakeMasters();

  test("is had in asThread of one of its clients, and released by its lease", async () => {
    const world = open();
    const { red, clients } = world.party();
    await clients[0]?.asThread(async () => {
      const lock = red();
      const lease = await lock.lock();
      expect([lease.state, world.heldOn("a")]).toEqual(["held", [0, 1, 2]]);
      await lease.unlock();
    });
    expect(world.heldOn("a")).toEqual([]);
  });

  test("is entered again with threadId, and left by unlock with the same", async () => {
    const world = open();
    const lock = world.party().red();
    const [first, second] = [await lock.lock({ threadId: 7 }), await lock.tryLock({ threadId: 7 })];
    expect([second?.holdCount, await lock.getHoldCount(7)]).toEqual([2, 2]);
    expect(await lock.tryLock({ threadId: 8 })).toBeNull();
    await lock.unlock(7);
    expect([first.state, second?.state, await lock.getHoldCount(7)]).toEqual(["held", "released", 1]);
    await lock.unlock(7);
    expect([first.state, world.heldOn("a")]).toEqual(["released", []]);
    await expect(lock.unlock(7)).rejects.toThrow(NotHeldError);
  });

  test("takes a restarted server again for the same threadId, and releases it there by that", async () => {
    const world = open();
    const { red, clients } = world.party();
    const lease = await red().lock({ threadId: 7 });
    restartEmpty(world, [0]);
    await world.clock.advance(LEASE_MS / 2);
    expect(world.masters[0]?.fields("a")).toEqual({ [`${clients[0]?.clientId}:7`]: "1" });
    await red().unlock(7);
    await world.clock.advance(100);
    expect([lease.state, world.heldOn("a")]).toEqual(["released", []]);
  });

  test("is released, not lost, by unlock when a minority had been lost before", async () => {
    const world = open();
    const { red, clients } = world.party();
    const lease = await red().lock({ threadId: 7 });
    await clients[2]?.getLock("a").forceUnlock();
    expect(lease.state).toBe("held");
    await red().unlock(7);
    expect([lease.state, lease.signal.aborted]).toEqual(["released", false]);
    await lease.unlock();
    await world.clock.advance(LEASE_MS);
    expect(world.heldOn("a")).toEqual([]);
  });

  test("is released everywhere by unlock in asThread, also where a server was taken again", async () => {
    const world = open();
    const [client] = world.party().clients;
    if (client === undefined) throw new Error("there are three");
    // One client can be asked for several locks: names instead of servers.
    const lock = client.getRedLock(...["a", "b", "c"].map((name) => client.getLock(name)));
    const stored = () => Object.keys(world.masters[0]?.server.dump() ?? {});
    await client.asThread(async () => {
      const lease = await lock.lock();
      world.masters[0]?.server.command("DEL", "b");
      await world.clock.advance(LEASE_MS / 2);
      expect([lease.state, stored().length]).toEqual(["held", 3]);
      await lock.unlock();
      expect(lease.state).toBe("released");
      await world.clock.advance(LEASE_MS / 10);
      expect(stored()).toEqual([]);
    });
  });

  test("is entered again inside its body after every server has restarted once, one after the other", async () => {
    const world = open();
    const lock = world.party().red();
    await lock.using(async (lease) => {
      for (const at of [0, 1, 2]) {
        restartEmpty(world, [at]);
        await world.clock.advance(LEASE_MS / 2);
      }
      expect([lease.state, world.heldOn("a")]).toEqual(["held", [0, 1, 2]]);
      await lock.using((inner) => expect(inner.state).toBe("held"));
    });
    expect(world.heldOn("a")).toEqual([]);
  });

  test.each([1, 2])(
    "is taken again on a server that restarted, in asThread, when it was entered %d times",
    async (times) => {
      const world = open();
      const [client] = world.party().clients;
      if (client === undefined) throw new Error("there are three");
      // The asThread of one client is to be that of all members: names instead of servers.
      const names = ["a", "b", "c"];
      const lock = client.getRedLock(...names.map((name) => client.getLock(name)));
      await client.asThread(async () => {
        const leases: Lease[] = [];
        for (let i = 0; i < times; i++) leases.push(await lock.lock());
        for (const name of ["b", "c"]) {
          world.masters[0]?.server.command("DEL", name);
          await world.clock.advance(LEASE_MS);
          expect(names.filter((other) => world.heldOn(other).includes(0))).toEqual(names);
        }
        expect(leases.map(({ state }) => state)).toEqual(leases.map(() => "held"));
        for (const lease of leases.reverse()) await lease.unlock();
      });
    },
  );

  test("sends nothing when the signal was aborted before", async () => {
    const world = open();
    const { red, drivers } = world.party();
    const signal = AbortSignal.abort("too late");
    await expect(red().lock({ signal })).rejects.toBe("too late");
    await expect(red().tryLock({ signal })).rejects.toBe("too late");
    expect(drivers.flatMap(({ names }) => names)).toEqual([]);
  });
});

describe("a red lock under a chosen id, on three servers of which one is silent by now", () => {
  const open = fakeMasters();
  const SEVEN = { threadId: 7 };

  test("is had at once on the others, though its last lease was lost", async () => {
    const { masters, party, clock } = open();
    const red = party().red();
    const lost = await red.lock({ ...SEVEN, maxHoldMs: 1_000 });
    await clock.advance(1_001);
    expect(lost.state).toBe("lost");
    const [first] = masters;
    if (first === undefined) throw new Error("there are three");
    first.health = "silent";
    const next = watched(red.lock(SEVEN));
    await clock.advance(1_000);
    expect(next.outcome).toMatchObject({ value: { state: "held" } });
  });

  test("is had as soon as the others are free, though its last stay is still being cleaned up there", async () => {
    const { masters, party, clock } = open();
    const [red, others] = [party().red(), party().red()];
    const [first] = masters;
    if (first === undefined) throw new Error("there are three");
    const lease = await red.lock(SEVEN);
    first.health = "silent";
    const released = lease.unlock();
    await clock.advance(4_000);
    await released;
    const taken = others.lock();
    await clock.advance(200);
    const theirs = await taken;
    const next = watched(red.lock(SEVEN));
    await clock.advance(200);
    expect(next.outcome).toBeUndefined();
    const unlocked = theirs.unlock();
    await clock.advance(4_000);
    await unlocked;
    expect(next.outcome).toMatchObject({ value: { state: "held" } });
  });
});

describe("a red lock under a chosen id, whose last stay is still being cleaned up on most servers", () => {
  const open = fakeMasters();

  test("is had when that is done, without a message", async () => {
    const { party, clock, heldOn } = open();
    const { red, drivers } = party();
    const lock = red();
    await lock.isLocked();
    const copies = [0, 1].map(() => deliverLate({ told: true }));
    copies.forEach((copy, at) => void drivers[at]?.next(copy, "lock-acquire"));
    const taken = lock.lock({ threadId: 7 });
    await clock.advance(100);
    await (await taken).unlock();
    const next = watched(lock.lock({ threadId: 7 }));
    await clock.advance(2_000);
    expect([next.outcome, heldOn("a")]).toEqual([undefined, []]);
    await clock.advance(2_500);
    expect(next.outcome).toMatchObject({ value: { state: "held" } });
    for (const copy of copies) await copy.arrive();
    await lock.unlock(7);
  });
});

describe("a red lock under a chosen id, all servers of which are gone", () => {
  const open = fakeMasters();

  test("does not say that somebody else has it, however often it is asked for", async () => {
    const { masters, party, clock } = open();
    const { clients, red } = party();
    for (const client of clients) await client.getLock("acquaintance").isLocked();
    for (const master of masters) master.health = "silent";
    for (let i = 0; i < 3; i++) {
      const call = watched(red().tryLock({ threadId: 7 }));
      await clock.advance(1_000);
      expect(call.outcome).toEqual({ error: expect.any(QuorumError) });
    }
  });
});

/** How long each way to a server takes. */
const FAR_MS = 10;

describe("a red lock under an id of its own that another call of its client is just asking for", () => {
  const open = fakeMasters();

  test.each([
    ["that may not wait", 0],
    ["whose time is up before that is answered", FAR_MS],
  ])("is entered by a call %s, once that one has it [own-113]", async (_, waitMs) => {
    const { clock, masters, party } = open();
    for (const master of masters) master.health = FAR_MS;
    const lock = party().red();
    const first = watched(lock.lock({ threadId: 7 }));
    await clock.advance(1);
    const second = watched(lock.tryLock({ threadId: 7, waitMs }));
    await clock.advance(100);
    expect([first.outcome, second.outcome]).toMatchObject([
      { value: { state: "held" } },
      { value: { holdCount: 2 } },
    ]);
    await Promise.all([lock.unlock(7), lock.unlock(7), clock.advance(100)]);
  });

  test("is told as unavailable, with the reason, when that one has no answer [own-113]", async () => {
    const { clock, masters, party } = open();
    const lock = party().red();
    await lock.isLocked();
    for (const master of masters) master.health = "silent";
    const first = watched(lock.lock({ threadId: 7 }));
    await clock.advance(1_000);
    const second = watched(lock.tryLock({ threadId: 7, waitMs: 100 }));
    await clock.advance(1_000);
    const lastCall = {
      code: "ERR_HOLDFAST_UNAVAILABLE",
      message: expect.stringContaining("the last call of this thread"),
    };
    const error = { code: "ERR_HOLDFAST_QUORUM", failures: [lastCall, lastCall, lastCall] };
    expect([first.outcome, second.outcome]).toMatchObject([
      { error: { code: "ERR_HOLDFAST_QUORUM" } },
      { error },
    ]);
    for (const master of masters) master.health = 0;
  });
});
