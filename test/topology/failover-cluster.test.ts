import { afterAll, beforeAll, expect, test } from "vitest";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import { connectTo } from "../support/programs/place.js";
import { until } from "../support/run/until.js";
import { ask } from "../support/servers/ask.js";
import { type RedisCluster, startCluster } from "../support/servers/redis-cluster.js";
import { isBefore7 } from "../support/servers/redis-program.js";
import { isRequestKey } from "../support/servers/request-keys.js";
import { bounded, Fleet, KEY_OF_FLEET, valuesOfFleet } from "../support/worlds/fleet.js";

const HOUR_MS = 3_600_000;
/**
 * Within so long after the cluster is well again everybody has entered who may. At most a command has to be given up, after
 * 3 s, and a connection be made; several times that, since the machine may be busy.
 */
const SOON_MS = 20_000;
const TEST_MS = 90_000;

let servers: RedisCluster;
let fleet: Fleet;
let holdfast: Holdfast;
let disconnect = () => {};

beforeAll(async () => {
  servers = await startCluster();
  const at = { topology: "cluster", ports: servers.nodes.map(({ port }) => port) } as const;
  const redis = connectTo(at);
  redis.on("error", () => undefined);
  disconnect = () => redis.disconnect();
  const options = { replicas: { mode: "require", timeoutMs: 1_000 }, safetyPeriodMs: HOUR_MS } as const;
  holdfast = new Holdfast(ioredisDriver(redis), options);
  await Fleet.givePermits(holdfast);
  fleet = await Fleet.start(at, options);
}, TEST_MS);

afterAll(async () => {
  try {
    await fleet.end();
    const left = async () => {
      const masters = await servers.masters();
      const keys = await Promise.all(masters.map((master) => ask(master, "KEYS", "*") as Promise<string[]>));
      return keys.flat().filter((key) => !isRequestKey(key) && !valuesOfFleet.includes(key));
    };
    await until(async () => (await left()).length === 0);
    const values = await ask(await servers.masterOf(KEY_OF_FLEET), "MGET", ...valuesOfFleet);
    expect(values).toEqual(valuesOfFleet.map(() => "1"));
  } finally {
    await holdfast.close();
    disconnect();
    await servers.stop();
  }
}, TEST_MS);

/** Also a replica takes subscriptions, and a master that gave way keeps those that it had. */
async function channels(): Promise<string[]> {
  const question = isBefore7() ? "CHANNELS" : "SHARDCHANNELS";
  const told = servers.nodes.map((node) => ask(node, "PUBSUB", question) as Promise<string[]>);
  return (await Promise.all(told)).flat();
}

/** In the same slot. */
function latch() {
  return holdfast.getCountDownLatch("order");
}

const faults: readonly (readonly [string, () => Promise<unknown>])[] = [
  [
    "the master of their slot gives way to its replica",
    async () => {
      await servers.failover(await servers.masterOf(KEY_OF_FLEET));
      await servers.settled();
    },
  ],
  [
    "the master of their slot is killed",
    async () => {
      const old = await servers.masterOf(KEY_OF_FLEET);
      await old.kill();
      await servers.successor(old);
      await old.restart();
      await servers.settled();
    },
  ],
  [
    "their slot moves to another master, key by key",
    async () => {
      const slot = await servers.slotOf(KEY_OF_FLEET);
      const from = await servers.masterOf(KEY_OF_FLEET);
      const to = (await servers.masters()).find((master) => master !== from) ?? from;
      const migration = await servers.migrateSlot(slot, to);
      for (;;) {
        const [key] = (await ask(from, "CLUSTER", "GETKEYSINSLOT", slot, 1)) as string[];
        if (key === undefined) break;
        await migration.moveKeys(key);
      }
      await migration.finish();
      await servers.settled();
    },
  ],
];

test.each(faults)(
  "with replicas required nobody enters beside a holder, and who waits is told when that leaves, when %s",
  { timeout: TEST_MS },
  async (_, fault) => {
    await bounded("a latch is set", latch().trySetCount(1), SOON_MS);
    const opened = latch().await();
    await fleet.survives(fault, channels, SOON_MS);
    expect(await latch().getCount()).toBe(1);
    await latch().countDown();
    expect(await bounded("the latch opens", opened, SOON_MS)).toBe(true);
  },
);
