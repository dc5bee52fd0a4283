import { ask, info, ofRunning, soon } from "./ask.js";
import { portFor, type RedisServer, type RedisServerOptions, startRedis, stopAll } from "./redis-server.js";
import { type ReplicationLink, startLink } from "./replication-link.js";

/** A master and its replicas, with nobody who watches over them. */
export interface ReplicatedRedis {
  readonly master: RedisServer;
  readonly replicas: readonly RedisServer[];
  /** Breaks the link of a replica, whose process goes on. Resolves once the master, if it runs, counts it no more. */
  cut(replica: RedisServer): Promise<void>;
  /** Nothing comes through the link any more, and the master still counts the replica. What is held is lost by `cut`. */
  hold(replica: RedisServer): void;
  /** Heals the link and makes it a replica again, whatever it is. Resolves once it has all that the master has. */
  join(replica: RedisServer): Promise<void>;
  /** Makes a master of it by hand, with what it has seen. The old one is left as it is. */
  promote(replica: RedisServer): Promise<void>;
  /** Ends all of them, frozen or not. Safe twice. */
  stop(): Promise<void>;
}

/** Nobody listens here. */
const NO_PORT = 1;

/** More replicas than there are, to ask all of them. */
const MANY = 100;
const ACKNOWLEDGED_WITHIN_MS = 20;

/** Replicas are brought into sync without delay, through memory; none keeps a file of it. */
export const replicationArgs: readonly string[] = Object.entries({
  "repl-diskless-sync": "yes",
  "repl-diskless-sync-delay": "0",
  "repl-ping-replica-period": "1",
  "repl-backlog-size": "64kb",
  "rdb-del-sync-files": "yes",
}).flatMap(([name, value]) => [`--${name}`, value]);

/** A replica that finds its master at the port, also after a restart. */
export function replicaAt(masterPort: number, host = "127.0.0.1"): RedisServerOptions {
  return { args: [...replicationArgs, "--replicaof", host, String(masterPort)] };
}

/** Starts them empty and in sync, in about 0.3 s. */
export async function startReplicated({ replicas = 1 } = {}): Promise<ReplicatedRedis> {
  const replicated = new Replicated(await startRedis({ args: replicationArgs }));
  try {
    while (replicated.replicas.length < replicas) await replicated.add();
    return replicated;
  } catch (error) {
    await replicated.stop();
    throw error;
  }
}

/** True when the replica has acknowledged something that the master sent. */
export async function isSynced(master: RedisServer, replica: RedisServer): Promise<boolean> {
  // In a cluster the pings of a master have to do, elsewhere this goes to replicas, and WAIT makes them acknowledge.
  await ask(master, "PUBLISH", "in-sync", "");
  await ask(master, "WAIT", MANY, ACKNOWLEDGED_WITHIN_MS);
  const lines = await linesOf(replica, master);
  return lines.length === 1 && /state=online,offset=[1-9]/.test(lines.join());
}

/** What the master says of each connection of the replica, of which one may be broken without its knowledge. */
async function linesOf(replica: RedisServer, master: RedisServer): Promise<string[]> {
  const lines = [...(await info(master, "replication")).values()];
  return lines.filter((line) => line.includes(`port=${portFor(replica)},`));
}

class Replicated implements ReplicatedRedis {
  readonly master: RedisServer;
  readonly replicas: RedisServer[] = [];
  readonly #links: ReplicationLink[] = [];

  constructor(master: RedisServer) {
    this.master = master;
  }

  async add(): Promise<void> {
    const link = await startLink(this.master.port);
    this.#links.push(link);
    const replica = await startRedis(replicaAt(link.port));
    this.replicas.push(replica);
    await this.#synced(replica);
  }

  async cut(replica: RedisServer): Promise<void> {
    this.#linkOf(replica).cut();
    await soon("the master counts the replica no more", async () => {
      const lines = await ofRunning([this.master], (master) => linesOf(replica, master));
      return lines.flat().length === 0;
    });
  }

  hold(replica: RedisServer): void {
    this.#linkOf(replica).hold();
  }

  async join(replica: RedisServer): Promise<void> {
    const link = this.#linkOf(replica);
    link.heal();
    // A new master is asked at once, the old one a second after it was last asked.
    for (const port of [NO_PORT, link.port]) await ask(replica, "REPLICAOF", "127.0.0.1", port);
    await this.#synced(replica);
  }

  async promote(replica: RedisServer): Promise<void> {
    await ask(replica, "REPLICAOF", "NO", "ONE");
  }

  async stop(): Promise<void> {
    for (const link of this.#links) link.close();
    await stopAll([this.master, ...this.replicas]);
  }

  async #synced(replica: RedisServer): Promise<void> {
    const written = Number((await info(this.master, "replication")).get("master_repl_offset"));
    await soon("the replica is in sync", async () => {
      const state = await info(replica, "replication");
      if (state.get("master_link_status") !== "up") return false;
      return Number(state.get("slave_repl_offset")) >= written && (await isSynced(this.master, replica));
    });
  }

  #linkOf(replica: RedisServer): ReplicationLink {
    const link = this.#links[this.replicas.indexOf(replica)];
    if (link === undefined) throw new Error(`the server of port ${replica.port} is no replica here`);
    return link;
  }
}
