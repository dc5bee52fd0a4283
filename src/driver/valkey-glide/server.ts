import { hashSlot } from "../../protocol/hash-slot.js";
import type { RawReply, ScriptCall } from "../../protocol/script-call.js";
import {
  type ChannelListener,
  type Driver,
  DriverClosedError,
  type DriverTraits,
  type PubSubFamily,
  ServerReplyError,
  type Ticket,
  type Unsubscribe,
} from "../driver.js";
import { KnownScripts, type ScriptCommands } from "../known-scripts.js";
import { Subscriber } from "../own/subscriber.js";
import {
  BYTES,
  isCluster,
  serverName,
  type ValkeyGlideClient,
  type ValkeyGlideClusterClient,
} from "./client.js";
import { GlideListening } from "./connections.js";
import { fromGlide, fromSubscriber } from "./errors.js";
import { GlideSubscriptions } from "./subscriptions.js";

type Client = ValkeyGlideClient | ValkeyGlideClusterClient;

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 1_000;

/** Subscribers that a driver listens with: it ends subscriptions as if nobody else had made them. */
const taken = new WeakSet<Client>();

/**
 * A server or a cluster. There is no `runReplicated`: GLIDE connects anew without telling, also between a script and its
 * `WAIT`, and on a connection that has written nothing `WAIT` counts all replicas.
 */
export class ValkeyGlideDriver implements Driver {
  readonly traits: DriverTraits;
  readonly #client: Client;
  readonly #subscriber: Client;
  readonly #scripts = new KnownScripts();
  readonly #commands: ScriptCommands;
  readonly #listeners: Readonly<Record<PubSubFamily, Listener>>;
  #subscriberEnded = false;
  #resets = 0;
  #outage: Error | undefined;
  #closed = false;

  constructor(client: Client, subscriber: Client) {
    if (taken.has(subscriber)) {
      throw new TypeError(
        "valkeyGlideDriver refuses a subscriber that another driver listens with: create one for each, or close the other",
      );
    }
    taken.add(subscriber);
    const cluster = isCluster(client);
    this.traits = {
      server: serverName(client),
      topology: cluster ? "cluster" : "standalone",
      sharded: cluster,
    };
    this.#client = client;
    this.#subscriber = subscriber;
    this.#commands = {
      eval: (call) => this.#send("EVAL", call.script.lua, call),
      evalsha: (call) => this.#send("EVALSHA", call.script.sha1, call),
    };
    this.#listeners = { classic: this.#listener("classic"), sharded: this.#listener("sharded") };
  }

  get resets(): number {
    return this.#resets;
  }

  get outage(): Error | undefined {
    return this.#outage;
  }

  /** GLIDE does not tell who has a slot, so that each is a place of its own. */
  placeOf(key: string): string {
    return this.traits.topology === "cluster" ? String(hashSlot(key)) : "";
  }

  async run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    if (this.#closed) throw new DriverClosedError();
    return this.#scripts.run(call, ticket, this.#commands);
  }

  async subscribe(
    channel: string,
    listener: ChannelListener,
    family: PubSubFamily = "classic",
  ): Promise<Unsubscribe> {
    if (this.#closed) throw new DriverClosedError();
    if (family === "sharded" && !this.traits.sharded)
      throw new TypeError("sharded messages are for clusters");
    return this.#listeners[family].subscriber.subscribe(channel, listener);
  }

  async close(): Promise<void> {
    const wasClosed = this.#closed;
    this.#closed = true;
    this.#scripts.close();
    await Promise.all(
      Object.values(this.#listeners).map(async ({ subscriber, subscriptions }) => {
        await subscriber.close();
        // A client that has ended has none.
        await subscriptions.endOthers(this).catch(() => undefined);
      }),
    );
    // Another driver may have it by then.
    if (!wasClosed) taken.delete(this.#subscriber);
  }

  #listener(family: PubSubFamily): Listener {
    const client = this.#subscriber;
    const subscriptions = new GlideSubscriptions(client, family);
    const subscriber = new Subscriber((events) => new GlideListening(client, subscriptions, events), {
      retryDelayMs: (failures) =>
        this.#subscriberEnded ? undefined : Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LONGEST_RETRY_MS),
      toError: (failure) => {
        const error = fromSubscriber(failure);
        if (error instanceof DriverClosedError) this.#subscriberEnded = true;
        return error;
      },
    });
    return { subscriber, subscriptions };
  }

  async #send(command: string, script: string, { keys, args }: ScriptCall): Promise<RawReply> {
    const client = this.#client;
    const words = [command, script, String(keys.length), ...keys, ...args];
    try {
      const reply = isCluster(client)
        ? client.customCommand(words, {
            decoder: BYTES,
            route: { type: "primarySlotKey", key: keys[0] ?? "" },
          })
        : client.customCommand(words, { decoder: BYTES });
      const text = textOf(await reply);
      this.#outage = undefined;
      return text;
    } catch (failure) {
      const error = fromGlide(failure);
      if (error instanceof ServerReplyError) this.#outage = undefined;
      else if (!(error instanceof DriverClosedError)) this.#onLost(error);
      throw error;
    }
  }

  /**
   * GLIDE sends nothing again that the server may have carried out, and does not tell when it has connected anew: of a
   * connection that was lost while no call was under way nobody learns. Here one may have been, after each call without
   * an answer, for which GLIDE does not wait any longer than its `requestTimeout`.
   */
  #onLost(error: unknown): void {
    this.#resets += 1;
    this.#scripts.forget();
    if (error instanceof Error && error.name === "ConnectionError") this.#outage = error;
  }
}

interface Listener {
  readonly subscriber: Subscriber;
  readonly subscriptions: GlideSubscriptions;
}

/** Arrays of arrays of bytes as text. */
function textOf(reply: unknown): RawReply {
  if (Array.isArray(reply)) return reply.map(textOf);
  return typeof reply === "object" && reply !== null ? String(reply) : (reply as RawReply);
}
