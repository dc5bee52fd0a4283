import { once } from "node:events";
import { Cluster, Redis } from "ioredis";
import type { Driver } from "../../../src/driver/driver.js";
import { ioredisDriver } from "../../../src/driver/ioredis/index.js";
import type { RawReply } from "../../../src/protocol/script-call.js";
import { destroyClient, quickEnd } from "../clients/ioredis-clients.js";
import { ask } from "./ask.js";
import { startCluster } from "./redis-cluster.js";
import type { RedisServer } from "./redis-server.js";
import { startSentinels } from "./sentinels.js";
import { workerServer } from "./worker-server.js";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Where the servers of each topology are, as Redis clients want to know it. */
export interface Places {
  readonly standalone: Address;
  readonly sentinel: { readonly sentinels: readonly Address[]; readonly name: string };
  readonly cluster: readonly Address[];
}

export type Topology = keyof Places;

/** Servers of one topology, with a way to ask them past any adapter. */
export interface Servers<Kind extends Topology> {
  readonly place: Places[Kind];
  raw(command: string, ...args: readonly (string | number)[]): Promise<RawReply>;
  keys(): Promise<readonly string[]>;
  /** Deletes all keys. */
  flush(): Promise<void>;
  /** A new driver that hears what holdfast publishes. Whoever asked closes it. */
  drive(): Driver;
  stop(): Promise<void>;
}

interface Started {
  readonly admin: Redis | Cluster;
  end(): Promise<void>;
  masters(): Promise<readonly RedisServer[]>;
  stop(): Promise<void>;
}

async function serve<Kind extends Topology>(place: Places[Kind], started: Started): Promise<Servers<Kind>> {
  const { admin, masters } = started;
  admin.on("error", () => undefined);
  // Its connection is not the first test's.
  await once(admin, "ready");
  const all = async (command: string, ...args: readonly string[]) =>
    Promise.all((await masters()).map((master) => ask(master, command, ...args)));
  return {
    place,
    drive: () => ioredisDriver(admin),
    raw: (command, ...args) => admin.call(command, ...args) as Promise<RawReply>,
    keys: async () => ((await all("KEYS", "*")) as string[][]).flat(),
    async flush() {
      await all("FLUSHALL");
    },
    async stop() {
      await started.end();
      await started.stop();
    },
  };
}

const HOST = "127.0.0.1";

export const startServers: { readonly [Kind in Topology]: () => Promise<Servers<Kind>> } = {
  async standalone() {
    const server = await workerServer();
    const { port } = server;
    const admin = new Redis({ host: HOST, port, ...quickEnd });
    return serve<"standalone">(
      { host: HOST, port },
      { admin, end: () => destroyClient(admin), masters: async () => [server], stop: () => server.stop() },
    );
  },
  async sentinel() {
    const watched = await startSentinels();
    const { sentinels, name } = watched;
    const { port } = await watched.master();
    const admin = new Redis({ host: HOST, port, ...quickEnd });
    return serve<"sentinel">(
      { sentinels, name },
      {
        admin,
        end: () => destroyClient(admin),
        masters: async () => [await watched.master()],
        stop: () => watched.stop(),
      },
    );
  },
  async cluster() {
    const cluster = await startCluster();
    const nodes = cluster.nodes.map(({ port }) => ({ host: HOST, port }));
    const admin = new Cluster([...nodes], { redisOptions: quickEnd, slotsRefreshTimeout: 5_000 });
    return serve<"cluster">(nodes, {
      admin,
      end: async () => admin.disconnect(),
      masters: () => cluster.masters(),
      stop: () => cluster.stop(),
    });
  },
};
