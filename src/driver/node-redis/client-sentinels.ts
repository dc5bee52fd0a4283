import { systemClock, type Timer } from "../../clock.js";
import { type Address, addressOf } from "../addresses.js";
import { onlyEnd } from "../own/connection.js";
import { fieldsOf, type OpenSentinel, Sentinels } from "../own/sentinels.js";
import { type NodeRedisClient, type NodeRedisSentinel, nodeName } from "./client.js";
import { duplicateOnce, NodeRedisConnection } from "./connections.js";
import type { Lend } from "./lend.js";
import type { NodeRedisAddress, NodeRedisOptions, NodeRedisSentinelOptions } from "./options.js";
import { sentinelOptionsOf } from "./unofficial.js";

/**
 * If the Sentinel did not answer when it was asked for the other Sentinels, the question is repeated after this time. Until then holdfast
 * listens to no Sentinel.
 */
const LOOK_AGAIN_MS = 1_000;
/** A Sentinel that says nothing for this long counts as gone. */
const ANSWER_TIMEOUT_MS = 1_000;
/** Removes the options that are meant for servers: connections to Sentinels get them only if the client sets them for Sentinels. */
const NO_SERVER: object = {
  database: undefined,
  name: undefined,
  username: undefined,
  password: undefined,
  credentialsProvider: undefined,
};

/**
 * The Sentinels of a client of node-redis, on connections of our own: the client itself asks only one Sentinel at a time, and does not
 * report a failover in progress.
 */
export class ClientSentinels {
  readonly #redis: NodeRedisSentinel;
  readonly #lend: Lend;
  readonly #told: (master: Address) => void;
  /** Undefined while the addresses of the Sentinels are unknown. */
  #sentinels: Sentinels | undefined;
  #met: Promise<void> | undefined;
  #isMet = false;
  #again: Timer | undefined;
  #closed = false;

  /** @param told is called with the master each time the Sentinels have named it */
  constructor(redis: NodeRedisSentinel, lend: Lend, told: (master: Address) => void) {
    this.#redis = redis;
    this.#lend = lend;
    this.#told = told;
  }

  /** As {@link Sentinels.isFailingOver}. */
  get isFailingOver(): boolean {
    return this.#sentinels?.isFailingOver ?? false;
  }

  /**
   * Listens to the Sentinels from the first call on.
   * @returns a promise that settles when the Sentinels were first asked; undefined afterwards
   */
  meet(): Promise<void> | undefined {
    if (this.#isMet || this.#closed) return undefined;
    this.#met ??= this.#meet().finally(() => {
      this.#isMet = true;
    });
    return this.#met;
  }

  /**
   * As {@link Sentinels.confirm}.
   * @returns false if the addresses of the Sentinels are unknown
   */
  async confirm(): Promise<boolean> {
    await this.#sentinels?.confirm();
    return this.#sentinels !== undefined;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#again?.cancel();
    await this.#sentinels?.close();
  }

  /** Never rejects. */
  async #meet(): Promise<void> {
    try {
      // New connections copy the options of this client, even when its server is gone.
      const client = await this.#lend(async (lent) => lent);
      const options = sentinelOptionsOf(this.#redis) ?? (await this.#find(client));
      if (!this.#closed) await this.#listen(client, options);
    } catch {
      // The Sentinels may want a password, and version 5 does not expose it.
      this.#lookAgain();
    }
  }

  async #listen(client: NodeRedisClient, options: NodeRedisSentinelOptions): Promise<void> {
    const { name, sentinelRootNodes, nodeAddressMap } = options;
    const openings = sentinelRootNodes.map((place) => openingOf(client, place, options));
    this.#sentinels = new Sentinels(openings, name, (announced) =>
      this.#told(addressOf(announced, nodeAddressMap)),
    );
    this.#sentinels.listen();
    await this.#sentinels.ask();
  }

  #lookAgain(): void {
    if (this.#closed) return;
    this.#again = systemClock.schedule(LOOK_AGAIN_MS, () => {
      this.#met = undefined;
      this.#isMet = false;
    });
  }

  /** Asks the Sentinel that the client asked last for the name of the master, and for the other Sentinels. */
  async #find(client: NodeRedisClient): Promise<NodeRedisSentinelOptions> {
    const [place, master] = [this.#redis.getSentinelNode(), this.#redis.getMasterNode()];
    if (place === undefined || master === undefined) throw new Error("the client knows no Sentinel yet");
    const link = openingOf(client, place)(onlyEnd(() => undefined));
    const timeout = systemClock.schedule(ANSWER_TIMEOUT_MS, () => void link.close());
    try {
      const masters = rowsOf(await link.send(["SENTINEL", "MASTERS"]));
      const name = masters.find((row) => nodeName(placeOf(row)) === nodeName(master))?.get("name");
      if (name === undefined) throw new Error("the Sentinel watches no master at this address");
      const others = rowsOf(await link.send(["SENTINEL", "SENTINELS", name]));
      return { name, sentinelRootNodes: [place, ...others.map(placeOf)] };
    } finally {
      timeout.cancel();
      await link.close();
    }
  }
}

/** @param options the client's own options; without them, connections to Sentinels are secured like connections to servers */
function openingOf(
  client: NodeRedisClient,
  { host, port }: NodeRedisAddress,
  options?: NodeRedisSentinelOptions,
): OpenSentinel {
  const place = addressOf(`${host}:${port}`, options?.nodeAddressMap);
  const others: NodeRedisOptions = {
    ...NO_SERVER,
    ...(options && { socket: {}, ...options.sentinelClientOptions }),
  };
  return (events) =>
    new NodeRedisConnection(async () => duplicateOnce(client, place, others), "classic", events);
}

function rowsOf(reply: unknown): readonly ReadonlyMap<string, string>[] {
  return Array.isArray(reply) ? reply.map(fieldsOf) : [];
}

function placeOf(row: ReadonlyMap<string, string>): NodeRedisAddress {
  return { host: row.get("ip"), port: Number(row.get("port")) };
}
