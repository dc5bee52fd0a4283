import { systemClock, type Timer } from "../clock.js";
import { DriverClosedError, ServerReplyError } from "./driver.js";
import type { PubSubConnection, PubSubEvents } from "./pub-sub-connection.js";
import {
  BYTES,
  isCluster,
  type ValkeyGlideClient,
  type ValkeyGlideClusterClient,
} from "./valkey-glide-client.js";
import { fromSubscriber } from "./valkey-glide-errors.js";
import type { GlideSubscriptions } from "./valkey-glide-subscriptions.js";

type Client = ValkeyGlideClient | ValkeyGlideClusterClient;

/** GLIDE connects anew by itself and tells nobody: it is asked so often for its connections while somebody listens. */
const LOOK_MS = 1_000;

/**
 * Listens with a client of the caller's. What the port calls a connection is here the time in which the client has the
 * same connections, so that those who listen are told when messages may have been missed.
 */
export class GlideListening implements PubSubConnection {
  readonly #client: Client;
  readonly #subscriptions: GlideSubscriptions;
  readonly #events: PubSubEvents;
  readonly #stopReading: () => void;
  /** Settles once it is known what is looked after; undefined while nobody listens. */
  #watched: Promise<void> | undefined;
  #timer: Timer | undefined;
  #over = false;

  constructor(client: Client, subscriptions: GlideSubscriptions, events: PubSubEvents) {
    this.#client = client;
    this.#subscriptions = subscriptions;
    this.#events = events;
    this.#stopReading = read(client, events);
    this.#watch().then(() => events.onReady(), toldByEnd);
  }

  async subscribe(channel: string): Promise<void> {
    this.#subscriptions.claim(channel, this);
    await this.#watch();
    await this.#subscriptions.subscribe(channel);
  }

  unsubscribe(channel: string): Promise<void> {
    return this.#subscriptions.unsubscribe(channel);
  }

  async close(): Promise<void> {
    this.#over = true;
    this.#timer?.cancel();
    this.#stopReading();
    this.#subscriptions.giveUp();
  }

  #watch(): Promise<void> {
    this.#watched ??= connectionsOf(this.#client).then(
      (connections) => this.#lookLater(connections),
      (error: unknown) => {
        this.#events.onEnd(error);
        throw error;
      },
    );
    return this.#watched;
  }

  #lookLater(before: string): void {
    if (this.#over) return;
    this.#timer = systemClock.schedule(LOOK_MS, () => {
      this.#look(before).catch((error: unknown) => this.#events.onEnd(error));
    });
  }

  async #look(before: string): Promise<void> {
    if ((await connectionsOf(this.#client)) !== before)
      throw new Error("GLIDE has connected anew, or a slot of the cluster has moved");
    if (this.#over) return;
    // Who stopped listening while there was no connection has left them behind.
    await this.#subscriptions.endOthers(this);
    if (this.#subscriptions.inUse) this.#lookLater(before);
    else this.#watched = undefined;
  }
}

/** Whoever opened it hears of its end. */
function toldByEnd(): void {}

const readers = new WeakMap<Client, Set<PubSubEvents>>();

/** A read can not be taken back: one goes on for the life of the client, for those who listen at the time. */
function read(client: Client, events: PubSubEvents): () => void {
  const known = readers.get(client);
  const told = known ?? new Set();
  told.add(events);
  if (known === undefined) {
    readers.set(client, told);
    void readAll(client, told);
  }
  return () => told.delete(events);
}

async function readAll(client: Client, told: ReadonlySet<PubSubEvents>): Promise<void> {
  try {
    for (;;) {
      const { channel, message, pattern } = await client.getPubSubMessage();
      if (pattern) continue;
      for (const events of told) events.onMessage(String(channel), String(message));
    }
  } catch (error) {
    readers.delete(client);
    for (const events of told) events.onEnd(error);
  }
}

/** Names the connections that the client has now; in a cluster, also the state of who has which slot. */
async function connectionsOf(client: Client): Promise<string> {
  try {
    if (!isCluster(client)) return nameOf(await client.customCommand(["CLIENT", "INFO"], { decoder: BYTES }));
    const toAll = { decoder: BYTES, route: "allPrimaries" } as const;
    const answers = await Promise.all([
      client.customCommand(["CLIENT", "INFO"], toAll),
      client.customCommand(["CLUSTER", "INFO"], toAll),
    ]);
    // One for each master, in any order.
    return (answers.flat() as { key: unknown; value: unknown }[])
      .map(({ key, value }) => `${key} ${nameOf(value)}`)
      .sort()
      .join();
  } catch (failure) {
    const error = fromSubscriber(failure);
    // A user who may not ask is not told. Nor is one of a cluster while one of its masters is gone: there are others.
    if (error instanceof ServerReplyError) return error.code;
    if (isCluster(client) && !(error instanceof DriverClosedError)) return "unknown";
    throw error;
  }
}

/** The id alone may be the same again after a restart of the server. */
function nameOf(info: unknown): string {
  return (
    String(info)
      .match(/\b(id|addr|cluster_(current|my)_epoch)[=:]\S+/g)
      ?.join(" ") ?? ""
  );
}
