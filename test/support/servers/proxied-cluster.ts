import type { Fault, TcpProxy } from "../faults/tcp-proxy.js";
import { startProxy } from "../faults/tcp-proxy.js";
import type { RedisCluster } from "./redis-cluster.js";

type Address = { readonly host: string; readonly port: number };

/** A proxy before each node of a cluster, for a client that is told to go through them. */
export interface ProxiedCluster {
  readonly proxies: readonly TcpProxy[];
  /** Where to go in place of each node's address. */
  readonly natMap: Record<string, Address>;
  /** Hurts at those nodes where it can. Resolves when it has. */
  strike(fault: Fault): Promise<void>;
  close(): Promise<void>;
}

export async function proxyCluster({ nodes }: RedisCluster): Promise<ProxiedCluster> {
  const proxies = await Promise.all(nodes.map(({ port }) => startProxy(port)));
  const natMap: Record<string, Address> = {};
  nodes.forEach(({ port }, at) => {
    natMap[`127.0.0.1:${port}`] = { host: "127.0.0.1", port: proxies[at]?.port ?? 0 };
  });
  return {
    proxies,
    natMap,
    async strike(fault) {
      const hurt = proxies.filter((proxy) => fault.obstacle(proxy) === undefined);
      if (hurt.length === 0) throw new Error(`fault "${fault.name}" can be injected nowhere`);
      await Promise.all(hurt.map((proxy) => proxy.inject(fault).struck));
    },
    async close() {
      await Promise.all(proxies.map((proxy) => proxy.close()));
    },
  };
}
