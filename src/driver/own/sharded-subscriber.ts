import { systemClock, type Timer } from "../../clock.js";
import { inRootContext } from "../../root-context.js";
import { type ChannelListener, DriverClosedError, ServerReplyError, type Unsubscribe } from "../driver.js";
import { ChannelTable, type PubSubLink } from "./channel-table.js";
import { LiveConnection, type PubSubOptions } from "./live-connection.js";
import { type Masters, MOST_REDIRECTS, newMaster } from "./masters.js";
import type { OpenPubSub } from "./pub-sub-connection.js";

/** After a subscription has ended by itself. By the last of them the servers of a cluster agree who has which slot. */
const LOOKS_MS: readonly number[] = [1_000, 5_000, 15_000];

/** How to listen to the masters of a cluster. */
export interface Shards extends Masters, PubSubOptions {
  /** How to open a connection to a master on which SSUBSCRIBE is sent. */
  opening(master: string): OpenPubSub;
}

/**
 * Listens to sharded messages, which only the master of the channel's slot has: one connection for each master that is
 * listened to. A subscription that ends, as its slot has moved or its master has failed, is made anew where the slot is then. The one
 * that had it before may have become a replica, which takes subscriptions as well, and hears of nothing: who has the slot is looked up
 * for a while, and what is listened to elsewhere follows.
 */
export class ShardedSubscriber {
  readonly #shards: Shards;
  readonly #channels = new ChannelTable();
  readonly #connections = new Map<string, ShardConnection>();
  /** Channels whose subscriptions are to be made anew when the pause is over. */
  readonly #lost = new Set<string>();
  #retry: Timer | undefined;
  #look: Timer | undefined;
  /** Connections that failed in a row. */
  #failures = 0;
  #closing: Promise<void> | undefined;

