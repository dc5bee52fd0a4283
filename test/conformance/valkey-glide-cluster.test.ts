import { type GlideClusterClient, Logger } from "@valkey/valkey-glide";
import { afterAll, afterEach, beforeAll } from "vitest";
import type { Driver } from "../../src/driver/driver.js";
import { valkeyGlideDriver } from "../../src/driver/valkey-glide/index.js";
import {
  closeGlideClients,
  glideClusterClient,
  glideClusterSubscriber,
} from "../support/clients/valkey-glide-clients.js";
import { runConformance } from "../support/drivers/conformance-runner.js";
import { watchLeaks } from "../support/run/leaks.js";
import { ask } from "../support/servers/ask.js";
import { type RedisCluster, startCluster } from "../support/servers/redis-cluster.js";

Logger.init("off");

let cluster: RedisCluster;
let ports: readonly number[];
beforeAll(async () => {
  cluster = await startCluster();
  ports = cluster.nodes.map(({ port }) => port);
});
afterAll(() => cluster.stop());
watchLeaks();

const clients = new Map<Driver, readonly GlideClusterClient[]>();
afterEach(() => {
  closeGlideClients();
  clients.clear();
});

async function toEach(command: string, ...args: readonly string[]): Promise<void> {
  await Promise.all((await cluster.masters()).map((master) => ask(master, command, ...args)));
}

const harness = {
  keepsOrder: true,
  masters: 3,
  connect: async () => {
    const client = await glideClusterClient(ports);
    const subscriber = await glideClusterSubscriber(ports);
    const driver = valkeyGlideDriver(client, { subscriber });
    clients.set(driver, [client, subscriber]);
    return driver;
  },
  cutSubscriber: () => toEach("CLIENT", "KILL", "TYPE", "pubsub"),
  endClient: async (driver: Driver) => {
    for (const client of clients.get(driver) ?? []) client.close();
  },
  flushScripts: () => toEach("SCRIPT", "FLUSH"),
} as const;

const pair = { client: "GLIDE", topology: "cluster" } as const;
runConformance("valkeyGlideDriver on a cluster", { ...harness, family: "classic" }, pair);
runConformance(
  "valkeyGlideDriver on a cluster with sharded messages",
  { ...harness, family: "sharded" },
  pair,
);
