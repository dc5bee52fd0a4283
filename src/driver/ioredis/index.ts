import type { Driver } from "../driver.js";
import { ScriptDriver } from "../script-driver.js";
import { wrappable } from "../wrappable.js";
import { assertUsable, type IoredisClient, type IoredisCluster, isCluster } from "./client.js";
import { IoredisClusterPort } from "./cluster.js";
import { IoredisServerPort } from "./server.js";

export type {
  IoredisClient,
  IoredisCluster,
  IoredisClusterOptions,
  IoredisConnection,
  IoredisNode,
  IoredisOptions,
  IoredisOwnClient,
  IoredisStream,
} from "./client.js";

/**
 * Runs holdfast on a client of ioredis 5 or 6, or of iovalkey: a `Redis`, with Sentinels or without, or a `Cluster`. The client stays the
 * caller's: it is used for scripts and never closed. `duplicate()` adds connections: one when holdfast first listens to messages (in a
 * cluster with sharded messages, one for each master with a channel), and one for each master whose replicas acknowledge.
 *
 * @throws TypeError if the client is not a client of ioredis, has `keyPrefix` or `stringNumbers`, or is in subscriber or monitor mode.
 * @example const holdfast = new Holdfast(ioredisDriver(new Redis(url)));
 */
export function ioredisDriver(redis: IoredisClient | IoredisCluster): Driver {
  assertUsable(redis);
  return wrappable(
    new ScriptDriver((events) =>
      isCluster(redis) ? new IoredisClusterPort(redis, events) : new IoredisServerPort(redis, events),
    ),
  );
}
