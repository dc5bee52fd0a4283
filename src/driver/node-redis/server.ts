import { errorMonitor } from "node:events";
import type { RawReply, ScriptCall } from "../../protocol/script-call.js";
import {
  type ChannelListener,
  type Driver,
  DriverClosedError,
  type DriverTraits,
  type PubSubFamily,
  type ReplicaDemand,
  type ReplicatedReply,
  type Ticket,
  type Unsubscribe,
} from "../driver.js";
import { KnownScripts } from "../known-scripts.js";
import { Moves } from "../moves.js";
import { NextAnswer } from "../own/next-answer.js";
import { ServerConnections } from "../own/own-connections.js";
import {
  isPool,
  isSentinel,
  type NodeRedisClient,
  type NodeRedisReconnectStrategy,
  type NodeRedisSentinel,
  type NodeRedisServer,
  nodeName,
  serverName,
} from "./client.js";
import { AS_THEY_ARE, duplicateOnce, openMaster, openPubSub, retryDelayMs } from "./connections.js";
import { fromNodeRedis } from "./errors.js";
import { type Lend, lendOf } from "./lend.js";
import { ConnectionLosses } from "./losses.js";

const NOT_OPEN =
  "the node-redis client is not open: it was not connected yet, or it was closed, or its reconnectStrategy gave up";

/** One server, by one client or a pool, or the present master among those that Sentinels watch. */
export class NodeRedisServerDriver implements Driver {
  readonly traits: DriverTraits;
  readonly #redis: NodeRedisServer;
  readonly #lend: Lend;
  readonly #known = new KnownScripts();
  /** The next server need not know the scripts that the one before knew. */
  readonly #losses = new ConnectionLosses(() => this.#known.forget());
  readonly #own: ServerConnections;
  readonly #moves = new Moves();
  /** As the client says of which the last connection of our own was made. */
  #reconnectStrategy: NodeRedisReconnectStrategy | undefined;
  #error: Error | undefined;
  #place = "";
  #closed = false;

  constructor(redis: NodeRedisServer) {
    const topology = isSentinel(redis) ? "sentinel" : "standalone";
    this.traits = { server: serverName(redis), topology };
    this.#redis = redis;
    this.#lend = lendOf(redis, this.#losses);
    this.#own = new ServerConnections({
      retryDelayMs: (failures) => retryDelayMs(this.#reconnectStrategy, failures),
      toError: fromNodeRedis,
      listen: (events) => openPubSub(this.#duplicate, "classic", events),
      reach: (events) => openMaster(this.#duplicate, events),
      ...(isSentinel(redis) && { confirm: () => this.#confirmed.get() }),
    });
    if (isPlain(redis)) this.#losses.look(redis);
    // Whether the caller listens to errors himself stays his choice.
    redis.on(errorMonitor, this.#onError);
    if (isSentinel(redis)) redis.on("topology-change", this.#onChange);
  }

  get resets(): number {
    return this.#losses.count;
  }

  get outage(): Error | undefined {
    return isPlain(this.#redis) && this.#redis.isReady ? undefined : this.#error;
  }

  placeOf(): string {
    if (isSentinel(this.#redis)) this.#look(this.#redis);
    return this.#place;
  }

  onMoved(moved: () => void): () => void {
    return this.#moves.add(moved);
  }

  async run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    this.#assertOpen();
    try {
      const reply = await this.#known.run(call, ticket, {
        eval: ({ script }) => this.#send("EVAL", script.lua, call, ticket),
        evalsha: ({ script }) => this.#send("EVALSHA", script.sha1, call, ticket),
      });
      this.#error = undefined;
      return reply;
    } catch (error) {
      throw fromNodeRedis(error);
    }
  }

  async runReplicated(call: ScriptCall, ticket: Ticket, demand: ReplicaDemand): Promise<ReplicatedReply> {
    this.#assertOpen();
    const reply = await this.#own.run(call, ticket, demand);
    this.#error = undefined;
    return reply;
  }

  async subscribe(channel: string, listener: ChannelListener, family?: PubSubFamily): Promise<Unsubscribe> {
    this.#assertOpen();
    return this.#own.subscribe(channel, listener, family);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#known.close();
    // What createClient() returns inherits from the client that emits, and shares its listeners until the last one is
    // taken off: whoever listens after that is heard by nobody, so that the next error would end the process.
    if (this.#redis.eventNames().length > 1) this.#redis.off(errorMonitor, this.#onError);
    if (isSentinel(this.#redis)) this.#redis.off("topology-change", this.#onChange);
    await this.#own.close();
  }

  /** A client that has ended may be connected again by its owner. */
  #assertOpen(): void {
    if (this.#closed) throw new DriverClosedError();
    if (!this.#redis.isOpen) throw new DriverClosedError(NOT_OPEN);
  }

  /**
   * Node-redis rejects what was under way when a connection is lost and sends again only what it had not written yet, but
   * for a Sentinel's client: that one does it all over again, here.
   */
  #send(command: string, text: string, { keys, args }: ScriptCall, ticket: Ticket): Promise<RawReply> {
    let failure: unknown;
    return this.#lend(async (client) => {
      if (failure !== undefined && (ticket.givenUp || this.#closed)) throw failure;
      try {
        const words = [command, text, String(keys.length), ...keys, ...args];
        return (await client.sendCommand(words, AS_THEY_ARE)) as RawReply;
      } catch (error) {
        failure = error;
        throw error;
      }
    });
  }

  readonly #duplicate = () =>
    this.#lend(async (client) => {
      this.#reconnectStrategy = client.options?.socket?.reconnectStrategy;
      return duplicateOnce(client);
    });

  /** Another server is the master, or has come or gone. Of a new master node-redis lends a client once it answers. */
  readonly #onChange = () =>
    void this.#lend(async () => undefined).then(() => this.placeOf(), toldByItsErrors);

  /** Has node-redis ask the Sentinels, which it does when a server says that it is no master. */
  readonly #confirmed = new NextAnswer(async () => {
    let isAsked = false;
    await this.#lend(async () => {
      if (isAsked) return;
      isAsked = true;
      throw new Error("READONLY or not, the Sentinels know");
    });
    this.placeOf();
  });

  #look(sentinel: NodeRedisSentinel): void {
    const master = sentinel.getMasterNode();
    const before = this.#place;
    if (master !== undefined) this.#place = nodeName(master);
    if (this.#place === before || before === "" || this.#closed) return;
    this.#own.move();
    // Whoever asks for the place is not to be called meanwhile.
    queueMicrotask(() => this.#moves.tell());
  }

  readonly #onError = (error: Error) => {
    this.#error = error;
    if (isPlain(this.#redis)) this.#losses.look(this.#redis);
    // Of its clients it tells no more than their errors.
    else if (isPool(this.#redis)) this.#losses.add();
  };
}

/** Node-redis emits what has failed. */
function toldByItsErrors(): void {}

function isPlain(redis: NodeRedisServer): redis is NodeRedisClient {
  return !(isPool(redis) || isSentinel(redis));
}
