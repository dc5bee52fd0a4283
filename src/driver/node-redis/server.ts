import { errorMonitor } from "node:events";
import { systemClock } from "../../clock.js";
import type { RawReply, ScriptCall } from "../../protocol/script-call.js";
import { inRootContext } from "../../root-context.js";
import type { Address } from "../addresses.js";
import type { ClientEvents, ClientPort } from "../client-port.js";
import type { DriverTraits, PubSubFamily, Ticket } from "../driver.js";
import { type ScriptCommand, wordsOf } from "../known-scripts.js";
import type { ConnectionEvents, OwnConnection } from "../own/connection.js";
import { MasterCalls, type Masters } from "../own/master-calls.js";
import { NextAnswer } from "../own/next-answer.js";
import { listen, unlisten } from "../shared-listeners.js";
import {
  isPool,
  isSentinel,
  type NodeRedisClient,
  type NodeRedisSentinel,
  type NodeRedisServer,
  nodeName,
  serverName,
} from "./client.js";
import { ClientSentinels } from "./client-sentinels.js";
import { AS_THEY_ARE, duplicateOnce, NodeRedisConnection, retryDelayMs } from "./connections.js";
import { fromNodeRedis } from "./errors.js";
import { type Lend, lendOf } from "./lend.js";
import { ConnectionLosses } from "./losses.js";
import type { NodeRedisReconnectStrategy } from "./options.js";

const NOT_OPEN =
  "the node-redis client is not open: it was not connected yet, or it was closed, or its reconnectStrategy gave up";

/** How often, and with which pause, the client looks for the named master: a Sentinel learns of a new master within two seconds. */
const MOST_TRIES = 50;
const TRY_AGAIN_MS = 100;

/** One server, by one client or a pool, or the present master of several servers that Sentinels watch. */
export class NodeRedisServerPort implements ClientPort, Masters {
  readonly traits: DriverTraits;
  readonly calls: MasterCalls = new MasterCalls(this);
  readonly toError: ClientPort["toError"] = fromNodeRedis;
  readonly confirm?: () => Promise<void>;
  readonly mayBeReplaced?: () => boolean;
  readonly met?: () => Promise<unknown> | undefined;
  readonly reached?: () => Promise<void> | undefined;
  readonly #redis: NodeRedisServer;
  readonly #events: ClientEvents;
  readonly #lend: Lend;
  readonly #losses: ConnectionLosses;
  /** The strategy of the client that the last connection of our own was duplicated from. */
  #reconnectStrategy: NodeRedisReconnectStrategy | undefined;
  #error: Error | undefined;
  readonly #sentinels: ClientSentinels | undefined;
  /** The master that the Sentinels name, which the client may not have found yet; undefined while they do not name a master. */
  #named: Address | undefined;
  /** Settles when the client has found that master; undefined while the client does not look for one. */
  #following: Promise<void> | undefined;
  /** A client that was lent: connections of our own are duplicated from it even when its server is gone. */
  #template: NodeRedisClient | undefined;
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
    // A listener of `errorMonitor` does not count as a listener of "error", so the caller still decides whether errors are handled.
    listen(redis, errorMonitor, this.#onError);
    if (isSentinel(redis)) {
      listen(redis, "topology-change", this.#onChange);
      const sentinels = new ClientSentinels(redis, this.#lend, this.#onNamed);
      this.#sentinels = sentinels;
      this.met = () => sentinels.meet();
      this.reached = () => {
        void sentinels.meet();
        return this.#isElsewhere ? this.#follow() : undefined;
      };
      this.confirm = async () => {
        if (!(await sentinels.confirm())) await this.#rediscovered.get();
      };
      this.mayBeReplaced = () => sentinels.isFailingOver;
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
   * When a connection is lost, node-redis rejects the commands under way and resends only commands that it had not written yet. A
   * Sentinel's client repeats all commands, so this function runs again for each repeat.
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
    // The object from createClient() inherits from the client that emits, and shares its listeners until the last listener is removed. A
    // listener that is added after that is not called, so the next "error" would end the process.
    unlisten(this.#redis, errorMonitor, this.#onError, this.#redis.eventNames().length > 1);
    if (isSentinel(this.#redis)) unlisten(this.#redis, "topology-change", this.#onChange);
    await this.#sentinels?.close();
  }

  readonly #onNamed = (master: Address) => {
    this.#named = master;
    this.placeOf();
    if (this.#isElsewhere) void this.#follow();
  };

  /** Whether the client is connected to another server than the named master. */
  get #isElsewhere(): boolean {
    const found = isSentinel(this.#redis) ? this.#redis.getMasterNode() : undefined;
    return this.#named !== undefined && found !== undefined && nodeName(found) !== nodeName(this.#named);
  }

  /**
   * Makes the client look for the master until it has found the named master: the Sentinel that the client asks may lag behind. Never
   * rejects.
   */
  #follow(): Promise<void> {
    this.#following ??= inRootContext(async () => {
      for (let tries = 0; tries < MOST_TRIES && this.#isElsewhere && !this.#closed; tries += 1) {
        if (tries > 0) await new Promise<void>((resolve) => systemClock.schedule(TRY_AGAIN_MS, resolve));
        await this.#rediscovered.get().catch(toldByItsErrors);
      }
      this.#following = undefined;
    });
    return this.#following;
  }

  readonly #duplicate = async () => {
    const client = this.#template ?? (await this.#lend(async (lent) => lent));
    this.#reconnectStrategy = client.options?.socket?.reconnectStrategy;
    if (this.#named === undefined) return duplicateOnce(client);
    this.#template = client;
    return duplicateOnce(client, this.#named);
  };

  readonly #onAnswer = () => {
    this.#error = undefined;
  };

  /**
   * The master has changed, or a server was added or removed. Node-redis lends the client of a new master only once that master answers.
   */
  readonly #onChange = () =>
    void this.#lend(async () => undefined).then(() => this.placeOf(), toldByItsErrors);

  /** Makes node-redis ask the Sentinels, as it does when a server says that it is not a master. */
  readonly #rediscovered = new NextAnswer(async () => {
    let isAsked = false;
    await this.#lend(async () => {
      if (isAsked) return;
      isAsked = true;
      throw new Error("READONLY or not, the Sentinels know");
    });
    this.placeOf();
  });

  #look(sentinel: NodeRedisSentinel): void {
    const master = this.#named ?? sentinel.getMasterNode();
    const before = this.#place;
    if (master !== undefined) this.#place = nodeName(master);
    if (this.#place === before || before === "" || this.#closed) return;
    this.#events.onReplaced();
    // Called a microtask later, because the caller of `placeOf` must not be called back while that call runs.
    queueMicrotask(this.#events.onMoved);
  }

  readonly #onError = (error: Error) => {
    this.#error = error;
    if (isPlain(this.#redis)) this.#losses.look(this.#redis);
    // A pool emits only the errors of its clients, not their losses: each error counts as a loss.
    else if (isPool(this.#redis)) this.#losses.add();
  };
}

/** Node-redis emits errors. */
function toldByItsErrors(): void {}

function isPlain(redis: NodeRedisServer): redis is NodeRedisClient {
  return !(isPool(redis) || isSentinel(redis));
}
