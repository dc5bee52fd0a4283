import { errorMonitor } from "node:events";
import type { RawReply, ScriptCall } from "../protocol/script-call.js";
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
} from "./driver.js";
import { type IoredisClient, serverName } from "./ioredis-client.js";
import { connectLazy, openMaster, openPubSub } from "./ioredis-connections.js";
import { fromIoredis } from "./ioredis-errors.js";
import { IoredisScripts } from "./ioredis-scripts.js";
import { Moves } from "./moves.js";
import { ServerConnections } from "./own-connections.js";

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
  /** Among those that Sentinels watch, the server that answers now. */
  #place = "";
  #closed = false;

  constructor(redis: IoredisClient) {
    const { options } = redis;
    const topology = options.sentinels?.length ? "sentinel" : "standalone";
    this.traits = { server: serverName(options), topology };
    this.#redis = redis;
    this.#scripts = new IoredisScripts(redis);
    const duplicate = (options: object) => redis.duplicate({ ...options, db: databaseOf(redis) });
    this.#own = new ServerConnections({
      retryDelayMs: (failures) => delayOf(redis.options.retryStrategy?.(failures)),
      toError: fromIoredis,
      listen: (events) => openPubSub(duplicate, "classic", events),
      reach: (events) => openMaster(duplicate, events),
    });
    this.#ready = redis.status === "ready";
    if (this.#ready) this.#look();
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
    return this.#place;
  }

  onMoved(moved: () => void): () => void {
    return this.#moves.add(moved);
  }

  run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    const closed = this.#whyClosed();
    if (closed !== undefined) return Promise.reject(closed);
    connectLazy(this.#redis);
    return this.#scripts.run(call, ticket);
  }

  async runReplicated(call: ScriptCall, ticket: Ticket, demand: ReplicaDemand): Promise<ReplicatedReply> {
    this.#assertOpen();
    return this.#own.run(call, ticket, demand);
  }

  async subscribe(channel: string, listener: ChannelListener, family?: PubSubFamily): Promise<Unsubscribe> {
    this.#assertOpen();
    return this.#own.subscribe(channel, listener, family);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#scripts.close();
    this.#redis.off("ready", this.#onReady);
    this.#redis.off("close", this.#onClose);
    this.#redis.off("end", this.#onEnd);
    this.#redis.off(errorMonitor, this.#onError);
    await this.#own.close();
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
    this.#look();
  };

  #look(): void {
    const { remoteAddress, remotePort } = this.#redis.stream ?? {};
    const place = `${remoteAddress}:${remotePort}`;
    if (this.traits.topology !== "sentinel" || place === this.#place) return;
    this.#place = place;
    this.#moves.tell();
  }

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
  readonly #onEnd = () => this.#scripts.rejectUnanswered(new Error(ENDED));
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
