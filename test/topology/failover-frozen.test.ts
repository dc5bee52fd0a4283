import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Driver } from "../../src/driver/driver.js";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { nodeRedisDriver } from "../../src/driver/node-redis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import { ioredisFlavours } from "../support/clients/ioredis-flavours.js";
import { destroyClient, versions } from "../support/clients/node-redis-clients.js";
import { until } from "../support/run/until.js";
import { type RedisCluster, startCluster } from "../support/servers/redis-cluster.js";

const TEST_MS = 60_000;

let cluster: RedisCluster;
const ends: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster.stop());
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await cluster.settled();
}, TEST_MS);

/** With the port of the server that it would ask first who has which slot. */
interface Connected {
  readonly driver: Driver;
  readonly firstPort: number | undefined;
}

/** One of each adapter, or version: each takes ten seconds. */
const clients: readonly (readonly [string, () => Promise<Connected>])[] = [
  ...ioredisFlavours.slice(0, 1).map(({ name, cluster: make }) => {
    const connect = async () => {
      const client = make(
        cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port })),
        {},
      );
      client.on("error", () => undefined);
      ends.push(async () => client.disconnect());
      await new Promise((resolve) => client.once("ready", resolve));
      return { driver: ioredisDriver(client), firstPort: client.nodes("master")[0]?.options.port };
    };
    return [name, connect] as const;
  }),
  ...versions.map(({ version, cluster: make }) => {
    const connect = async () => {
      const rootNodes = cluster.nodes.map(({ port }) => ({ socket: { host: "127.0.0.1", port } }));
      const client = make({ rootNodes });
      client.on("error", () => undefined);
      ends.push(() => destroyClient(client));
      await client.connect();
      const [first = ""] = client.nodeByAddress.keys();
      return { driver: nodeRedisDriver(client), firstPort: Number(first.replace(/.*:/, "")) };
    };
    return [`node-redis ${version}`, connect] as const;
  }),
];

test.each(clients)(
  "the successor of a master that stands still is found, also if that is the first to be asked: %s",
  { timeout: TEST_MS },
  async (_, connect) => {
    const { driver, firstPort } = await connect();
    const holdfast = new Holdfast(driver);
    ends.push(() => holdfast.close({ releaseHeld: true }));
    const frozen = cluster.nodes.find(({ port }) => port === firstPort);
    if (frozen === undefined) throw new Error("the client knows nobody");
    let name = "order";
    for (let i = 0; (await cluster.masterOf(name)) !== frozen; i++) name = `order:${i}`;
    const lock = holdfast.getLock(name);
    await lock.using(() => undefined);
    await frozen.pause();
    ends.push(async () => frozen.resume());
    await cluster.successor(frozen);
    await until(async () => (await lock.tryLock().catch(() => null)) !== null);
    expect(await lock.isLocked()).toBe(true);
  },
);
