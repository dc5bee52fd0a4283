import { Cluster } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ioredisDriver } from "../../../src/driver/ioredis/index.js";
import { Holdfast } from "../../../src/holdfast.js";
import { quickEnd } from "../../../test/support/clients/ioredis-clients.js";
import { seededRandom } from "../../../test/support/run/seeded-random.js";
import { type RedisCluster, startCluster } from "../../../test/support/servers/redis-cluster.js";
import { raceUnlocks } from "./support/unlock-race.js";

const random = seededRandom();

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startCluster({ replicas: 0 });
});
afterAll(() => cluster.stop());

test("unlock, raced fifty times with hand-overs in a cluster, frees only what it has shown", async () => {
  const places = cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
  const clients = [0, 1, 2].map(() => new Cluster(places, { redisOptions: quickEnd }));
  const locks = clients.map((client) => new Holdfast(ioredisDriver(client), { handOff: false }));
  const url = `redis+cluster://${places.map(({ host, port }) => `${host}:${port}`).join(",")}`;
  try {
    const result = await raceUnlocks({ url, clients: locks, random, runs: 50, longestMs: 100 });
    expect(result).toMatchObject({ wronged: [], wrongCodes: [] });
    expect(result.lost).toBeGreaterThan(0);
    expect(result.outcomes["released"]).toBeGreaterThan(0);
  } finally {
    await Promise.all(locks.map((holdfast) => holdfast.close()));
    for (const client of clients) client.disconnect();
  }
});
