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
import { Moves } from "../moves.js";
import { ServerConnections } from "../own/own-connections.js";
import { type IoredisClient, serverName } from "./client.js";
import { connectLazy, openMaster, openPubSub } from "./connections.js";
import { fromIoredis } from "./errors.js";
import { PresentMaster } from "./present-master.js";
import { IoredisScripts } from "./scripts.js";

const ENDED = "the ioredis client has ended, by quit(), disconnect() or its retryStrategy";

/** One server, or the present master among those that Sentinels watch. */
export class IoredisServerDriver implements Driver {
  readonly traits: DriverTraits;
  readonly #redis: IoredisClient;
  readonly #scripts: IoredisScripts;
  readonly #own: ServerConnections;
  readonly #moves = new Moves();
  #resets = 0;
  #outage: Error | undefined;
  #ready: boolean;
  /** Among those that Sentinels watch; undefined where there are none. */
  readonly #master: PresentMaster | undefined;
  #closed = false;

  constructor(redis: IoredisClient) {
    const { options } = redis;
    const topology = options.sentinels?.length ? "sentinel" : "standalone";
    this.traits = { server: serverName(options), topology };
    this.#redis = redis;
    this.#scripts = new IoredisScripts(redis);
    // A client that is to be led to replicas stays where it is.
    if (topology === "sentinel" && options.role !== "slave") {
      this.#master = new PresentMaster(redis, () => {
        this.#own.move();
        this.#moves.tell();
      });
    }
    const master = this.#master;
    const duplicate = (options: object) => (master ?? redis).duplicate({ ...options, db: databaseOf(redis) });
    this.#own = new ServerConnections({
      retryDelayMs: (failures) => delayOf(redis.options.retryStrategy?.(failures)),
      toError: fromIoredis,
      listen: (events) => openPubSub(duplicate, "classic", events),
      reach: (events) => openMaster(duplicate, events),
      ...(master && { confirm: () => master.confirm() }),
    });
    this.#ready = redis.status === "ready";
    if (this.#ready) master?.onReady();
    redis.on("ready", this.#onReady);
    redis.on("close", this.#onClose);
    redis.on("end", this.#onEnd);
    // Whether the caller listens to errors himself stays his choice.
    redis.on(errorMonitor, this.#onError);
  }

  get resets(): number {
    return this.#resets;
  }

  get outage(): Error | undefined {
    return this.#outage;
  }

  placeOf(): string {
    return this.#master?.place ?? "";
  }

  onMoved(moved: () => void): () => void {
    return this.#moves.add(moved);
  }

  async lookForMoves(): Promise<void> {
    await this.#master?.look();
  }

  run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    const closed = this.#whyClosed();
    if (closed !== undefined) return Promise.reject(closed);
    connectLazy(this.#redis);
    void this.#master?.meet();
    const reached = this.#master?.reached;
    return reached === undefined ? this.#scripts.run(call, ticket) : this.#runThere(reached, call, ticket);
  }

  /** Once the client is connected to the present master. */
  async #runThere(reached: Promise<void>, call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    await reached;
    if (ticket.givenUp) throw new Error("the call was given up before it was sent");
    return this.run(call, ticket);
  }

  async runReplicated(call: ScriptCall, ticket: Ticket, demand: ReplicaDemand): Promise<ReplicatedReply> {
    this.#assertOpen();
    await this.#master?.meet();
    return this.#own.run(call, ticket, demand);
  }

  async subscribe(channel: string, listener: ChannelListener, family?: PubSubFamily): Promise<Unsubscribe> {
    this.#assertOpen();
    await this.#master?.meet();
    return this.#own.subscribe(channel, listener, family);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#scripts.close();
    this.#redis.off("ready", this.#onReady);
    this.#redis.off("close", this.#onClose);
    this.#redis.off("end", this.#onEnd);
    this.#redis.off(errorMonitor, this.#onError);
    await Promise.all([this.#own.close(), this.#master?.close()]);
  }

  /** A client that has ended may be connected again by its owner. */
  #whyClosed(): DriverClosedError | undefined {
    if (this.#closed) return new DriverClosedError();
    return this.#redis.status === "end" ? new DriverClosedError(ENDED) : undefined;
  }

  #assertOpen(): void {
    const closed = this.#whyClosed();
    if (closed !== undefined) throw closed;
  }

  readonly #onReady = () => {
    this.#ready = true;
    this.#outage = undefined;
    this.#master?.onReady();
  };

  /**
   * ioredis sends a command again only after the connection that carried it was closed, be it for
   * `autoResendUnfulfilledCommands` or for a `reconnectOnError` that answers 2. It carries scripts only once ready,
   * so a connection that never was ready has lost nothing.
   */
  readonly #onClose = () => {
    this.#scripts.forget();
    this.#outage = this.#redis.stream?.errored ?? this.#outage;
    if (!this.#ready) return;
    this.#ready = false;
    this.#resets += 1;
    // ioredis then forgets what was under way.
    if (this.#redis.options.autoResendUnfulfilledCommands === false)
      this.#scripts.rejectUnanswered(new Error("the connection was closed before the answer"));
  };

  readonly #onError = (error: Error) => {
    if (!this.#ready) this.#outage = error;
  };

  /** What waited to be sent again when ioredis gave up. */
  readonly #onEnd = () => {
    this.#scripts.rejectUnanswered(new Error(ENDED));
    this.#master?.onEnd();
  };
}

/** The database that the options name, or `SELECT` has chosen since. */
function databaseOf(redis: IoredisClient): number | undefined {
  // Private in the types of ioredis.
  const { condition } = redis as { readonly condition?: { readonly select?: number } | null };
  return condition?.select ?? redis.options.db;
}

/** What a retry strategy says: a number of milliseconds, or that there is to be no other try. */
export function delayOf(answer: unknown): number | undefined {
  return typeof answer === "number" ? answer : undefined;
}
