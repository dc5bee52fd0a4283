import { Logger } from "@valkey/valkey-glide";
import { Cluster } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Driver } from "../../src/driver/driver.js";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { valkeyGlideDriver } from "../../src/driver/valkey-glide/index.js";
import { Holdfast } from "../../src/holdfast.js";
import { lockChannel } from "../../src/protocol/names.js";
import {
  closeGlideClients,
  glideClusterClient,
  glideClusterSubscriber,
} from "../support/clients/valkey-glide-clients.js";
import { ObservedDriver } from "../support/drivers/observed-driver.js";
import { until } from "../support/run/until.js";
import { ask, ofRunning } from "../support/servers/ask.js";
import { type RedisCluster, startCluster } from "../support/servers/redis-cluster.js";
import { isBefore7, NO_SHARDED_MESSAGES } from "../support/servers/redis-program.js";
import type { RedisServer } from "../support/servers/redis-server.js";

Logger.init("off");

const HOUR_MS = 3_600_000;
const SLOW_MS = 60_000;

let cluster: RedisCluster;
const ends: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster.stop());
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  closeGlideClients();
});

function client(driver: Driver): Holdfast {
  const holdfast = new Holdfast(driver, { safetyPeriodMs: HOUR_MS, commandTimeoutMs: 5_000 });
  ends.push(() => holdfast.close({ releaseHeld: true }));
  return holdfast;
}

/** Follows slots and failovers by itself. */
function holder(): Holdfast {
  const redis = new Cluster(cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port })));
  redis.on("error", () => undefined);
  ends.push(async () => redis.disconnect());
  return client(ioredisDriver(redis));
}

/** Asks again for a reason only, not as time goes by. */
async function waiter(): Promise<{ readonly holdfast: Holdfast; readonly driver: ObservedDriver }> {
  const ports = cluster.nodes.map(({ port }) => port);
  const [one, subscriber] = [await glideClusterClient(ports), await glideClusterSubscriber(ports)];
  const driver = new ObservedDriver(valkeyGlideDriver(one, { subscriber }));
  return { holdfast: client(driver), driver };
}

async function namesAt(wanted: (master: RedisServer) => boolean, count: number): Promise<string[]> {
  const names: string[] = [];
  for (let at = 0; names.length < count; at += 1) {
    if (wanted(await cluster.masterOf(`order:${at}`))) names.push(`order:${at}`);
  }
  return names;
}

async function epochOf(server: RedisServer): Promise<string | undefined> {
  return /cluster_my_epoch:(\d+)/.exec(String(await ask(server, "CLUSTER", "INFO")))?.[1];
}

describe("who waits with valkeyGlideDriver", () => {
  test("hears of what was released after each of three slots that move to the same master [own-10]", {
    timeout: SLOW_MS,
  }, async ({ skip }) => {
    skip(isBefore7(), NO_SHARDED_MESSAGES);
    const [to] = await cluster.masters();
    if (to === undefined) throw new Error("there is no master");
    const [one, other] = [holder(), await waiter()];
    const epochs: unknown[] = [];
    for (const name of await namesAt((master) => master !== to, 3)) {
      const lease = await one.getLock(name).lock({ leaseMs: HOUR_MS });
      const waiting = other.holdfast.getLock(name).lock({ leaseMs: HOUR_MS });
      await other.driver.waits();
      const move = await cluster.migrateSlot(await cluster.slotOf(name), to);
      await move.moveKeys();
      await move.finish();
      epochs.push(await epochOf(to));
      // GLIDE subscribes at the new master in its own time.
      expect(await ask(to, "PUBSUB", "SHARDNUMSUB", lockChannel(name))).toEqual([lockChannel(name), 0]);
      await lease.unlock();
      await (await waiting).unlock();
    }
    // With the last ones nothing changed but who has the slot.
    expect(new Set(epochs.slice(1)).size).toBe(1);
  });

  test("hears of what was released while another master stands still [own-11]", {
    timeout: SLOW_MS,
  }, async () => {
    const configure = (name: string, value: string) =>
      ofRunning(cluster.nodes, (node) => ask(node, "CONFIG", "SET", name, value));
    await configure("cluster-require-full-coverage", "no");
    await configure("cluster-replica-no-failover", "yes");
    const [frozen, there] = await cluster.masters();
    if (frozen === undefined || there === undefined) throw new Error("there are too few masters");
    const [name = ""] = await namesAt((master) => master === there, 1);
    await ask(there, "HSET", name, "a-jvm:1", 1);
    const { holdfast, driver } = await waiter();
    const waiting = holdfast.getLock(name).lock({ leaseMs: HOUR_MS });
    await driver.waits();
    await frozen.pause();
    // GLIDE is asked for its connections, and can not tell those to all masters.
    await looks(there, 3);
    // Freed while GLIDE connects anew, so that its message is heard by nobody.
    const freed = [["MULTI"], ["CLIENT", "KILL", "TYPE", "pubsub"], ["DEL", name], ["EXEC"]] as const;
    const [, , , done] = await Promise.all(freed.map(([command, ...args]) => ask(there, command, ...args)));
    expect(done).toEqual([1, 1]);
    await (await waiting).unlock();
    expect(frozen.running).toBe(false);
    frozen.resume();
    await configure("cluster-replica-no-failover", "no");
    await configure("cluster-require-full-coverage", "yes");
    await cluster.settled();
  });
});

/** Resolves when a server was so often asked for the connection of who asks. */
async function looks(server: RedisServer, times: number): Promise<void> {
  const count = async () => {
    const stats = String(await ask(server, "INFO", "commandstats"));
    return Number(/cmdstat_client(?:\|info)?:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  };
  const before = await count();
  await until(async () => (await count()) >= before + times);
}
