import { Logger } from "@valkey/valkey-glide";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { evaluate, Recorder, script } from "../../src/driver/conformance/conformance-case.js";
import type { Driver, PubSubFamily } from "../../src/driver/driver.js";
import { valkeyGlideDriver } from "../../src/driver/valkey-glide/index.js";
import {
  closeGlideClients,
  glideClusterClient,
  glideClusterSubscriber,
} from "../support/clients/valkey-glide-clients.js";
import { watchLeaks } from "../support/run/leaks.js";
import { until } from "../support/run/until.js";
import { ask, ofRunning } from "../support/servers/ask.js";
import { type RedisCluster, startCluster } from "../support/servers/redis-cluster.js";
import { messageFamilies } from "../support/servers/redis-program.js";
import type { RedisServer } from "../support/servers/redis-server.js";

Logger.init("off");

const where = script("where", 'redis.call("INCR", KEYS[1]) return redis.call("INFO", "server")');
const increment = script("increment", 'return redis.call("INCR", KEYS[1])');
const publish = script("publish", "return redis.call(KEYS[1] and ARGV[1], ARGV[2], ARGV[3])");
const families = messageFamilies();
const [anyFamily = "classic"] = families.slice(-1);
const SLOW_MS = 40_000;

let cluster: RedisCluster;
let driver: Driver;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster.stop());
watchLeaks();
beforeEach(async () => {
  const ports = cluster.nodes.map(({ port }) => port);
  const client = await glideClusterClient(ports, { requestTimeout: 500 });
  driver = valkeyGlideDriver(client, {
    subscriber: await glideClusterSubscriber(ports, { requestTimeout: 500 }),
  });
});
afterEach(async () => {
  await driver.close();
  closeGlideClients();
});

async function configure(name: string, value: string): Promise<void> {
  await ofRunning(cluster.nodes, (node) => ask(node, "CONFIG", "SET", name, value));
}

async function keyOfOther(master: RedisServer): Promise<string> {
  for (const key of ["a", "b", "c", "d"]) if ((await cluster.masterOf(key)) !== master) return key;
  throw new Error("all keys are with one master");
}

/** Runs it until it is answered. */
async function eventually(key: string): Promise<void> {
  await until(() =>
    evaluate(driver, increment, [key]).then(
      () => true,
      () => false,
    ),
  );
}

async function tell(family: PubSubFamily, channel: string, message: string): Promise<void> {
  const command = family === "sharded" ? "SPUBLISH" : "PUBLISH";
  await evaluate(driver, publish, [channel], [command, channel, message]);
}