  constructor(shards: Shards) {
    this.#shards = shards;
    this.#channels.attach({
      subscribe: (channel) => this.#subscribe(channel),
      unsubscribe: (channel) => this.#unsubscribe(channel),
    });
  }

  async subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    if (this.#closing !== undefined) throw new DriverClosedError();
    const joined = this.#channels.add(channel, listener);
    if (this.#retry === undefined) this.#renew();
    return joined;
  }

  close(): Promise<void> {
    this.#closing ??= this.#shut();
    return this.#closing;
  }

  async #subscribe(channel: string): Promise<void> {
    try {
      let master = this.#shards.masterOf(channel);
      for (let redirects = 0; ; redirects += 1) {
        if (master === undefined) {
          await this.#shards.refresh();
          master = this.#shards.masterOf(channel);
        }
        if (master === undefined) throw new Error(`no master is known that has the slot of "${channel}"`);
        const moved = await this.#subscribeAt(master, channel);
        if (moved === undefined) return;
        if (redirects === MOST_REDIRECTS) throw new Error(`the slot of "${channel}" keeps moving`);
        master = await newMaster(this.#shards, channel, master, moved);
      }
    } catch (error) {
      // Those who listen already are not told of the failure.
      this.#renewLater([channel]);
      throw error;
    }
  }

  /** @returns the master that has the slot, where it is not this one */
  async #subscribeAt(master: string, channel: string): Promise<string | undefined> {
    if (this.#closing !== undefined) throw new DriverClosedError();
    const connection = this.#connections.get(master) ?? inRootContext(() => this.#connect(master));
    connection.channels.add(channel);
    try {
      const link = await connection.link;
      await link.subscribe(channel);
      // Its end can arrive together with the answer, and is then read before that is told.
      if (connection.ended) throw new Error("the connection has ended");
      return undefined;
    } catch (error) {
      this.#leave(connection, channel);
      const moved = movedTo(error);
      if (moved === undefined) throw error;
      return moved;
    }
  }

  async #unsubscribe(channel: string): Promise<void> {
    const connection = [...this.#connections.values()].find(({ channels }) => channels.has(channel));
    if (connection === undefined) return;
    try {
      const link = await connection.link;
      await link.unsubscribe(channel);
    } finally {
      this.#leave(connection, channel);
    }
  }

  /** A connection on which nobody listens is closed. */
  #leave(connection: ShardConnection, channel: string): void {
    connection.channels.delete(channel);
    if (connection.channels.size > 0 || this.#connections.get(connection.master) !== connection) return;
    this.#connections.delete(connection.master);
    void connection.close();
  }

  #connect(master: string): ShardConnection {
    const connection = new ShardConnection(master, this.#shards, {
      onReady: () => {
        this.#failures = 0;
      },
      onMessage: (channel, message) => this.#channels.deliver(channel, message),
      onEnd: () => this.#onEnd(connection),
    });
    this.#connections.set(master, connection);
    return connection;
  }

  #onEnd(connection: ShardConnection): void {
    const { master, channels } = connection;
    if (this.#connections.get(master) === connection) this.#connections.delete(master);
    this.#failures += 1;
    this.#channels.lost(channels);
    void this.#follow();
    this.#renewLater(channels);
    this.#lookAgain(LOOKS_MS);
  }

  #lookAgain([ms, ...others]: readonly number[]): void {
    this.#look?.cancel();
    if (ms === undefined || this.#closing !== undefined) return;
    const follow = async () => {
      await this.#follow();
      // Another end has begun anew meanwhile.
      if (this.#look === look) this.#lookAgain(others);
    };
    const look = systemClock.schedule(ms, () => void follow());
    this.#look = look;
  }

  /** Looks up who has which slot, and listens there. */
  async #follow(): Promise<void> {
    await this.#shards.refresh();
    for (const connection of this.#connections.values()) {
      for (const channel of connection.channels) {
        const master = this.#shards.masterOf(channel);
        if (master !== undefined && master !== connection.master) this.#move(connection, channel);
      }
    }
  }

  #move(connection: ShardConnection, channel: string): void {
    // What is being subscribed to is redirected.
    if (!this.#channels.lost([channel])) return;
    connection.link.then((link) => link.unsubscribe(channel)).catch(() => undefined);
    this.#leave(connection, channel);
    this.#channels.renew([channel]);
  }

  #renewLater(channels: Iterable<string>): void {
    if (this.#closing !== undefined) return;
    for (const channel of channels) this.#lost.add(channel);
    // One connection that fails is told of by itself and by all who wait for it.
    if (this.#retry !== undefined) return;
    const delayMs = this.#shards.retryDelayMs(Math.max(1, this.#failures));
    // Otherwise the next subscription tries again, for all.
    if (delayMs !== undefined) this.#retry = systemClock.schedule(delayMs, () => this.#renew());
  }

  #renew(): void {
    this.#retry = undefined;
    const channels = [...this.#lost];
    this.#lost.clear();
    this.#channels.renew(channels);
  }

  async #shut(): Promise<void> {
    this.#retry?.cancel();
    this.#look?.cancel();
    this.#channels.clear(new DriverClosedError());
    await Promise.all([...this.#connections.values()].map((connection) => connection.close()));
  }
}

interface ShardEvents {
  onReady(): void;
  onMessage(channel: string, message: string): void;
  onEnd(): void;
}

/** The connection to one master. */
class ShardConnection {
  /** Those that are listened to on it, or are about to be. */
  readonly channels = new Set<string>();
  /** Settles when it may be used, or never will be. */
  readonly link: Promise<PubSubLink>;
  ended = false;
  readonly #live: LiveConnection;
  readonly #fail: (error: unknown) => void;

  constructor(
    readonly master: string,
    shards: Shards,
    events: ShardEvents,
  ) {
    const { promise, resolve, reject } = newPromise<PubSubLink>();
    this.link = promise;
    this.#fail = reject;
    // Whoever waits for it hears of it.
    promise.catch(() => undefined);
    this.#live = new LiveConnection(shards.opening(master), shards, {
      onReady: () => {
        events.onReady();
        resolve(this.#live);
      },
      onMessage: events.onMessage,
      onEnd: (cause) => {
        this.ended = true;
        reject(cause);
        events.onEnd();
      },
    });
  }

  close(): Promise<void> {
    this.#fail(new DriverClosedError());
    return this.#live.close();
  }
}

function movedTo(error: unknown): string | undefined {
  if (!(error instanceof ServerReplyError) || error.code !== "MOVED") return undefined;
  return error.message.split(" ")[2];
}

function newPromise<T>() {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
