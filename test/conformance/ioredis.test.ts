import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import type { Driver } from "../../src/driver/driver.js";
import { type IoredisClient, ioredisDriver } from "../../src/driver/ioredis/index.js";
import { destroyClient, quickEnd } from "../support/clients/ioredis-clients.js";
import { runConformance } from "../support/drivers/conformance-runner.js";
import { cut } from "../support/faults/proxy-faults.js";
import { startProxy, type TcpProxy } from "../support/faults/tcp-proxy.js";
import { watchLeaks } from "../support/run/leaks.js";
import type { RedisServer } from "../support/servers/redis-server.js";
import { workerServer } from "../support/servers/worker-server.js";

let server: RedisServer;
let admin: Redis;
beforeAll(async () => {
  server = await workerServer();
  admin = server.client();
});
afterAll(() => server.stop());
watchLeaks({ keys: () => admin });

interface Wiring {
  readonly proxy: TcpProxy;
  readonly client: Redis | Redis5;
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

const options = { host: "127.0.0.1", retryStrategy: () => 5, ...quickEnd };

async function wire<Client extends Redis | Redis5>(
  connect: (port: number) => Client & IoredisClient,
): Promise<Driver> {
  const proxy = await startProxy(server.port);
  const client = connect(proxy.port);
  const driver = ioredisDriver(client);
  wirings.set(driver, { proxy, client });
  return driver;
}

async function breakConnection(driver: Driver, on: string): Promise<void> {
  await wirings.get(driver)?.proxy.inject(cut({ on })).struck;
}

const abilities = {
  countsReceivers: true as const,
  masters: 1,
  keepsOrder: true as const,
  cutCommand: (driver: Driver) => breakConnection(driver, "\r\neval"),
  cutSubscriber: (driver: Driver) => breakConnection(driver, "\r\nsubscribe"),
  endClient: async (driver: Driver) => {
    const client = wirings.get(driver)?.client;
    if (client !== undefined) await destroyClient(client);
  },
  flushScripts: async () => {
    await admin.script("FLUSH");
  },
};

const ioredis6 = { client: "ioredis 6", topology: "standalone" } as const;

beforeEach(() => admin.flushall());
runConformance(
  "ioredisDriver on ioredis 6",
  { connect: () => wire((port) => new Redis({ ...options, port })), ...abilities },
  ioredis6,
);
runConformance(
  "ioredisDriver on ioredis 6 with RESP2",
  { connect: () => wire((port) => new Redis({ ...options, port, protocol: 2 })), ...abilities },
  ioredis6,
);
runConformance(
  "ioredisDriver on ioredis 6 with auto-pipelining",
  {
    connect: () => wire((port) => new Redis({ ...options, port, enableAutoPipelining: true })),
    ...abilities,
  },
  ioredis6,
);
runConformance(
  "ioredisDriver on ioredis 5",
  { connect: () => wire((port) => new Redis5({ ...options, port })), ...abilities },
  { client: "ioredis 5", topology: "standalone" },
);
