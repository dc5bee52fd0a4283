import { ask, ofRunning, soon } from "./ask.js";
import { bothAddresses, portFor, type RedisServer, startMany, stopAll } from "./redis-server.js";
import { isSynced, replicationArgs } from "./replicated-redis.js";
import type { ServerTls } from "./server-tls.js";

/** A cluster: masters that share the slots, each with replicas of which one takes over when it is gone. */
export interface RedisCluster {
  /** All of them, in the order of their start, whatever they are now. */
  readonly nodes: readonly RedisServer[];
  /** The masters of the slots, in the order of these. All nodes that run agree. */
  masters(): Promise<readonly RedisServer[]>;
  replicaOf(master: RedisServer): RedisServer;
  masterOf(key: string): Promise<RedisServer>;
  slotOf(key: string): Promise<number>;
  /** Resolves once all nodes run, agree, serve all slots and are in sync. */
  settled(): Promise<void>;
  /** Swaps a master and its replica. Resolves with the new master as `successor` does. */
  failover(master: RedisServer): Promise<RedisServer>;
  /**
   * Resolves once all nodes that run serve again, with another master in place of one that was killed or frozen. That
   * takes three to four seconds.
   */
  successor(old: RedisServer): Promise<RedisServer>;
  /** Begins to move a slot: from now on both masters know of it. */
  migrateSlot(slot: number, to: RedisServer): Promise<SlotMigration>;
  /** Ends all of them, frozen or not. Safe twice. */
  stop(): Promise<void>;
}

/** A slot on its way from one master to another, who asks clients to go to the other for what has moved. */
export interface SlotMigration {
  readonly from: RedisServer;
  readonly to: RedisServer;
  /** Moves those keys; all that are there if none is named. */
  moveKeys(...keys: string[]): Promise<void>;
  /** Gives the slot to the other. Resolves once all nodes that run know. */
  finish(): Promise<void>;
}

const SLOTS = 16_384;

/** How long a node may be silent before others take it for gone. */
const NODE_TIMEOUT_MS = 1_500;

/** Keys that move in one go. */
const BATCH = 100;

const MOVE_WITHIN_MS = 1_000;

const clusterArgs = (host: string): readonly string[] => [
  ...replicationArgs,
  ...(host === "::1" ? bothAddresses : []),
  ...["--cluster-node-timeout", String(NODE_TIMEOUT_MS)],
  ...["--cluster-announce-ip", host],
  ...["--cluster-replica-validity-factor", "0"],
  ...["--cluster-allow-replica-migration", "no"],
];

/** What a node says of a node, itself among them. */
interface NodeView {
  readonly id: string;
  readonly port: number;
  readonly flags: readonly string[];
  readonly connected: boolean;
  /** Those that it serves, as in "0-5460". */
  readonly slots: readonly string[];
}

/** Gives the slot of a key, with all its keys, to another master. */
export async function moveSlotOf(cluster: RedisCluster, key: string): Promise<void> {
  const from = await cluster.masterOf(key);
  const to = (await cluster.masters()).find((master) => master !== from);
  if (to === undefined) throw new Error("there is one master only");
  const move = await cluster.migrateSlot(await cluster.slotOf(key), to);
  await move.moveKeys();
  await move.finish();
}

export interface ClusterOptions {
  readonly masters?: number;
  /** Of each master. */
  readonly replicas?: number;
  /** The loopback address at which all are told of and reached. */
  readonly host?: "127.0.0.1" | "::1";
  /** Makes all of them speak TLS, also with each other. */
  readonly tls?: ServerTls;
}

