import { errorMonitor } from "node:events";
import type { RawReply, ScriptCall } from "../../protocol/script-call.js";
import type { ClientEvents, ClientPort } from "../client-port.js";
import type { DriverTraits, PubSubFamily, Ticket } from "../driver.js";
import { type ScriptCommand, wordsOf } from "../known-scripts.js";
import type { ConnectionEvents, OwnConnection } from "../own/connection.js";
import { MasterCalls, type Masters } from "../own/master-calls.js";
import { NextAnswer } from "../own/next-answer.js";
import {
  isPool,
  isSentinel,
  type NodeRedisClient,
  type NodeRedisSentinel,
  type NodeRedisServer,
  nodeName,
  serverName,
} from "./client.js";
import { AS_THEY_ARE, duplicateOnce, NodeRedisConnection, retryDelayMs } from "./connections.js";
import { fromNodeRedis } from "./errors.js";
import { type Lend, lendOf } from "./lend.js";
import { ConnectionLosses } from "./losses.js";
import type { NodeRedisReconnectStrategy } from "./options.js";

const NOT_OPEN =
  "the node-redis client is not open: it was not connected yet, or it was closed, or its reconnectStrategy gave up";

/** One server, by one client or a pool, or the present master among those that Sentinels watch. */
export class NodeRedisServerPort implements ClientPort, Masters {
  readonly traits: DriverTraits;
  readonly calls: MasterCalls = new MasterCalls(this);
  readonly toError: ClientPort["toError"] = fromNodeRedis;
  readonly confirm?: () => Promise<void>;
  readonly #redis: NodeRedisServer;
  readonly #events: ClientEvents;
  readonly #lend: Lend;
  readonly #losses: ConnectionLosses;
  /** Of the client that the last connection of our own was duplicated from. */
  #reconnectStrategy: NodeRedisReconnectStrategy | undefined;
  #error: Error | undefined;
  #place = "";
  #closed = false;

  constructor(redis: NodeRedisServer, events: ClientEvents) {
    const topology = isSentinel(redis) ? "sentinel" : "standalone";
    this.traits = { server: serverName(redis), topology };
    this.#redis = redis;
    this.#events = events;
    this.#losses = new ConnectionLosses(events.onLost);
    this.#lend = lendOf(redis, this.#losses);
    if (isPlain(redis)) this.#losses.look(redis);
    // `errorMonitor` leaves it to the caller whether "error" has a listener.
    redis.on(errorMonitor, this.#onError);
    if (isSentinel(redis)) {
      redis.on("topology-change", this.#onChange);
      this.confirm = () => this.#confirmed.get();
    }
  }

  get resets(): number {
    return this.#losses.count;
  }

  get outage(): Error | undefined {
    return isPlain(this.#redis) && this.#redis.isReady ? undefined : this.#error;
  }

  get notOpen(): string | undefined {
    return this.#redis.isOpen ? undefined : NOT_OPEN;
  }

  placeOf(): string {
    if (isSentinel(this.#redis)) this.#look(this.#redis);
    return this.#place;
  }

  /**
   * Node-redis rejects what was under way when a connection is lost and sends again only what it had not written yet, but
   * for a Sentinel's client: that one does it all over again, here.
   */
  send(command: ScriptCommand, call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    let failure: unknown;
    return this.#lend(async (client) => {
      if (failure !== undefined && (ticket.givenUp || this.#closed)) throw failure;
      try {
        const reply = await client.sendCommand(wordsOf(command, call), AS_THEY_ARE);
        this.#onAnswer();
        return reply as RawReply;
      } catch (error) {
        failure = error;
        throw error;
      }
    });
  }

  retryDelayMs(failures: number): number | undefined {
    return retryDelayMs(this.#reconnectStrategy, failures);
  }

  open(_: string, family: PubSubFamily, events: ConnectionEvents): OwnConnection {
    return new NodeRedisConnection(this.#duplicate, family, events, this.#onAnswer);
  }

  async close(): Promise<void> {
    this.#closed = true;
    // What createClient() returns inherits from the client that emits, and shares its listeners until the last one is
    // removed. A listener added after that is not called, so the next "error" would end the process.
    if (this.#redis.eventNames().length > 1) this.#redis.off(errorMonitor, this.#onError);
    if (isSentinel(this.#redis)) this.#redis.off("topology-change", this.#onChange);
  }

  readonly #duplicate = () =>
    this.#lend(async (client) => {
      this.#reconnectStrategy = client.options?.socket?.reconnectStrategy;
      return duplicateOnce(client);
    });

  readonly #onAnswer = () => {
    this.#error = undefined;
  };

  /** The master has changed, or a server was added or removed. Node-redis lends the client of a new master once that answers. */
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
    this.#events.onReplaced();
    // A microtask later: the caller of `placeOf` is not to be called back while that call runs.
    queueMicrotask(this.#events.onMoved);
  }

  readonly #onError = (error: Error) => {
    this.#error = error;
    if (isPlain(this.#redis)) this.#losses.look(this.#redis);
    // A pool emits only the errors of its clients, not their losses: each error counts as one.
    else if (isPool(this.#redis)) this.#losses.add();
  };
}

/** Node-redis emits what has failed. */
function toldByItsErrors(): void {}

function isPlain(redis: NodeRedisServer): redis is NodeRedisClient {
  return !(isPool(redis) || isSentinel(redis));
}
