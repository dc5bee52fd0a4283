import { Logger } from "@valkey/valkey-glide";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Driver } from "../../src/driver/driver.js";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { nodeRedisDriver } from "../../src/driver/node-redis/index.js";
import { valkeyGlideDriver } from "../../src/driver/valkey-glide/index.js";
import type { UnavailableError } from "../../src/errors.js";
import type { LockSource } from "../../src/finding/finding-options.js";
import { Holdfast } from "../../src/holdfast.js";
import { ioredisFlavours } from "../support/clients/ioredis-flavours.js";
import { destroyClient, versions } from "../support/clients/node-redis-clients.js";
import {
  closeGlideClients,
  glideClusterClient,
  glideClusterSubscriber,
} from "../support/clients/valkey-glide-clients.js";
import { until } from "../support/run/until.js";
import { type RedisCluster, startCluster } from "../support/servers/redis-cluster.js";
import type { RedisServer } from "../support/servers/redis-server.js";
import { listed } from "../support/worlds/listed.js";

Logger.init("off");

/** A cluster whose nodes restart, or go on, is in order again when each has heard of each. */
const TEST_MS = 60_000;
const COMMAND_MS = 2_000;

let cluster: RedisCluster;
const ends: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  // Without replicas there is no other master for the slots.
  cluster = await startCluster({ replicas: 0 });
});
afterAll(() => cluster.stop());
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await cluster.settled();
}, TEST_MS);

const ports = () => cluster.nodes.map(({ port }) => port);
const addresses = () => ports().map((port) => ({ host: "127.0.0.1", port }));

interface Client {
  readonly name: string;
  /** Whether its errors always name the master: GLIDE does not tell which one it waits for. */
  readonly names: boolean;
  connect(): Promise<Driver>;
}

/** The newest of each library. */
const clients: readonly Client[] = [
  ...ioredisFlavours.slice(0, 1).map(({ name, cluster: make }) => ({
    name,
    names: true,
    connect: async () => {
      const client = make(addresses(), {});
      client.on("error", () => undefined);
      ends.push(async () => client.disconnect());
      await new Promise((resolve) => client.once("ready", resolve));
      return ioredisDriver(client);
    },
  })),
  ...versions.slice(0, 1).map(({ version, cluster: make }) => ({
    name: `node-redis ${version}`,
    names: true,
    connect: async () => {
      const client = make({ rootNodes: addresses().map((socket) => ({ socket })) });
      client.on("error", () => undefined);
      ends.push(() => destroyClient(client));
      await client.connect();
      return nodeRedisDriver(client);
    },
  })),
  {
    name: "GLIDE",
    names: false,
    connect: async () => {
      ends.push(async () => closeGlideClients());
      const client = await glideClusterClient(ports(), { requestTimeout: 500 });
      return valkeyGlideDriver(client, { subscriber: await glideClusterSubscriber(ports()) });
    },
  },
];

const sources = ["channels", "scan"] as const satisfies readonly LockSource[];

/** What befalls a master, and how it is undone. */
const faults = [
  {
    name: "stands still",
    strike: (node: RedisServer) => node.pause(),
    mend: (node: RedisServer) => node.resume(),
  },
  {
    name: "is gone",
    strike: (node: RedisServer) => node.kill(),
    mend: (node: RedisServer) => node.restart(),
  },
] as const;

describe.each(clients)("locks() through $name", ({ names, connect }) => {
  test.each(faults)(
    "lists no part while a master $name, and all again afterwards [P2-1]",
    async ({ strike, mend }) => {
      const holdfast = new Holdfast(await connect(), { commandTimeoutMs: COMMAND_MS });
      ends.push(() => holdfast.close());
      const find = (source: LockSource) => listed(holdfast.locks({ sources: [source] }));
      for (const source of sources) expect(await find(source)).toEqual([]);
      const [, lost] = await cluster.masters();
      if (lost === undefined) throw new Error("the cluster has one master only");
      await strike(lost);
      try {
        for (const source of sources) {
          const error = await find(source).catch((reason: unknown) => reason);
          expect(error).toMatchObject({ code: "ERR_HOLDFAST_UNAVAILABLE" });
          // The list of servers before it names all of them.
          const { server, message } = error as UnavailableError;
          if (names) expect(message.slice(server.length)).toContain(`127.0.0.1:${lost.port}`);
        }
      } finally {
        await mend(lost);
      }
      await cluster.settled();
      for (const source of sources) await until(() => find(source).then(isEmpty, () => false));
    },
    TEST_MS,
  );
});

function isEmpty(locks: readonly unknown[]): boolean {
  return locks.length === 0;
}