/** Starts it in two seconds, which every master waits before it serves. */
export async function startCluster(options: ClusterOptions = {}): Promise<RedisCluster> {
  const { masters = 3, replicas = 1, host = "127.0.0.1", tls } = options;
  const node = { role: "cluster node", args: clusterArgs(host), ...(tls && { tls }) } as const;
  const nodes = await startMany(masters * (1 + replicas), node);
  const cluster = new Cluster(host, nodes, masters);
  try {
    await cluster.form();
    await cluster.settled();
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

class Cluster implements RedisCluster {
  readonly nodes: readonly RedisServer[];
  readonly #host: string;
  /** Each holds the same slots for ever, migrations aside: a master and its replicas. */
  readonly #shards: readonly (readonly RedisServer[])[];

  constructor(host: string, nodes: readonly RedisServer[], shards: number) {
    this.#host = host;
    this.nodes = nodes;
    this.#shards = Array.from({ length: shards }, (_, shard) =>
      nodes.filter((_, at) => at % shards === shard),
    );
  }

  async form(): Promise<void> {
    await Promise.all(this.nodes.map((node, at) => ask(node, "CLUSTER", "SET-CONFIG-EPOCH", at + 1)));
    await Promise.all(this.nodes.map((node) => this.#introduce(node)));
    await soon("the nodes know each other", async () => {
      const views = await Promise.all(this.nodes.map(viewOf));
      return views.every((view) => view.filter(isReached).length === this.nodes.length);
    });
    await Promise.all(this.#shards.map((shard, at) => this.#assign(shard, at)));
  }

  async settled(): Promise<void> {
    await soon("all is well with the cluster", async () => {
      const views = await Promise.all(this.nodes.map(viewOf));
      if (!views.every((view) => view.length === this.nodes.length && view.every(isReached))) return false;
      const masters = await this.masters();
      const synced = await Promise.all(
        masters.flatMap((master) => this.#others(master).map((replica) => isSynced(master, replica))),
      );
      return !synced.includes(false) && (await this.#serves());
    });
  }

  masters(): Promise<readonly RedisServer[]> {
    return Promise.all(this.#shards.map((shard) => this.#owner(servesFor(shard))));
  }

  async masterOf(key: string): Promise<RedisServer> {
    return this.#owner(has(await this.slotOf(key)));
  }

  async slotOf(key: string): Promise<number> {
    const [slot] = await ofRunning(this.nodes, (node) => ask(node, "CLUSTER", "KEYSLOT", key));
    return Number(slot);
  }

  replicaOf(master: RedisServer): RedisServer {
    const [replica] = this.#others(master);
    if (replica === undefined) throw new Error(`the server of port ${master.port} has no replica here`);
    return replica;
  }

  async failover(master: RedisServer): Promise<RedisServer> {
    await ask(this.replicaOf(master), "CLUSTER", "FAILOVER");
    return this.successor(master);
  }

  async successor(old: RedisServer): Promise<RedisServer> {
    const shard = [old, ...this.#others(old)];
    return this.#owner(servesFor(shard), async (master) => master !== old && (await this.#serves()));
  }

  async migrateSlot(slot: number, to: RedisServer): Promise<SlotMigration> {
    const from = await this.#owner(has(slot));
    const [fromId, toId] = [await idOf(from), await idOf(to)];
    await ask(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", fromId);
    await ask(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", toId);
    const host = this.#host;
    return {
      from,
      to,
      async moveKeys(...keys) {
        const move = (names: readonly string[]) =>
          ask(from, "MIGRATE", host, portFor(to), "", 0, MOVE_WITHIN_MS, "KEYS", ...names);
        if (keys.length > 0) await move(keys);
        else
          for (let left = await keysIn(slot, from); left.length > 0; left = await keysIn(slot, from))
            await move(left);
      },
      finish: async () => {
        const masters = await this.masters();
        for (const master of new Set([to, from, ...masters]))
          await ask(master, "CLUSTER", "SETSLOT", slot, "NODE", toId);
        await this.#owner(has(slot), async (owner) => owner === to);
      },
    };
  }

  stop(): Promise<void> {
    return stopAll(this.nodes);
  }

  /** Nodes take a new node from one who meets it only: let all meet. */
  async #introduce(node: RedisServer): Promise<void> {
    // Before Redis 7 it is none to choose, and known to all.
    const [, busPort] = (await ask(node, "CONFIG", "GET", "cluster-port")) as string[];
    const others = this.nodes.filter((other) => other !== node);
    await Promise.all(
      others.map((other) =>
        ask(other, "CLUSTER", "MEET", this.#host, portFor(node), ...(busPort === undefined ? [] : [busPort])),
      ),
    );
  }

  async #assign([master, ...replicas]: readonly RedisServer[], at: number): Promise<void> {
    if (master === undefined) return;
    const firstOf = (shard: number) => Math.ceil((shard * SLOTS) / this.#shards.length);
    const slots = Array.from({ length: firstOf(at + 1) - firstOf(at) }, (_, i) => firstOf(at) + i);
    await ask(master, "CLUSTER", "ADDSLOTS", ...slots);
    const id = await idOf(master);
    await Promise.all(replicas.map((replica) => ask(replica, "CLUSTER", "REPLICATE", id)));
  }

  #others(node: RedisServer): readonly RedisServer[] {
    const shard = this.#shards.find((members) => members.includes(node)) ?? [];
    return shard.filter((member) => member !== node);
  }

  /** True when all nodes that run serve. */
  async #serves(): Promise<boolean> {
    const states = await ofRunning(this.nodes, async (node) => String(await ask(node, "CLUSTER", "INFO")));
    return states.every((state) => state.startsWith("cluster_state:ok"));
  }

  /** Resolves with the node of which all that run say it, once it is as wanted. */
  async #owner(
    says: (view: NodeView) => boolean,
    wanted: (node: RedisServer) => Promise<boolean> = async () => true,
  ): Promise<RedisServer> {
    let owner: RedisServer | undefined;
    await soon("the nodes agree on a master", async () => {
      const views = await ofRunning(this.nodes, viewOf);
      const ports = new Set(views.map((view) => view.find(says)?.port));
      owner = this.nodes.find(({ port }) => ports.size === 1 && ports.has(port));
      return owner !== undefined && wanted(owner);
    });
    if (owner === undefined) throw new Error("there is no master");
    return owner;
  }
}

async function viewOf(node: RedisServer): Promise<readonly NodeView[]> {
  const lines = String(await ask(node, "CLUSTER", "NODES"))
    .trim()
    .split("\n");
  return lines.map((line) => {
    const [id = "", address = "", flags = "", , , , , link, ...ranges] = line.split(" ");
    const port = Number(/:(\d+)@/.exec(address)?.[1]);
    // Those on their way are in brackets. A replica of Valkey tells them as well.
    const slots = ranges.filter((range) => !range.startsWith("["));
    return { id, port, flags: flags.split(","), connected: link === "connected", slots };
  });
}

async function idOf(node: RedisServer): Promise<string> {
  return String(await ask(node, "CLUSTER", "MYID"));
}

async function keysIn(slot: number, node: RedisServer): Promise<string[]> {
  return (await ask(node, "CLUSTER", "GETKEYSINSLOT", slot, BATCH)) as string[];
}

function isReached({ connected, flags }: NodeView): boolean {
  return connected && !flags.some((flag) => /^(?:fail\??|handshake|noaddr)$/.test(flag));
}

function has(slot: number): (view: NodeView) => boolean {
  return ({ slots }) =>
    slots.some((range) => {
      const [first = "", last = first] = range.split("-");
      return Number(first) <= slot && slot <= Number(last);
    });
}

/** Who gave its slots away to another of the shard has none. */
function servesFor(shard: readonly RedisServer[]): (view: NodeView) => boolean {
  return ({ port, slots }) => slots.length > 0 && shard.some((node) => node.port === port);
}
