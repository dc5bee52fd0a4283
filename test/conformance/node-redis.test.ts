import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import type { Driver } from "../../src/driver/driver.js";
import { type NodeRedisServer, nodeRedisDriver } from "../../src/driver/node-redis/index.js";
import { allPairs } from "../support/clients/all-pairs.js";
import { type Connectable, destroyClient, versions } from "../support/clients/node-redis-clients.js";
import { runConformance } from "../support/drivers/conformance-runner.js";
import { cut } from "../support/faults/proxy-faults.js";
import { startProxy, type TcpProxy } from "../support/faults/tcp-proxy.js";
import { watchLeaks } from "../support/run/leaks.js";
import { until } from "../support/run/until.js";
import { type ReplicatedRedis, startReplicated } from "../support/servers/replicated-redis.js";

let redis: ReplicatedRedis;
let admin: Redis;
beforeAll(async () => {
  redis = await startReplicated();
  admin = redis.master.client();
});
afterAll(() => redis.stop());
watchLeaks({ keys: () => admin });

interface Wiring {
  readonly proxy: TcpProxy;
  readonly client: Connectable;
}

/** Each driver has a proxy of its own, so that its connections can be told from those of others. */
const wirings = new Map<Driver, Wiring>();
afterEach(async () => {
  for (const { client, proxy } of wirings.values()) {
    await destroyClient(client);
    await proxy.close();
  }
  wirings.clear();
});

async function wire(make: (port: number) => NodeRedisServer & Connectable): Promise<Driver> {
  const proxy = await startProxy(redis.master.port);
  const client = make(proxy.port);
  client.on("error", () => undefined);
  await client.connect();
  const driver = nodeRedisDriver(client);
  wirings.set(driver, { proxy, client });
  return driver;
}

async function breakConnection(driver: Driver, on: string): Promise<void> {
  await wirings.get(driver)?.proxy.inject(cut({ on })).struck;
}

const abilities = {
  // What node-redis writes before it has learned of the loss it rejects.
  cutCommand: async (driver: Driver) => {
    const { resets } = driver;
    await breakConnection(driver, "\r\neval");
    await until(() => driver.resets > resets);
  },
  cutSubscriber: (driver: Driver) => breakConnection(driver, "\r\nsubscribe"),
  endClient: async (driver: Driver) => {
    const client = wirings.get(driver)?.client;
    if (client !== undefined) await destroyClient(client);
  },
  flushScripts: async () => {
    await admin.script("FLUSH");
  },
  countsReceivers: true,
  replicas: 1,
  masters: 1,
} as const;

const socketOf = (port: number) => ({ host: "127.0.0.1", port, reconnectStrategy: () => 5 });

beforeEach(() => admin.flushall());
for (const { version, client, pool } of allPairs ? versions : versions.slice(0, 1)) {
  for (const RESP of allPairs ? ([2, 3] as const) : ([3] as const)) {
    runConformance(
      `nodeRedisDriver on a client of node-redis ${version} with RESP${RESP}`,
      {
        connect: () => wire((port) => client({ RESP, socket: socketOf(port) })),
        ...abilities,
        keepsOrder: true,
      },
      { client: `node-redis ${version}`, topology: "standalone" },
    );
    // Its clients keep no order among them, and cutting scripts off breaks several of them.
    const { cutCommand: _, ...others } = abilities;
    runConformance(
      `nodeRedisDriver on a pool of node-redis ${version} with RESP${RESP}`,
      {
        connect: () => wire((port) => pool({ RESP, socket: socketOf(port) }, { minimum: 3, maximum: 3 })),
        ...others,
      },
      { client: `node-redis ${version}, a pool`, topology: "standalone" },
    );
  }
}
