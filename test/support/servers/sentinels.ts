import { ask, info, ofRunning, soon } from "./ask.js";
import { isBefore7 } from "./redis-program.js";
import { bothAddresses, portFor, type RedisServer, startMany, startRedis, stopAll } from "./redis-server.js";
import { isSynced, replicaAt, replicationArgs } from "./replicated-redis.js";
import type { ServerTls } from "./server-tls.js";

interface Address {
  readonly host: string;
  readonly port: number;
}

/** A master and its replicas, watched by Sentinels, who make a replica the master when most of them miss theirs. */
export interface WatchedRedis {
  /** What the Sentinels call the master, whichever it is. */
  readonly name: string;
  /** Where they are, as Redis clients want to know it. */
  readonly sentinels: readonly Address[];
  /** The Sentinels themselves, to be frozen or killed. */
  readonly watchers: readonly RedisServer[];
  /** Master and replicas. */
  readonly nodes: readonly RedisServer[];
  /** The master of which the Sentinels that run tell clients; all of them the same. */
  master(): Promise<RedisServer>;
  /** Resolves once all Sentinels and all nodes run, know each other and are in sync. */
  settled(): Promise<void>;
  /** Has the Sentinels make a replica the master. Resolves with it as `successor` does, after a second. */
  failover(): Promise<RedisServer>;
  /**
   * Resolves once the Sentinels that run tell clients of another master, which is one. That takes two to four seconds
   * after a master was killed or frozen.
   */
  successor(old: RedisServer): Promise<RedisServer>;
  /**
   * Until `settled`, Sentinels tell each other so rarely of a new master, and leave an old one alone for four times as long. Before Redis
   * 7 that can not be chosen: they leave it alone for ten seconds.
   */
  announceEvery(periodMs: number): Promise<void>;
  /** Ends all of them, frozen or not. Safe twice. */
  stop(): Promise<void>;
}

const NAME = "main";

/** How long the first Sentinel waits for an answer of the master before it takes it for gone. */
const DOWN_AFTER_MS = 1_000;

/** Sentinels that could not agree who of them does it try again after twice this time. */
const FAILOVER_TIMEOUT_MS = 2_000;

/** How often a Sentinel asks and tells while it gets to know the others, instead of every few seconds. */
const BUSY_MS = { INFO: 100, PING: 500, ASK: 100, PUBLISH: 100 };

/**
 * And while all is well. After four times PUBLISH it takes a new master of which it was not told for a replica gone
 * astray, and who makes a master looks only once in a second whether it is one. In a failover it also asks replicas
 * only once in a second, and makes none a master of which it knows nothing since five times PING or three times INFO.
 */
const CALM_MS = { INFO: 500, PING: 500, ASK: 100, PUBLISH: 500 };

export interface WatchedOptions {
  readonly replicas?: number;
  readonly sentinels?: number;
  /** The loopback address at which all are told of and reached. */
  readonly host?: "127.0.0.1" | "::1";
  /** Makes all of them speak TLS, also with each other. */
  readonly tls?: ServerTls;
}

/** Starts them in about half a second. */
export async function startSentinels(options: WatchedOptions = {}): Promise<WatchedRedis> {
  const { replicas = 1, sentinels = 3, host = "127.0.0.1", tls } = options;
  const common = tls === undefined ? {} : { tls };
  const addresses = host === "::1" ? bothAddresses : [];
  const watchers = await startMany(sentinels, { ...common, role: "sentinel", args: addresses });
  const nodes: RedisServer[] = [];
  const watched = new Watched(host, watchers, nodes);
  try {
    const master = await startRedis({ ...common, args: [...replicationArgs, ...addresses] });
    nodes.push(master);
    const { args = [] } = replicaAt(portFor(master), host);
    nodes.push(...(await startMany(replicas, { ...common, args: [...args, ...addresses] })));
    // A Sentinel that cannot be told to look often sees them as they are when it looks first.
    await watched.synced(master);
    const at = { host, port: portFor(master) };
    await Promise.all(watchers.map((watcher, index) => watch(watcher, index, at, sentinels)));
    await watched.settled();
    return watched;
  } catch (error) {
    await watched.stop();
    throw error;
  }
}

async function watch(
  watcher: RedisServer,
  at: number,
  { host, port }: Address,
  sentinels: number,
): Promise<void> {
  const majority = Math.floor(sentinels / 2) + 1;
  await ask(watcher, "SENTINEL", "MONITOR", NAME, host, port, majority);
  const settings = {
    // Where all notice at once, each votes for itself.
    "down-after-milliseconds": DOWN_AFTER_MS * (1 + at / 2),
    "failover-timeout": FAILOVER_TIMEOUT_MS,
    "parallel-syncs": 1,
  };
  await ask(watcher, "SENTINEL", "SET", NAME, ...Object.entries(settings).flat());
}

class Watched implements WatchedRedis {
  readonly name: string = NAME;
  readonly watchers: readonly RedisServer[];
  readonly nodes: readonly RedisServer[];
  readonly #host: string;

  constructor(host: string, watchers: readonly RedisServer[], nodes: readonly RedisServer[]) {
    this.#host = host;
    this.watchers = watchers;
    this.nodes = nodes;
  }

