import { afterAll, afterEach, beforeAll, describe } from "vitest";
import type { ConformanceHarness } from "../../src/driver/conformance/index.js";
import type { Driver } from "../../src/driver/driver.js";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { allPairs } from "../support/clients/all-pairs.js";
import { destroyClient } from "../support/clients/ioredis-clients.js";
import { type IoredisFlavour, ioredisFlavours } from "../support/clients/ioredis-flavours.js";
import { runConformance } from "../support/drivers/conformance-runner.js";
import { cut } from "../support/faults/proxy-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { ask } from "../support/servers/ask.js";
import { type ProxiedCluster, proxyCluster } from "../support/servers/proxied-cluster.js";
import { moveSlotOf, type RedisCluster, startCluster } from "../support/servers/redis-cluster.js";
import { type ReplicatedRedis, startReplicated } from "../support/servers/replicated-redis.js";
import { startSentinels, type WatchedRedis } from "../support/servers/sentinels.js";

watchLeaks();

const flavours = allPairs ? ioredisFlavours : ioredisFlavours.slice(0, 1);

/** What ends the client of each driver. */
const ends = new Map<Driver, () => Promise<void>>();
afterEach(async () => {
  await Promise.all([...ends.values()].map((end) => end()));
  ends.clear();
});

function drive(client: Parameters<typeof ioredisDriver>[0], end: () => Promise<void>): Driver {
  const driver = ioredisDriver(client);
  ends.set(driver, end);
  return driver;
}

describe("a master with a replica", () => {
  let servers: ReplicatedRedis;
  beforeAll(async () => {
    servers = await startReplicated();
  });
  afterAll(() => servers.stop());

  for (const { name, redis } of flavours) {
    const harness: ConformanceHarness = {
      replicas: 1,
      masters: 1,
      keepsOrder: true,
      countsReceivers: true,
      async connect() {
        const client = redis({ host: "127.0.0.1", port: servers.master.port });
        return drive(client, () => destroyClient(client));
      },
      flushScripts: async () => void (await ask(servers.master, "SCRIPT", "FLUSH")),
    };
    runConformance(`ioredisDriver on ${name}`, harness, { client: name, topology: "standalone" });
  }
});

describe("a master that Sentinels name", () => {
  let servers: WatchedRedis;
  beforeAll(async () => {
    servers = await startSentinels();
  });
  afterAll(() => servers.stop());

  for (const { name, redis } of flavours) {
    const harness: ConformanceHarness = {
      replicas: 1,
      masters: 1,
      keepsOrder: true,
      countsReceivers: true,
      async connect() {
        const client = redis({ sentinels: [...servers.sentinels], name: servers.name });
        return drive(client, () => destroyClient(client));
      },
      flushScripts: async () => void (await ask(await servers.master(), "SCRIPT", "FLUSH")),
    };
    runConformance(`ioredisDriver on ${name}`, harness, { client: name, topology: "sentinel" });
  }
});

describe("a cluster", () => {
  let cluster: RedisCluster;
  const ways = new Map<Driver, ProxiedCluster>();
  const clients = new Map<Driver, ReturnType<IoredisFlavour["cluster"]>>();
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.stop());
  afterEach(() => {
    ways.clear();
    clients.clear();
  });

  function harness(flavour: IoredisFlavour, family: "classic" | "sharded"): ConformanceHarness {
    return {
      family,
      replicas: 1,
      masters: 3,
      keepsOrder: true,
      async connect() {
        const way = await proxyCluster(cluster);
        const client = flavour.cluster(Object.values(way.natMap).slice(0, 2), way);
        const driver = drive(client, async () => {
          client.disconnect();
          await way.close();
        });
        ways.set(driver, way);
        clients.set(driver, client);
        return driver;
      },
      moveKey: (key) => moveSlotOf(cluster, key),
      async loseMaster(driver) {
        const client = clients.get(driver);
        const [master] = client?.nodes("master") ?? [];
        if (client === undefined || master === undefined) throw new Error("the client knows no master");
        const forgotten = new Promise((resolve) => client.once("-node", resolve));
        master.disconnect();
        await forgotten;
      },
      cutCommand: async (driver) => ways.get(driver)?.strike(cut({ on: "\r\neval" })),
      cutSubscriber: async (driver) => ways.get(driver)?.strike(cut({ on: "subscribe\r\n" })),
      flushScripts: async () => {
        await Promise.all(cluster.nodes.map((node) => ask(node, "SCRIPT", "FLUSH")));
      },
    };
  }

  for (const flavour of flavours) {
    for (const family of ["classic", "sharded"] as const) {
      const pair = { client: flavour.name, topology: "cluster" } as const;
      runConformance(`ioredisDriver on ${flavour.name}, ${family} messages`, harness(flavour, family), pair);
    }
  }
});
