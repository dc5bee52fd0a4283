import { types } from "node:util";
import { hashSlot } from "../../protocol/hash-slot.js";
import type { RawReply, ScriptCall } from "../../protocol/script-call.js";
import type { ClientEvents, ClientPort, MasterAnswers } from "../client-port.js";
import { DriverClosedError, type DriverTraits, type PubSubFamily, ServerReplyError } from "../driver.js";
import { type ScriptCommand, wordsOf } from "../known-scripts.js";
import type { ConnectionEvents, PubSubConnection } from "../own/connection.js";
import { type AnyClient, BYTES, isCluster, serverName } from "./client.js";
import { GlideListening } from "./connections.js";
import { fromGlide, fromSubscriber } from "./errors.js";
import { GlideSubscriptions } from "./subscriptions.js";

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 1_000;

/** Subscribers that a driver listens with. A driver ends all subscriptions of its subscriber except its own. */
const taken = new WeakSet<AnyClient>();

/**
 * A server or a cluster. `calls` is absent, because GLIDE reconnects without an event. It may do so between a script and its `WAIT`, and on
 * a connection without writes `WAIT` counts all replicas.
 */
export class ValkeyGlidePort implements ClientPort {
  readonly traits: DriverTraits;
  readonly toError: ClientPort["toError"] = fromGlide;
  resets = 0;
  outage: Error | undefined;
  readonly notOpen = undefined;
  readonly #client: AnyClient;
  readonly #subscriber: AnyClient;
  readonly #events: ClientEvents;
  readonly #subscriptions: { readonly [Family in PubSubFamily]: GlideSubscriptions };
  #subscriberEnded = false;

  constructor(client: AnyClient, subscriber: AnyClient, events: ClientEvents) {
    if (taken.has(subscriber)) {
      throw new TypeError(
        "valkeyGlideDriver refuses a subscriber that another driver uses: create one for each driver, or close the other driver",
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
    this.#events = events;
    this.#subscriptions = {
      classic: new GlideSubscriptions(subscriber, "classic"),
      sharded: new GlideSubscriptions(subscriber, "sharded"),
    };
  }

  /** GLIDE does not say which server has a slot, so each slot counts as a place of its own. */
  placeOf(key: string): string {
    return isCluster(this.#client) ? String(hashSlot(key)) : "";
  }

  async send(command: ScriptCommand, call: ScriptCall): Promise<RawReply> {
    const client = this.#client;
    const words = wordsOf(command, call);
    return textOf(
      await this.#answer(
        isCluster(client)
          ? client.customCommand(words, {
              decoder: BYTES,
              route: { type: "primarySlotKey", key: call.keys[0] ?? "" },
            })
          : client.customCommand(words, { decoder: BYTES }),
      ),
    );
  }

  async everywhere(commands: readonly (readonly string[])[]): Promise<readonly MasterAnswers[]> {
    const toAll = { decoder: BYTES, route: "allPrimaries" } as const;
    const asked = commands.map((words) => this.#answer(this.#client.customCommand([...words], toAll)));
    const replies = new Map<string, RawReply[]>();
    for (const answers of (await Promise.all(asked)) as readonly { key: unknown; value: unknown }[][]) {
      for (const { key, value } of answers) {
        const server = String(key);
        replies.set(server, [...(replies.get(server) ?? []), textOf(value)]);
      }
    }
    const masters = [...replies].map(([server, own]) => ({ server, replies: own }));
    if (masters.every((master) => master.replies.length === commands.length)) return masters;
    throw new Error("the masters changed while GLIDE asked them");
  }

  retryDelayMs(failures: number): number | undefined {
    return this.#subscriberEnded
      ? undefined
      : Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LONGEST_RETRY_MS);
  }

  open(_: string, family: PubSubFamily, events: ConnectionEvents): PubSubConnection {
    const toError = (failure: unknown) => {
      const error = fromSubscriber(failure);
      if (error instanceof DriverClosedError) this.#subscriberEnded = true;
      return error;
    };
    return new GlideListening(this.#subscriber, this.#subscriptions[family], toError, events);
  }

  async close(): Promise<void> {
    const { classic, sharded } = this.#subscriptions;
    // A client that has ended has no connection.
    await Promise.all([classic, sharded].map((ones) => ones.endOthers(this).catch(() => undefined)));
    // From now on another driver may have the subscriber.
    taken.delete(this.#subscriber);
  }

  async #answer(answer: Promise<unknown>): Promise<unknown> {
    try {
      const reply = await answer;
      this.outage = undefined;
      return reply;
    } catch (failure) {
      const error = fromGlide(failure);
      if (error instanceof ServerReplyError) this.outage = undefined;
      else if (!(error instanceof DriverClosedError)) this.#onLost(error);
      throw error;
    }
  }

  /**
   * GLIDE never resends a command that the server may have run. It emits no event when it has reconnected, so a loss between two calls goes
   * unnoticed. A call without an answer, which GLIDE rejects after its `requestTimeout`, counts as a loss.
   */
  #onLost(error: unknown): void {
    this.resets += 1;
    this.#events.onLost();
    if (types.isNativeError(error) && error.name === "ConnectionError") this.outage = error;
  }
}

/** Turns arrays of arrays of bytes into text. */
function textOf(reply: unknown): RawReply {
  if (Array.isArray(reply)) return reply.map(textOf);
  return typeof reply === "object" && reply !== null ? String(reply) : (reply as RawReply);
}
