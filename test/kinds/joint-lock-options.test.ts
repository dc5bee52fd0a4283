import { describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import { watched } from "../support/run/watched.js";
import { type FakeMasters, fakeMasters } from "../support/servers/fake-masters.js";

const HOUR_MS = 3_600_000;
const LEASE_MS = 30_000;
const JVM = "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:57";

const locksOf = (clients: readonly Holdfast[]): Lock[] => clients.map((client) => client.getLock("a"));

interface Kind {
  readonly kind: string;
  of(clients: readonly Holdfast[]): Lock | undefined;
  /** Servers that keep it out while somebody else has their lock; each of the three is among them. */
  readonly obstacles: readonly (readonly number[])[];
}

const kinds: readonly Kind[] = [
  {
    kind: "multi lock",
    of: (clients) => clients[0]?.getMultiLock(...locksOf(clients)),
    obstacles: [[0], [1], [2]],
  },
  {
    kind: "red lock",
    of: (clients) => clients[0]?.getRedLock(...locksOf(clients)),
    obstacles: [
      [0, 1],
      [0, 2],
      [1, 2],
    ],
  },
];

function heldByJvm({ masters }: FakeMasters, on: readonly number[]): void {
  for (const at of on) {
    masters[at]?.server.command("HSET", "a", JVM, 1);
    masters[at]?.server.command("PEXPIRE", "a", HOUR_MS);
  }
}

function freedByJvm({ masters }: FakeMasters): void {
  for (const { server } of masters) {
    server.command("DEL", "a");
    server.command("PUBLISH", "redisson_lock__channel:{a}", "0");
  }
}

describe.each(kinds)("a $kind of three servers", ({ of, obstacles }) => {
  const open = fakeMasters();

  test("passes threadId and leaseMs on to every member [B34]", async () => {
    const world = open();
    const { clients } = world.party();
    const lease = await of(clients)?.lock({ threadId: 7, leaseMs: 7_000 });
    clients.forEach(({ clientId }, at) => {
      expect(world.masters[at]?.fields("a")).toEqual({ [`${clientId}:7`]: "1" });
      expect(world.masters[at]?.server.command("PTTL", "a")).toBe(7_000);
    });
    await lease?.unlock();
  });

  test("passes maxHoldMs on to every member: none is renewed beyond it [B34]", async () => {
    const world = open();
    const lease = await of(world.party().clients)?.lock({ maxHoldMs: 2 * LEASE_MS });
    await world.clock.advance(2 * LEASE_MS - 1);
    expect([lease?.state, world.heldOn("a")]).toEqual(["held", [0, 1, 2]]);
    await world.clock.advance(1);
    expect(lease?.signal.reason).toMatchObject({ reason: "max-hold" });
    await world.clock.advance(LEASE_MS);
    expect(world.heldOn("a")).toEqual([]);
  });

  test.each(obstacles.map((on) => [on]))(
    "passes waitMs on to every member: it is over while %j is held [B34]",
    async (on) => {
      const world = open();
      heldByJvm(world, on);
      const lock = of(world.party().clients);
      const call = watched(lock?.lock({ waitMs: 2_000 }) ?? Promise.reject(new Error("no lock")));
      await world.clock.advance(1_999);
      expect(call.outcome).toBeUndefined();
      await world.clock.advance(1);
      expect(call.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_WAIT_TIMEOUT", waitedMs: 2_000 } });
      freedByJvm(world);
      await world.clock.advance(LEASE_MS);
      expect(world.heldOn("a")).toEqual([]);
    },
  );

  test.each(obstacles.map((on) => [on]))(
    "passes its signal on to every member: nothing is taken after it while %j was held [B34]",
    async (on) => {
      const world = open();
      heldByJvm(world, on);
      const cancel = new AbortController();
      const lock = of(world.party().clients);
      const call = watched(lock?.lock({ signal: cancel.signal }) ?? Promise.reject(new Error("no lock")));
      await world.clock.advance(1_000);
      const reason = new Error("not any more");
      cancel.abort(reason);
      await world.clock.advance(0);
      expect(call.outcome).toEqual({ error: reason });
      freedByJvm(world);
      await world.clock.advance(LEASE_MS);
      expect(world.heldOn("a")).toEqual([]);
    },
  );
});
