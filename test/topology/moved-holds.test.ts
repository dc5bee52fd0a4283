import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Driver } from "../../src/driver/driver.js";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { nodeRedisDriver } from "../../src/driver/node-redis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import { ioredisFlavours } from "../support/clients/ioredis-flavours.js";
import { destroyClient, versions } from "../support/clients/node-redis-clients.js";
import { type KindOfLock, lockOfKind } from "../support/programs/kind-of-lock.js";
import { until } from "../support/run/until.js";
import { ask, info, soon } from "../support/servers/ask.js";
import { type RedisCluster, startCluster } from "../support/servers/redis-cluster.js";
import { isBefore7 } from "../support/servers/redis-program.js";
import type { RedisServer } from "../support/servers/redis-server.js";

const HOUR_MS = 3_600_000;
const TEST_MS = 60_000;
const TAG = "moved";
/** Less than it takes the cluster to promote a replica. */
const TIMEOUT_MS = 1_000;

const kinds: readonly KindOfLock[] = [
  ...(["lock", "non-reentrant", "fair", "non-reentrant fair", "spin", "fenced"] as const),
  ...(["read", "write", "fair read", "fair write", "multi", "red"] as const),
];

/** Of each kind one that is watched and one that is not; a multi lock has two, and a red lock three. */
const LOCKS = 2 * (kinds.length + 1 + 2);

let cluster: RedisCluster;
const ends: (() => Promise<unknown>)[] = [];
/** One for each: it is another one afterwards. */
beforeEach(async () => {
  cluster = await startCluster();
}, TEST_MS);
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await cluster.stop();
}, TEST_MS);

const clients: readonly (readonly [string, () => Promise<Driver>])[] = [
  ...ioredisFlavours.slice(0, 1).map(
    ({ name, cluster: make }) =>
      [
        name,
        async () => {
          const client = make(
            cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port })),
            {},
          );
          client.on("error", () => undefined);
          ends.push(async () => client.disconnect());
          return ioredisDriver(client);
        },
      ] as const,
  ),
  ...versions.map(
    ({ version, cluster: make }) =>
      [
        `node-redis ${version}`,
        async () => {
          const client = make({
            rootNodes: cluster.nodes.map(({ port }) => ({ socket: { host: "127.0.0.1", port } })),
            defaults: { socket: { reconnectStrategy: () => 20 } },
          });
          client.on("error", () => undefined);
          ends.push(() => destroyClient(client));
          await client.connect();
          return nodeRedisDriver(client);
        },
      ] as const,
  ),
];

/** A client that renews nothing meanwhile, and asks again for a reason only. */
async function connected(
  drive: () => Promise<Driver>,
  mode: "require" | "off" = "require",
): Promise<Holdfast> {
  const holdfast = new Holdfast(await drive(), {
    // No server is away here, but the machine may be busy.
    redMemberTimeoutMs: 3_000,
    replicas: { mode, timeoutMs: TIMEOUT_MS / 2 },
    commandTimeoutMs: TIMEOUT_MS,
    watchdogMs: HOUR_MS,
    safetyPeriodMs: HOUR_MS,
  });
  ends.push(() => holdfast.close());
  await soon("replicas acknowledge", async () => {
    await holdfast.getLock(`{${TAG}}:acquaintance`).using(() => undefined);
    return true;
  });
  return holdfast;
}

/** Locks of all kinds, watched and fixed, and permits, all of one slot. */
async function takeAll(holdfast: Holdfast) {
  const leases = [];
  for (const leaseMs of [undefined, HOUR_MS]) {
    for (const kind of kinds) {
      const name = `{${TAG}}:${kind}:${leaseMs}`;
      leases.push({
        name,
        lease: await lockOfKind(holdfast, kind, name).lock({ ...(leaseMs && { leaseMs }) }),
      });
    }
    const name = `{${TAG}}:permits:${leaseMs}`;
    const semaphore = holdfast.getPermitExpirableSemaphore(name);
    await semaphore.trySetPermits(1);
    leases.push({ name, lease: await semaphore.acquire({ ...(leaseMs && { leaseMs }) }) });
  }
  return leases;
}

/** No replica of this master gets anything any more. */
async function cutReplicas(master: RedisServer): Promise<void> {
  await ask(master, "ACL", "SETUSER", "default", "-psync", "-sync");
  await ask(master, "CLIENT", "KILL", "TYPE", "replica");
  await soon("the replica is cut off", async () => {
    const link = await info(cluster.replicaOf(master), "replication");
    return link.get("master_link_status") === "down";
  });
}

/** Another master than that of the slot. */
async function otherMaster(): Promise<RedisServer> {
  const from = await cluster.masterOf(TAG);
  const to = (await cluster.masters()).find((master) => master !== from);
  if (to === undefined) throw new Error("there is one master only");
  return to;
}

describe.each(clients)("with replicas required, and %s,", (_, drive) => {
  test("a slot's holds are lost when its new master's replica lacks them, and then dies [own-8]", {
    timeout: TEST_MS,
  }, async () => {
    // The only replica, once promoted, has none that could acknowledge what the other takes.
    const [one, other] = [await connected(drive), await connected(drive, "off")];
    const held = await takeAll(one);
    const to = await otherMaster();
    await cutReplicas(to);
    const move = await cluster.migrateSlot(await cluster.slotOf(TAG), to);
    await move.moveKeys();
    await move.finish();
    await to.kill();
    await cluster.successor(to);
    const believed: string[] = [];
    for (const { name, lease } of held) {
      if (name.includes("permits") || lease.state !== "held") continue;
      const taken = await other.getLock(`${name}${/multi|red/.test(name) ? ":1" : ""}`).tryLock();
      if (taken !== null && lease.state === "held") believed.push(name);
      await taken?.unlock();
    }
    expect(believed).toEqual([]);
    const reasons = held.map(({ lease }) => {
      expect(lease.state).toBe("lost");
      return (lease.signal.reason as { reason: string }).reason;
    });
    expect(new Set(reasons)).toEqual(new Set(["server-changed"]));
  });

  test("they are confirmed when the replica has them, and end when they did [own-8]", {
    timeout: TEST_MS,
  }, async ({ skip }) => {
    skip(isBefore7(), "Redis 6.2 has no PEXPIRETIME, with which the test checks that no TTL was changed");
    const one = await connected(drive);
    const endsAt = async (master: RedisServer) => {
      const keys = (await ask(master, "KEYS", `*${TAG}*`)) as string[];
      return Promise.all(keys.sort().map(async (key) => [key, await ask(master, "PEXPIRETIME", key)]));
    };
    const held = await takeAll(one);
    const to = await otherMaster();
    const count = async () => {
      const calls = await info(cluster.replicaOf(to), "commandstats");
      return /calls=(\d+)/.exec(calls.get("cmdstat_hset") ?? "")?.[1] ?? "0";
    };
    const written = Number(await count());
    const move = await cluster.migrateSlot(await cluster.slotOf(TAG), to);
    await move.moveKeys();
    await move.finish();
    const before = await endsAt(to);
    await until(async () => Number(await count()) - written >= LOCKS);
    expect(await endsAt(to)).toEqual(before);
    expect(held.filter(({ lease }) => lease.state !== "held")).toEqual([]);
    for (const { lease } of held) await ("unlock" in lease ? lease.unlock() : lease.release());
  });
});
