import { describe, expect, test } from "vitest";
import { events } from "../../src/events.js";
import { Holdfast } from "../../src/holdfast.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";
import type { PingOptions } from "../../src/ping.js";
import { type CallFault, ScriptedDriver } from "../support/drivers/scripted-driver.js";
import { loseReply, neverDeliver } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { until } from "../support/run/until.js";
import { watched } from "../support/run/watched.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const redis = locksOnRedis();
const open = fakeTime();
endRecordings();

/** The way there takes so long, and the way back; the server's clock is ahead by a second. */
function slow({ clock }: FakeTime, thereMs: number, backMs: number, aheadMs = 1_000): CallFault {
  const pause = (ms: number) => new Promise<void>((resolve) => clock.schedule(ms, resolve));
  return {
    name: "slow",
    async meet(deliver) {
      await pause(thereMs);
      const [serverMs, ...rest] = (await deliver()) as [number];
      await pause(backMs);
      return [serverMs + aheadMs, ...rest];
    },
  };
}

/** One server behind what looks like a cluster. */
function cluster(placeOf: (key: string) => string): {
  readonly clock: FakeClock;
  readonly driver: ScriptedDriver;
} {
  const clock = new FakeClock();
  const inner = memoryDriver(new MemoryServer({ clock }));
  const driver = new ScriptedDriver({
    traits: { server: "redis+cluster://a:1", topology: "cluster" },
    resets: 0,
    placeOf,
    run: (call, ticket) => inner.run(call, ticket),
    subscribe: (channel, listener) => inner.subscribe(channel, listener),
    close: () => inner.close(),
  });
  return { clock, driver };
}

async function closedOn(clock: FakeClock, holdfast: Holdfast): Promise<void> {
  const closed = holdfast.close();
  await clock.advance(10_000);
  await closed;
}

