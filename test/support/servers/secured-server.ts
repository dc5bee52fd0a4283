import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ask, soon } from "./ask.js";
import { documentedUser, knownRights } from "./documented-rights.js";
import { bothAddresses, portFor, type RedisServer, startRedis, stopAll } from "./redis-server.js";
import { isSynced, replicaAt, replicationArgs } from "./replicated-redis.js";
import type { ServerTls } from "./server-tls.js";

/** A master with a replica, that is reached in many ways: on 127.0.0.1 and ::1, with TLS and without, and by a unix socket. */
export interface SecuredServer {
  readonly master: RedisServer;
  readonly tlsPort: number;
  readonly socketPath: string;
  /** What the server has refused since it was last asked. */
  refusals(): Promise<unknown>;
  stop(): Promise<void>;
}

/** Starts them in sync, with the user of the guide. */
export async function startSecured(tls: ServerTls): Promise<SecuredServer> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-socket-"));
  const socketPath = join(folder, "redis.sock");
  const servers: RedisServer[] = [];
  const stop = async () => {
    await stopAll(servers);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const ways = [...bothAddresses, "--unixsocket", socketPath];
    const master = await startRedis({ tls, args: [...replicationArgs, ...ways] });
    servers.push(master);
    const tlsPort = portFor(master);
    const replica = await startRedis({ ...replicaAt(tlsPort), tls });
    servers.push(replica);
    await ask(master, "ACL", "SETUSER", documentedUser.username, ...knownRights);
    await soon("the replica is in sync", () => isSynced(master, replica));
    const refusals = async () => {
      const log = await ask(master, "ACL", "LOG");
      await ask(master, "ACL", "LOG", "RESET");
      return log;
    };
    return { master, tlsPort, socketPath, refusals, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
