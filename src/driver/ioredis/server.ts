import { errorMonitor } from "node:events";
import type { RawReply, ScriptCall } from "../../protocol/script-call.js";
import type { ClientEvents, ClientPort } from "../client-port.js";
import type { DriverTraits, PubSubFamily } from "../driver.js";
import type { ScriptCommand } from "../known-scripts.js";
import type { ConnectionEvents, OwnConnection } from "../own/connection.js";
import { MasterCalls, type Masters } from "../own/master-calls.js";
import { listen, unlisten } from "../shared-listeners.js";
import { type IoredisClient, type IoredisOwnClient, serverName } from "./client.js";
import { connectLazy, delayOf, openConnection } from "./connections.js";
import { fromIoredis, isGivenUp } from "./errors.js";
import { PresentMaster } from "./present-master.js";
import { Unanswered } from "./unanswered.js";
import { selectedDatabase } from "./unofficial.js";

const ENDED = "the ioredis client has ended, by quit(), disconnect() or its retryStrategy";

/** One server, or the present master of several servers that Sentinels watch. */
export class IoredisServerPort implements ClientPort, Masters {
  readonly traits: DriverTraits;
  readonly calls: MasterCalls = new MasterCalls(this);
  readonly toError: ClientPort["toError"] = fromIoredis;
  readonly placeOf?: () => string;
  readonly lookForMoves?: () => Promise<void>;
  readonly confirm?: () => Promise<void>;
  readonly mayBeReplaced?: () => boolean;
  readonly reached?: () => Promise<void> | undefined;
  resets = 0;
  outage: Error | undefined;
  readonly #redis: IoredisClient;
  readonly #events: ClientEvents;
  readonly #unanswered = new Unanswered();
  #ready: boolean;
  /** The present master; undefined without Sentinels. */
  readonly #master: PresentMaster | undefined;

  constructor(redis: IoredisClient, events: ClientEvents) {
    const { options } = redis;
    const topology = options.sentinels?.length ? "sentinel" : "standalone";
    this.traits = { server: serverName(options), topology };
    this.#redis = redis;
    this.#events = events;
    // With the role "slave" the caller wants a replica: the client is not made to reconnect to the master.
    if (topology === "sentinel" && options.role !== "slave") {
      const master = new PresentMaster(redis, () => {
        events.onReplaced();
        events.onMoved();
      });
      this.#master = master;
      this.placeOf = () => master.place;
      this.lookForMoves = () => master.look();
      this.confirm = () => master.confirm();
      this.mayBeReplaced = () => master.isFailingOver;
      this.reached = () => {
        void master.meet();
        return master.reached;
      };
    }
    this.#ready = redis.status === "ready";
    if (this.#ready) this.#master?.onReady();
    listen(redis, "ready", this.#onReady);
    listen(redis, "close", this.#onClose);
    listen(redis, "end", this.#onEnd);
    // A listener of `errorMonitor` does not count as a listener of "error", so the caller still decides whether errors are handled.
    listen(redis, errorMonitor, this.#onError);
  }

  get notOpen(): string | undefined {
    return this.#redis.status === "end" ? ENDED : undefined;
  }

  readonly met = (): Promise<unknown> | undefined => this.#master?.meet();

  send(command: ScriptCommand, call: ScriptCall): Promise<RawReply> {
    connectLazy(this.#redis);
    return this.#unanswered.send(this.#redis, command, call);
  }

  retryDelayMs(failures: number): number | undefined {
    return delayOf(this.#redis.options.retryStrategy?.(failures));
  }

  open(_: string, family: PubSubFamily, events: ConnectionEvents): OwnConnection {
    return openConnection(this.#duplicate, family, events);
  }

  async close(): Promise<void> {
    unlisten(this.#redis, "ready", this.#onReady);
    unlisten(this.#redis, "close", this.#onClose);
    unlisten(this.#redis, "end", this.#onEnd);
    unlisten(this.#redis, errorMonitor, this.#onError);
    await this.#master?.close();
  }

  /** Uses the database that a later `SELECT` has chosen, or else the database of the options. */
  readonly #duplicate = (options: object): IoredisOwnClient => {
    const redis = this.#redis;
    const db = selectedDatabase(redis) ?? redis.options.db;
    return (this.#master ?? redis).duplicate({ ...options, db });
  };

  readonly #onReady = () => {
    this.#ready = true;
    this.outage = undefined;
    this.#master?.onReady();
  };

  /**
   * Because of `autoResendUnfulfilledCommands`, or of a `reconnectOnError` that answers 2, ioredis sends a command again, but only after the
   * connection that carried it was closed. A connection carries scripts only once it is ready, so a connection that never was ready has lost
   * nothing.
   */
  readonly #onClose = () => {
    this.#events.onLost();
    this.outage = this.#redis.stream?.errored ?? this.outage;
    if (!this.#ready) return;
    this.#ready = false;
    this.resets += 1;
    // ioredis then forgets the commands under way.
    if (this.#redis.options.autoResendUnfulfilledCommands === false)
      this.#unanswered.reject(new Error("the connection was closed before the answer"));
  };

  readonly #onError = (error: Error) => {
    if (!this.#ready && !isGivenUp(error)) this.outage = error;
  };

  /** ioredis has given up: rejects the commands that waited to be sent again. */
  readonly #onEnd = () => {
    this.#unanswered.reject(new Error(ENDED));
    this.#master?.onEnd();
  };
}