describe("valkeyGlideDriver on a cluster", () => {
  it("runs a script on the master of its key, and calls each slot a place", async () => {
    for (const key of ["a", "b", "c"]) {
      const { port } = await cluster.masterOf(key);
      expect(await evaluate(driver, where, [key])).toContain(`tcp_port:${port}\r`);
      expect(driver.placeOf?.(key)).toBe(String(await cluster.slotOf(key)));
    }
    expect(driver.placeOf?.("{a}1")).toBe(driver.placeOf?.("a"));
    expect(driver.resets).toBe(0);
  });

  it("names the cluster by the servers that its client was told of", () => {
    const hosts = cluster.nodes.map(({ port }) => `127.0.0.1:${port}`);
    const server = `redis+cluster://${hosts.join(",")}`;
    expect(driver.traits).toEqual({ server, topology: "cluster", sharded: true });
  });

  it("leaves it to the caller that replicas acknowledge", () => {
    expect("runReplicated" in driver).toBe(false);
  });

  it("hears what is published to all nodes, and what is to the master of a slot", async () => {
    const listeners = families.map(() => new Recorder());
    const channels = ["{a}", "{b}", "{c}"];
    for (const [at, family] of families.entries()) {
      for (const channel of channels)
        await driver.subscribe(channel + family, listeners[at] as Recorder, family);
      for (const channel of channels) await tell(family, channel + family, channel);
    }
    for (const listener of listeners) {
      await listener.until(6);
      expect(listener.heard.toSorted()).toEqual([">{a}", ">{b}", ">{c}", "ready", "ready", "ready"]);
    }
  });

  it("goes on while a slot moves, and says that messages may have been missed", {
    timeout: SLOW_MS,
  }, async () => {
    const listeners = families.map(() => new Recorder());
    for (const [at, family] of families.entries())
      await driver.subscribe(`{moving}${family}`, listeners[at] as Recorder, family);
    expect(await evaluate(driver, increment, ["{moving}"])).toBe(1);
    const from = await cluster.masterOf("{moving}");
    const to = (await cluster.masters()).find((master) => master !== from);
    if (to === undefined) throw new Error("there is one master only");
    const migration = await cluster.migrateSlot(await cluster.slotOf("{moving}"), to);
    await migration.moveKeys();
    expect(await evaluate(driver, increment, ["{moving}"])).toBe(2);
    await migration.finish();
    await Promise.all(listeners.map((listener) => listener.until(2)));
    expect(await evaluate(driver, where, ["{moving}"])).toContain(`tcp_port:${to.port}\r`);
    for (const family of families) await tell(family, `{moving}${family}`, "heard");
    for (const listener of listeners) {
      await until(() => listener.heard.includes(">heard"));
      expect(listener.heard.filter((heard) => heard !== "ready")).toEqual([">heard"]);
    }
  });

  it("goes on after a master has failed, and has counted that", { timeout: SLOW_MS }, async () => {
    const listeners = families.map(() => new Recorder());
    for (const [at, family] of families.entries())
      await driver.subscribe(`{failing}${family}`, listeners[at] as Recorder, family);
    await evaluate(driver, increment, ["{failing}"]);
    const master = await cluster.masterOf("{failing}");
    await master.kill();
    await expect(evaluate(driver, increment, ["{failing}"])).rejects.toThrow();
    expect(driver.resets).toBeGreaterThan(0);
    await cluster.successor(master);
    await eventually("{failing}");
    expect(driver.outage).toBeUndefined();
    await Promise.all(listeners.map((listener) => listener.until(2)));
    for (const [at, family] of families.entries()) {
      await until(async () => {
        await tell(family, `{failing}${family}`, "heard").catch(() => undefined);
        return listeners[at]?.heard.includes(">heard") ?? false;
      });
    }
    await master.restart();
    await cluster.settled();
  });

  it("listens to the other masters while one is frozen", { timeout: SLOW_MS }, async () => {
    const frozen = await cluster.masterOf("{frozen}");
    const there = await keyOfOther(frozen);
    await configure("cluster-require-full-coverage", "no");
    await configure("cluster-replica-no-failover", "yes");
    await frozen.pause();
    const listener = new Recorder();
    await until(() => driver.subscribe(there, listener, anyFamily).then(Boolean, () => false));
    await tell(anyFamily, there, "heard");
    await until(() => listener.heard.includes(">heard"));
    expect(frozen.running).toBe(false);
    frozen.resume();
    await configure("cluster-replica-no-failover", "no");
    await configure("cluster-require-full-coverage", "yes");
    await cluster.settled();
  });

  it("ends its subscriptions when it is closed", async () => {
    for (const family of families) await driver.subscribe(`{closing}${family}`, new Recorder(), family);
    await driver.close();
    const master = await cluster.masterOf("{closing}");
    await until(async () => {
      const counts = await Promise.all(
        families.map((family) =>
          ask(master, "PUBSUB", family === "sharded" ? "SHARDNUMSUB" : "NUMSUB", `{closing}${family}`),
        ),
      );
      return counts.every((count) => (count as unknown[])[1] === 0);
    });
    await expect(driver.subscribe("{closing}classic", new Recorder())).rejects.toThrow();
  });
});
