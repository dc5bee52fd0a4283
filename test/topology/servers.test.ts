import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { watchLeaks } from "../support/run/leaks.js";
import { startCluster } from "../support/servers/redis-cluster.js";
import type { RedisServer } from "../support/servers/redis-server.js";
import { type ReplicatedRedis, startReplicated } from "../support/servers/replicated-redis.js";
import { startSentinels } from "../support/servers/sentinels.js";

interface Started {
  readonly all: readonly RedisServer[];
  stop(): Promise<void>;
}

/** Servers that watch over each other agree in their own time, and say what they waited for before this. */
const TEST_MS = 60_000;

const started: Started[] = [];

watchLeaks();
afterEach(() => Promise.all(started.splice(0).map(leavesNothing)));

/** Frozen, dead and running servers end alike. */
async function leavesNothing({ all, stop }: Started): Promise<void> {
  await all.find(({ running }) => running)?.pause();
  const known = all.filter(({ running }) => running).map(({ pid, port }) => ({ pid, port }));
  await all.findLast(({ running }) => running)?.kill();
  await stop();
  expect(known.filter(({ pid }) => runs(pid))).toEqual([]);
  expect(await Promise.all(known.map(({ port }) => refuses(port)))).not.toContain(false);
  await stop();
}

async function replicated(replicas: number): Promise<ReplicatedRedis> {
  const servers = await startReplicated({ replicas });
  started.push({ all: [servers.master, ...servers.replicas], stop: () => servers.stop() });
  return servers;
}

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function refuses(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(false);
    });
    socket.once("error", () => resolve(true));
  });
}

function get(server: RedisServer, key: string): Promise<string | null> {
  return server.client().get(key);
}

/** Writes a key, which that many replicas acknowledge. */
async function write(master: RedisServer, key: string, replicas: number): Promise<void> {
  const client = master.client();
  await client.set(key, "written");
  expect(await client.wait(replicas, 5_000)).toBe(replicas);
}

async function roles(servers: readonly RedisServer[]): Promise<unknown[]> {
  return (await Promise.all(servers.map((server) => server.client().role()))).map(([role]) => role);
}

function only([server]: readonly RedisServer[]): RedisServer {
  if (server === undefined) throw new Error("there is no server");
  return server;
}

describe("servers that belong together, of which nothing is left when they are stopped, frozen or not", () => {
  describe("a master with replicas", () => {
    it("brings what is written to all of them", async () => {
      const { master, replicas } = await replicated(2);
      expect(await roles([master, ...replicas])).toEqual(["master", "slave", "slave"]);
      await write(master, "key", 2);
      expect(await Promise.all(replicas.map((replica) => get(replica, "key")))).toEqual([
        "written",
        "written",
      ]);
    });

    it("loses a replica whose link is cut, and has it back with all that was written meanwhile", async () => {
      const servers = await replicated(1);
      const replica = only(servers.replicas);
      const client = servers.master.client();
      await servers.cut(replica);
      expect(await client.info("replication")).toContain("connected_slaves:0");
      await client.set("key", "written");
      expect(await get(replica, "key")).toBeNull();
      await servers.join(replica);
      expect(await get(replica, "key")).toBe("written");
      await write(servers.master, "next", 1);
    });

    it("still counts a replica whose link is held, which sees nothing until it is healed", async () => {
      const servers = await replicated(1);
      const replica = only(servers.replicas);
      const client = servers.master.client();
      servers.hold(replica);
      await client.set("key", "written");
      expect(await client.wait(1, 50)).toBe(0);
      expect(await client.info("replication")).toContain("connected_slaves:1");
      expect(await get(replica, "key")).toBeNull();
      await servers.join(replica);
      expect(await get(replica, "key")).toBe("written");
    });

    it("lets a replica become a master with what it has seen, and forget that when it joins again", async () => {
      const servers = await replicated(1);
      const replica = only(servers.replicas);
      await write(servers.master, "seen", 1);
      servers.hold(replica);
      const client = servers.master.client();
      await client.set("unseen", "written");
      expect(await client.wait(1, 50)).toBe(0);
      await servers.promote(replica);
      expect(await roles([replica])).toEqual(["master"]);
      expect(await replica.client().mget("seen", "unseen")).toEqual(["written", null]);
      await replica.client().set("other", "written");
      await servers.join(replica);
      expect(await replica.client().mget("seen", "unseen", "other")).toEqual(["written", "written", null]);
    });
  });

  describe("Sentinels", () => {
    it("have another master when asked to, and when theirs was killed, which comes back as a replica", {
      timeout: TEST_MS,
    }, async () => {
      const servers = await startSentinels();
      started.push({ all: [...servers.watchers, ...servers.nodes], stop: () => servers.stop() });
      expect(servers.sentinels).toHaveLength(3);
      const first = await servers.master();
      await write(first, "key", 1);

      const second = await servers.failover();
      expect([first, second]).toEqual(servers.nodes);
      await servers.settled();
      await write(second, "next", 1);
      expect(await get(first, "next")).toBe("written");

      await second.kill();
      expect(await servers.successor(second)).toBe(first);
      await second.restart();
      await servers.settled();
      expect(await roles(servers.nodes)).toEqual(["master", "slave"]);
      expect(await second.client().mget("key", "next")).toEqual(["written", "written"]);
    });
  });

  describe("a cluster", () => {
    it("serves all slots, brings what is written to replicas, moves a slot and replaces a master", {
      timeout: TEST_MS,
    }, async () => {
      const cluster = await startCluster();
      started.push({ all: cluster.nodes, stop: () => cluster.stop() });
      const masters = await cluster.masters();
      expect(masters).toEqual(cluster.nodes.slice(0, 3));
      expect(await masters[0]?.client().cluster("INFO")).toContain("cluster_slots_ok:16384");
      const from = await cluster.masterOf("key");
      await write(from, "key", 1);
      await from.client().set("{key}:left", "written");

      const to = masters.find((master) => master !== from) ?? from;
      const migration = await cluster.migrateSlot(await cluster.slotOf("key"), to);
      await migration.moveKeys("key");
      await expect(get(from, "key")).rejects.toThrow(`ASK 12539 127.0.0.1:${to.port}`);
      expect(await get(from, "{key}:left")).toBe("written");
      await migration.moveKeys();
      await migration.finish();
      await expect(get(from, "key")).rejects.toThrow(`MOVED 12539 127.0.0.1:${to.port}`);
      expect([await get(to, "key"), await get(to, "{key}:left")]).toEqual(["written", "written"]);
      expect(await cluster.masterOf("key")).toBe(to);

      const replica = cluster.replicaOf(to);
      expect(await cluster.failover(to)).toBe(replica);
      expect([await cluster.masterOf("key"), cluster.replicaOf(replica)]).toEqual([replica, to]);
      expect(await get(replica, "key")).toBe("written");
      await cluster.settled();
      await replica.kill();
      expect(await cluster.successor(replica)).toBe(to);
      expect(await get(to, "key")).toBe("written");
      await replica.restart();
      await cluster.settled();
      expect(await roles([replica])).toEqual(["slave"]);
    });
  });
});