describe("ping", () => {
  test("tells how long the answer took, and how far the server's clock is ahead in the middle of that", async () => {
    const time = open();
    await time.holdfast.getLock("a").isLocked();
    void time.driver.next(slow(time, 30, 30), "server-probe");
    const pinged = watched(time.holdfast.ping());
    await time.clock.advance(60);
    expect(pinged.outcome).toEqual({
      value: { server: time.server.name, rttMs: 60, clockOffsetMs: 1_000, version: "7.2.0" },
    });
  });

  test("asks anew each time [P7]", async () => {
    const time = open();
    await time.holdfast.getLock("a").isLocked();
    const before = time.driver.names.length;
    for (let times = 0; times < 3; times += 1) await time.holdfast.ping();
    expect(time.driver.names.slice(before)).toEqual(["server-probe", "server-probe", "server-probe"]);
  });

  test("is given up after timeoutMs, which is the client's commandTimeoutMs otherwise", async () => {
    const time = open({ commandTimeoutMs: 2_000 });
    await time.holdfast.getLock("a").isLocked();
    for (const [options, timeoutMs] of [
      [{ timeoutMs: 50 }, 50],
      [{}, 2_000],
    ] as const) {
      void time.driver.next(neverDeliver, "server-probe");
      const pinged = watched(time.holdfast.ping(options));
      await time.clock.advance(timeoutMs - 1);
      expect(pinged.outcome).toBeUndefined();
      await time.clock.advance(1);
      expect(pinged.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_UNAVAILABLE" } });
    }
  });

  test("is cancelled by its signal, before it is sent as well, and by close", async () => {
    const time = open();
    await time.holdfast.getLock("a").isLocked();
    const gone = new Error("gone");
    const before = time.driver.names.length;
    await expect(time.holdfast.ping({ signal: AbortSignal.abort(gone) })).rejects.toBe(gone);
    expect(time.driver.names).toHaveLength(before);
    const controller = new AbortController();
    void time.driver.next(neverDeliver, "server-probe");
    const cancelled = watched(time.holdfast.ping({ signal: controller.signal }));
    controller.abort(gone);
    await time.clock.advance(0);
    expect(cancelled.outcome).toEqual({ error: gone });
    void time.driver.next(neverDeliver, "server-probe");
    const closedOver = watched(time.holdfast.ping());
    const closed = watched(time.holdfast.close());
    await time.clock.advance(10_000);
    expect(closed.outcome).toEqual({ value: undefined });
    expect(closedOver.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_CLOSED" } });
    await expect(time.holdfast.ping()).rejects.toMatchObject({ code: "ERR_HOLDFAST_CLOSED" });
  });

  test.each<[string, unknown, RegExp]>([
    [
      "an unknown option",
      { timeout: 5 },
      /no option "timeout" of ping: timeoutMs, signal\. Did you mean timeoutMs/,
    ],
    ["no object", 5, /options must be an object/],
    ["text", { timeoutMs: "5" }, /timeoutMs must be a number/],
    ["no time at all", { timeoutMs: 0 }, /timeoutMs must be a whole number of milliseconds from 1/],
    ["no signal", { signal: {} }, /signal must be an AbortSignal/],
  ])("refuses %s, and sends nothing", async (_, options, message) => {
    const { holdfast, driver } = open();
    await expect(holdfast.ping(options as PingOptions)).rejects.toThrow(message);
    expect(driver.names).toEqual([]);
  });

  test("asks in a cluster the server that has the client's id as a name, by its mapped key", async () => {
    const { clock, driver } = cluster(() => "10.0.0.7:6379");
    const holdfast = new Holdfast(driver, { clock, nameMapper: (name) => `app:${name}` });
    expect(await holdfast.ping()).toMatchObject({ server: "10.0.0.7:6379" });
    expect(driver.calls.map(({ call }) => call.keys)).toEqual([
      [`app:${holdfast.clientId}`],
      [`app:${holdfast.clientId}`],
    ]);
    await closedOn(clock, holdfast);
  });

  test("is answered by a real server, and rejects when there is none", async () => {
    const { server, rttMs, clockOffsetMs, version } = await redis.holdfast().ping();
    expect(server).toBe(`redis://127.0.0.1:${redis.server.port}/0`);
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(rttMs).toBeGreaterThan(0);
    expect(Math.abs(clockOffsetMs)).toBeLessThanOrEqual(Math.ceil(rttMs / 2) + 1);
  });
});

/** A server that answers a probe so. */
function probed(policy: string | null, role: string | null, memory: string | null): CallFault {
  return {
    name: "probed",
    async meet(deliver) {
      const [serverMs, version, sharded] = (await deliver()) as [number, string, number];
      return [serverMs, version, sharded, policy, role, memory];
    },
  };
}

describe("holdfast:server:unsuited", () => {
  test("tells once of each fault of a server that evicts keys and is a replica", async () => {
    const time = open();
    const heard = recorded(events.serverUnsuited);
    for (let times = 0; times < 2; times += 1) {
      void time.driver.next(probed("allkeys-lru", "slave", "1048576"), "server-probe");
      await time.holdfast.ping();
      void time.driver.next(probed("allkeys-lru", "slave", "1048576"), "server-probe");
    }
    const { clientId } = time.holdfast;
    const { name } = time.server;
    expect(heard).toEqual([
      { clientId, server: name, what: "evicts", found: "maxmemory-policy allkeys-lru, maxmemory 1048576" },
      { clientId, server: name, what: "is-replica", found: "role slave" },
    ]);
  });

  test.each([
    ["volatile-lru", "0", "maxmemory-policy volatile-lru, maxmemory not set"],
    ["volatile-lru", null, "maxmemory-policy volatile-lru"],
  ])("says what was found: %s, maxmemory %s", async (policy, memory, found) => {
    const time = open();
    const heard = recorded(events.serverUnsuited);
    void time.driver.next(probed(policy, "master", memory), "server-probe");
    await time.holdfast.getLock("a").isLocked();
    expect(heard).toMatchObject([{ what: "evicts", found }]);
  });

  test("tells nothing of a server that is suited, or does not tell", async () => {
    const time = open();
    const heard = recorded(events.serverUnsuited);
    await time.holdfast.ping();
    void time.driver.next(probed(null, null, null), "server-probe");
    await time.holdfast.ping();
    expect(heard).toEqual([]);
  });

  test("tells a subscriber that comes later when the server is asked again", async () => {
    const time = open();
    void time.driver.next(probed("allkeys-lru", "master", "0"), "server-probe");
    await time.holdfast.getLock("a").isLocked();
    const heard = recorded(events.serverUnsuited);
    await time.holdfast.getLock("a").isLocked();
    expect(heard).toEqual([]);
    void time.driver.next(probed("allkeys-lru", "master", "0"), "server-probe");
    await time.holdfast.ping();
    expect(heard).toHaveLength(1);
  });

  test("tells of each server that is met, by its place [P11]", async () => {
    const { clock, driver } = cluster((key) => `server of ${key}`);
    const holdfast = new Holdfast(driver, { clock });
    const heard = recorded(events.serverUnsuited);
    for (const name of ["a", "b", "a"]) {
      if (name === "b" || heard.length === 0)
        void driver.next(probed("noeviction", "slave", "0"), "server-probe");
      await holdfast.getLock(name).isLocked();
    }
    expect(heard.map(({ server }) => server)).toEqual(["server of a", "server of b"]);
    await closedOn(clock, holdfast);
  });

  test("tells of a cluster once where its client names slots and no servers", async () => {
    const { clock, driver } = cluster((key) => String(key.length));
    const holdfast = new Holdfast(driver, { clock });
    const heard = recorded(events.serverUnsuited);
    for (const name of ["a", "bc"]) {
      void driver.next(probed("noeviction", "slave", "0"), "server-probe");
      await holdfast.getLock(name).isLocked();
    }
    expect(heard.map(({ server }) => server)).toEqual([driver.traits.server]);
    expect((await holdfast.ping()).server).toBe(driver.traits.server);
    await closedOn(clock, holdfast);
  });

  test("asks a server again after a lost connection, beside the call, and tells what is behind its address by then [P11-1]", async () => {
    const time = open();
    const lock = time.holdfast.getLock("a");
    await lock.isLocked();
    const heard = recorded(events.serverUnsuited);
    void time.driver.next(loseReply, "lock-inspect");
    void time.driver.next(probed("noeviction", "slave", "0"), "server-probe");
    const before = time.driver.names.length;
    const looked = watched(lock.isLocked());
    await time.clock.advance(1_000);
    expect(looked.outcome).toEqual({ value: false });
    expect(heard).toMatchObject([{ server: time.server.name, what: "is-replica", found: "role slave" }]);
    await lock.isLocked();
    const names = ["lock-inspect", "lock-inspect", "server-probe", "lock-inspect"];
    expect(time.driver.names.slice(before)).toEqual(names);
  });

  test("does not ask again where nobody listens", async () => {
    const time = open();
    const lock = time.holdfast.getLock("a");
    await lock.isLocked();
    void time.driver.next(loseReply, "lock-inspect");
    const before = time.driver.names.length;
    const looked = watched(lock.isLocked());
    await time.clock.advance(1_000);
    expect(looked.outcome).toEqual({ value: false });
    expect(time.driver.names.slice(before)).toEqual(["lock-inspect", "lock-inspect"]);
  });

  test("is told by a real server that has become a replica when its client connects again", async () => {
    const holdfast = redis.holdfast();
    const lock = holdfast.getLock("a");
    await lock.isLocked();
    const heard = recorded(events.serverUnsuited);
    await redis.plain.replicaof("127.0.0.1", 1);
    try {
      await redis.plain.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      // The answer to a call that the Redis client has sent again does not tell the time.
      await until(async () => {
        await lock.isLocked();
        return heard.length > 0;
      });
      expect(heard).toMatchObject([{ clientId: holdfast.clientId, what: "is-replica", found: "role slave" }]);
    } finally {
      await redis.plain.call("REPLICAOF", "NO", "ONE");
    }
  });

  test("is told by a real server that is a replica", async () => {
    const heard = recorded(events.serverUnsuited);
    // No server is there: it stays a replica without a master.
    await redis.plain.replicaof("127.0.0.1", 1);
    try {
      await redis.holdfast().ping();
      expect(heard).toMatchObject([{ what: "is-replica", found: "role slave" }]);
    } finally {
      await redis.plain.call("REPLICAOF", "NO", "ONE");
    }
  });

  test("is told by a real server whose policy evicts", async () => {
    const heard = recorded(events.serverUnsuited);
    await redis.plain.config("SET", "maxmemory-policy", "allkeys-lfu");
    try {
      const holdfast = redis.holdfast();
      await holdfast.ping();
      expect(heard).toEqual([
        {
          clientId: holdfast.clientId,
          server: `redis://127.0.0.1:${redis.server.port}/0`,
          what: "evicts",
          found: "maxmemory-policy allkeys-lfu, maxmemory not set",
        },
      ]);
    } finally {
      await redis.plain.config("SET", "maxmemory-policy", "noeviction");
    }
  });
});