  get sentinels(): readonly Address[] {
    return this.watchers.map((watcher) => ({ host: this.#host, port: portFor(watcher) }));
  }

  master(): Promise<RedisServer> {
    return this.#agreed("the Sentinels agree on the master", async () => true);
  }

  successor(old: RedisServer): Promise<RedisServer> {
    return this.#agreed("the Sentinels know another master", async (master) => {
      return master !== old && (await info(master, "replication")).get("role") === "master";
    });
  }

  async failover(): Promise<RedisServer> {
    const old = await this.master();
    const watcher = this.watchers.find(({ running }) => running);
    if (watcher === undefined) throw new Error("no Sentinel runs");
    // Refused while another failover is not over.
    await soon("a failover begins", async () => (await ask(watcher, "SENTINEL", "FAILOVER", NAME)) === "OK");
    return this.successor(old);
  }

  async settled(): Promise<void> {
    if (isBefore7()) await this.#lookAtOnce();
    // A Sentinel that was restarted has forgotten its periods.
    await this.#setPeriods(BUSY_MS);
    await soon("all is well with Sentinels and nodes", async () => {
      const master = await this.master();
      return (await this.#areSynced(master)) && (await this.#areAllContent(master));
    });
    await this.#setPeriods(CALM_MS);
  }

  announceEvery(periodMs: number): Promise<void> {
    return this.#setPeriods({ PUBLISH: periodMs });
  }

  /** Resolves once all nodes run and have what the master has. */
  async synced(master: RedisServer): Promise<void> {
    await soon("all nodes are in sync", () => this.#areSynced(master));
  }

  stop(): Promise<void> {
    return stopAll([...this.watchers, ...this.nodes]);
  }

  async #areSynced(master: RedisServer): Promise<boolean> {
    const replicas = this.nodes.filter((node) => node !== master);
    const synced = await Promise.all(replicas.map((replica) => isSynced(master, replica)));
    return !synced.includes(false);
  }

  /**
   * Before Redis 7 the periods can not be chosen: a Sentinel looks at nodes every ten seconds, and after that makes a
   * replica of a master that came back. Does the latter in its place, and has each Sentinel forget the nodes that it
   * knows, so that it asks the master for them.
   */
  async #lookAtOnce(): Promise<void> {
    const master = await this.master();
    if (await this.#areAllContent(master)) return;
    for (const node of this.nodes) {
      if (node !== master) await ask(node, "REPLICAOF", "127.0.0.1", master.port);
    }
    await this.synced(master);
    await Promise.all(this.watchers.map((watcher) => ask(watcher, "SENTINEL", "RESET", NAME)));
  }

  async #areAllContent(master: RedisServer): Promise<boolean> {
    const states = await Promise.all(this.watchers.map((watcher) => this.#isContent(watcher, master)));
    return !states.includes(false);
  }

  async #setPeriods(periodsMs: Partial<typeof CALM_MS>): Promise<void> {
    if (isBefore7()) return;
    const settings = Object.entries(periodsMs).flatMap(([what, periodMs]) => [`${what}-PERIOD`, periodMs]);
    await Promise.all(this.watchers.map((watcher) => ask(watcher, "SENTINEL", "DEBUG", ...settings)));
  }

  /** Resolves with the master of which all Sentinels that run tell clients, once it is as wanted. */
  async #agreed(what: string, wanted: (master: RedisServer) => Promise<boolean>): Promise<RedisServer> {
    let master: RedisServer | undefined;
    await soon(what, async () => {
      const told = await ofRunning(this.watchers, (watcher) =>
        ask(watcher, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME),
      );
      const ports = new Set(told.map((address) => Number((address as string[])[1])));
      master = this.nodes.find((node) => ports.size === 1 && ports.has(portFor(node)));
      return master !== undefined && wanted(master);
    });
    if (master === undefined) throw new Error("there is no master");
    return master;
  }

  /** True when a Sentinel finds all others there, and each node in its role. */
  async #isContent(watcher: RedisServer, master: RedisServer): Promise<boolean> {
    const [ours, replicas, others] = await Promise.all(
      ["MASTER", "REPLICAS", "SENTINELS"].map((what) => ask(watcher, "SENTINEL", what, NAME)),
    );
    const rows = [ours, ...(replicas as unknown[]), ...(others as unknown[])].map(fieldsOf);
    // Valkey keeps what another Sentinel has last said of a master that was replaced since.
    const all = (flags: string) =>
      rows.filter((row) => row.get("flags")?.replace("sentinel,master_down", "sentinel") === flags);
    const synced = all("slave").filter(
      (row) => row.get("master-link-status") === "ok" && row.get("master-port") === String(portFor(master)),
    );
    return (
      all("master").length === 1 &&
      synced.length === this.nodes.length - 1 &&
      all("sentinel").length === this.watchers.length - 1
    );
  }
}

/** A reply of names and values by turns. */
function fieldsOf(reply: unknown): ReadonlyMap<string, string> {
  const words = reply as string[];
  return new Map(words.flatMap((word, at) => (at % 2 === 0 ? [[word, words[at + 1] ?? ""] as const] : [])));
}
