import type { RawReply, ScriptCall } from "../protocol/script-call.js";
import { inRootContext } from "../root-context.js";
import {
  type ChannelListener,
  type Driver,
  DriverClosedError,
  type DriverTraits,
  type Ticket,
  type Unsubscribe,
} from "./driver.js";
import { assertUsable, type IoredisClient, serverName } from "./ioredis-client.js";
import { fromIoredis } from "./ioredis-errors.js";
import { IoredisSubscriber } from "./ioredis-subscriber.js";

export type {
  IoredisClient,
  IoredisConnection,
  IoredisOptions,
  IoredisStream,
  IoredisSubscriberClient,
} from "./ioredis-client.js";

/**
 * Runs holdfast on a `Redis` client of ioredis 5 or 6. The client stays the caller's: it is used for scripts and
 * never closed. One `duplicate()` of it is opened when something first has to be listened to.
 *
 * @throws TypeError for what is no client of ioredis, a Cluster, a client with `keyPrefix` or `stringNumbers`, or one that subscribes or monitors.
 */
export function ioredisDriver(redis: IoredisClient): Driver {
  assertUsable(redis);
  return new IoredisDriver(redis);
}

const ENDED = "the ioredis client has ended, by quit(), disconnect() or its retryStrategy";

class IoredisDriver implements Driver {
  readonly traits: DriverTraits;
  readonly #redis: IoredisClient;
  readonly #subscriber: IoredisSubscriber;
  /** Scripts that went to the server in full on the present connection. */
  readonly #known = new Set<string>();
  /** What rejects the commands under way, as ioredis leaves some without an answer for ever. */
  readonly #unanswered = new Set<(error: Error) => void>();
  #resets = 0;
  #outage: Error | undefined;
  #ready: boolean;
  #closed = false;

  constructor(redis: IoredisClient) {
    this.traits = { server: serverName(redis.options), topology: "standalone" };
    this.#redis = redis;
    this.#subscriber = new IoredisSubscriber(redis);
    this.#ready = redis.status === "ready";
    redis.on("ready", this.#onReady);
    redis.on("close", this.#onClose);
    redis.on("end", this.#onEnd);
  }

  get resets(): number {
    return this.#resets;
  }

  get outage(): Error | undefined {
    return this.#outage;
  }

  async run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    this.#assertOpen();
    // A lazy client connects with its first command, and would do so in the context of this caller.
    if (this.#redis.status === "wait")
      void inRootContext(() => this.#redis.connect().catch(toldByTheCommand));
    try {
      // The text goes along the first time, rather than after a NOSCRIPT, when later calls would overtake this one.
      return await (this.#known.has(call.script.sha1) ? this.#evalsha(call) : this.#eval(call));
    } catch (error) {
      const unknownScript = error instanceof Error && error.message.startsWith("NOSCRIPT");
      if (!unknownScript || ticket.givenUp || this.#closed) throw fromIoredis(error);
    }
    try {
      return await this.#eval(call);
    } catch (error) {
      throw fromIoredis(error);
    }
  }

  async subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    this.#assertOpen();
    return this.#subscriber.subscribe(channel, listener);
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#redis.off("ready", this.#onReady);
    this.#redis.off("close", this.#onClose);
    this.#redis.off("end", this.#onEnd);
    return this.#subscriber.close();
  }

  #eval({ script, keys, args }: ScriptCall): Promise<RawReply> {
    this.#known.add(script.sha1);
    return this.#answered(this.#redis.eval(script.lua, keys.length, ...keys, ...args));
  }

  #evalsha({ script, keys, args }: ScriptCall): Promise<RawReply> {
    return this.#answered(this.#redis.evalsha(script.sha1, keys.length, ...keys, ...args));
  }

  #answered(answer: Promise<unknown>): Promise<RawReply> {
    return new Promise((resolve, reject) => {
      this.#unanswered.add(reject);
      const settled = answer.finally(() => this.#unanswered.delete(reject));
      (settled as Promise<RawReply>).then(resolve, reject);
    });
  }

  /** A client that has ended may be connected again by its owner. */
  #assertOpen(): void {
    if (this.#closed) throw new DriverClosedError();
    if (this.#redis.status === "end") throw new DriverClosedError(ENDED);
  }

  #rejectUnanswered(error: Error): void {
    for (const reject of this.#unanswered) reject(error);
    this.#unanswered.clear();
  }

  readonly #onReady = () => {
    this.#ready = true;
    this.#outage = undefined;
  };

  /**
   * ioredis sends a command again only after the connection that carried it was closed, be it for
   * `autoResendUnfulfilledCommands` or for a `reconnectOnError` that answers 2. It carries scripts only once ready,
   * so a connection that never was ready has lost nothing.
   */
  readonly #onClose = () => {
    this.#known.clear();
    this.#outage = this.#redis.stream?.errored ?? this.#outage;
    if (!this.#ready) return;
    this.#ready = false;
    this.#resets += 1;
    // ioredis then forgets what was under way.
    if (this.#redis.options.autoResendUnfulfilledCommands === false)
      this.#rejectUnanswered(new Error("the connection was closed before the answer"));
  };

  /** What waited to be sent again when ioredis gave up. */
  readonly #onEnd = () => this.#rejectUnanswered(new Error(ENDED));
}

/** A connection that fails rejects the commands that wait for it as well. */
function toldByTheCommand(): void {}
