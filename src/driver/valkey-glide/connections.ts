import { systemClock, type Timer } from "../../clock.js";
import { DriverClosedError, ServerReplyError } from "../driver.js";
import type { ConnectionEvents, PubSubConnection } from "../own/connection.js";
import { type AnyClient, BYTES, isCluster, type ValkeyGlideClusterClient } from "./client.js";
import { fromSubscriber } from "./errors.js";
import type { GlideSubscriptions } from "./subscriptions.js";

/**
 * GLIDE reconnects by itself and emits no event. While there is a subscription, this is the pause between two questions about its
 * connections.
 */
const LOOK_MS = 1_000;
/** If a cluster has not answered within this time, one of its masters is gone or suspended. */
const ANSWER_MS = 500;

/**
 * Listens with the caller's client. Here the port's "connection" lasts as long as the client keeps the same connections and, in a cluster,
 * each master keeps the same slots. After a change the listeners are told that messages may have been missed. They are told the same after
 * each look that gets no answer.
 */
export class GlideListening implements PubSubConnection {
  readonly #client: AnyClient;
  readonly #subscriptions: GlideSubscriptions;
  readonly #toError: (failure: unknown) => unknown;
  readonly #events: ConnectionEvents;
  readonly #stopReading: () => void;
  /** Settles after the first look at the connections; later looks compare with it. Undefined without a subscription. */
  #watched: Promise<void> | undefined;
  #timer: Timer | undefined;
  #over = false;

  /** @param toError maps a rejection of GLIDE to the reported error */
  constructor(
    client: AnyClient,
    subscriptions: GlideSubscriptions,
    toError: (failure: unknown) => unknown,
    events: ConnectionEvents,
  ) {
    this.#client = client;
    this.#subscriptions = subscriptions;
    this.#toError = toError;
    this.#events = { ...events, onEnd: (failure) => events.onEnd(toError(failure)) };
    this.#stopReading = read(client, this.#events);
    this.#watch().then(events.onReady, toldByEnd);
  }

  async subscribe(channel: string): Promise<void> {
    this.#subscriptions.claim(channel, this);
    try {
      await this.#watch();
      await this.#subscriptions.subscribe(channel);
    } catch (failure) {
      throw this.#toError(failure);
    }
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

  #lookLater(before: ConnectionNames): void {
    if (this.#over) return;
    this.#timer = systemClock.schedule(LOOK_MS, () => {
      this.#look(before).catch((error: unknown) => this.#events.onEnd(error));
    });
  }

  async #look(before: ConnectionNames): Promise<void> {
    const connections = await connectionsOf(this.#client);
    if (connections !== UNKNOWN && connections !== before)
      throw new Error("GLIDE has reconnected, or a slot of the cluster has moved");
    if (this.#over) return;
    // GLIDE may still keep subscriptions that were ended while it had no connection.
    await this.#subscriptions.endOthers(this);
    if (this.#subscriptions.inUse) this.#lookLater(before);
    else this.#watched = undefined;
    if (connections === UNKNOWN) this.#events.onReady();
  }
}

/** Ignored: `#watch` has passed the error to `onEnd`. */
function toldByEnd(): void {}

const readers = new WeakMap<AnyClient, Set<ConnectionEvents>>();

/** A pending read of GLIDE cannot be cancelled: one loop reads for the life of the client, and delivers to the present listeners. */
function read(client: AnyClient, events: ConnectionEvents): () => void {
  const known = readers.get(client);
  const told = known ?? new Set();
  told.add(events);
  if (known === undefined) {
    readers.set(client, told);
    void readAll(client, told);
  }
  return () => told.delete(events);
}

async function readAll(client: AnyClient, told: ReadonlySet<ConnectionEvents>): Promise<void> {
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

/** A master of a cluster was too slow or failed, so the answers of all masters are missing: messages may have been missed anywhere. */
const UNKNOWN: unique symbol = Symbol("unknown");
type ConnectionNames = string | typeof UNKNOWN;

const MAY_NOT_ASK: ReadonlySet<string> = new Set(["NOPERM", "ERR"]);

/** Names the client's present connections and, in a cluster, the slots of each master. */
async function connectionsOf(client: AnyClient): Promise<ConnectionNames> {
  try {
    if (!isCluster(client)) {
      return connectionIn(await client.customCommand(["CLIENT", "INFO"], { decoder: BYTES }));
    }
    return await unlessLate(connectionsOfCluster(client));
  } catch (failure) {
    const error = fromSubscriber(failure);
    // A server that refuses the command will always refuse it to this user: the refusal counts as an answer that never changes. A master
    // that is still starting answers later.
    if (error instanceof ServerReplyError && (MAY_NOT_ASK.has(error.code) || !isCluster(client))) {
      return error.code;
    }
    if (isCluster(client) && !(error instanceof DriverClosedError)) return UNKNOWN;
    throw error;
  }
}

/**
 * Each master's own slots and its epoch. A slot that moves to the master with the highest epoch changes no epoch, and a slot that has moved
 * away and back changes only the epoch.
 */
async function connectionsOfCluster(client: ValkeyGlideClusterClient): Promise<string> {
  const toAll = { decoder: BYTES, route: "allPrimaries" } as const;
  const [connections, nodes] = (await Promise.all([
    client.customCommand(["CLIENT", "INFO"], toAll),
    client.customCommand(["CLUSTER", "NODES"], toAll),
  ])) as { key: unknown; value: unknown }[][];
  const told = [
    ...(connections ?? []).map(({ key, value }) => `${key} ${connectionIn(value)}`),
    ...(nodes ?? []).map(({ key, value }) => `${key} ${ownSlots(value)}`),
  ];
  // An entry for each master, in any order.
  return told.sort().join();
}

/** A restarted server may give the same id again, so the id alone is not enough. */
function connectionIn(info: unknown): string {
  return (
    String(info)
      .match(/\b(id|addr)=\S+/g)
      ?.join(" ") ?? ""
  );
}

/** "<id> <address> myself,master - <ping> <pong> <epoch> connected 0-5460 …", and moving slots in brackets. */
function ownSlots(nodes: unknown): string {
  const lines = String(nodes).split("\n");
  const own = lines.map((line) => line.split(" ")).find(([, , flags]) => flags?.startsWith("myself"));
  const [id, , , , , , epoch, , ...slots] = own ?? [];
  return [id, epoch, ...slots.filter((slot) => !slot.startsWith("["))].join(" ");
}

async function unlessLate(answer: Promise<string>): Promise<ConnectionNames> {
  let timer: Timer | undefined;
  const tooLate = new Promise<typeof UNKNOWN>((resolve) => {
    timer = systemClock.schedule(ANSWER_MS, () => resolve(UNKNOWN));
  });
  try {
    return await Promise.race([answer, tooLate]);
  } finally {
    timer?.cancel();
  }
}
