import { systemClock, type Timer } from "../../clock.js";
import { type ChannelListener, DriverClosedError, type Unsubscribe } from "../driver.js";
import { ChannelTable } from "./channel-table.js";
import type { ConnectionEvents, PubSubConnection } from "./connection.js";
import { LiveConnection, type ToError } from "./live-connection.js";
import type { Slots } from "./slots.js";

/** When to look up the slots after a connection has ended. By the last of these times the servers of a cluster agree on the slots. */
const LOOKS_MS: readonly number[] = [1_000, 5_000, 15_000];

/** Where and how to listen. */
export interface Listening {
  /** The servers that have the slots of the channels. If absent, each server has all channels. */
  readonly slots?: Slots | undefined;
  /** Opens a connection to a server; "" stands for any server. */
  readonly open: (server: string, events: ConnectionEvents) => PubSubConnection;
  /** The pause before the next connection, after this many failures in a row; undefined if no connection may be opened. */
  retryDelayMs(failures: number): number | undefined;
  readonly toError: ToError;
}

/**
 * Listens to channels. One connection gets all messages of `PUBLISH`, because every server of a cluster has them. One connection for each
 * master gets the messages of `SPUBLISH` for the channels in its slots. A connection is opened when it is first needed, and reopened while
 * it is needed. When a subscription ends because its slot has moved or its master has failed, the subscription is made again at the server
 * that has the slot now. The old master may have become a replica: it still accepts subscriptions, but does not get the messages of the new
 * master. So the slots are looked up for a while, and a subscription at a wrong server moves to the right one.
 */
export class Subscriber {
  readonly #listening: Listening;
  readonly #channels: ChannelTable;
  readonly #connections = new Map<string, ServerConnection>();
  /** Channels that are subscribed again when the pause is over. */
  readonly #lost = new Set<string>();
  #retry: Timer | undefined;
  #look: Timer | undefined;
  /** How many connections failed in a row. */
  #failures = 0;
  #moves = 0;
  #closing: Promise<void> | undefined;

  constructor(listening: Listening) {
    this.#listening = listening;
    this.#channels = new ChannelTable({
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

  /** Another server is the master: the channels are subscribed there at once. */
  move(): void {
    if (this.#closing !== undefined) return;
    this.#moves += 1;
    this.#failures = 0;
    for (const { server, live, channels } of this.#connections.values()) {
      this.#connections.delete(server);
      this.#lose(channels);
      void live.close();
    }
    this.#renew();
  }

  close(): Promise<void> {
    this.#closing ??= this.#shut();
    return this.#closing;
  }

  async #subscribe(channel: string): Promise<void> {
    const moves = this.#moves;
    try {
      const subscribeAt = (server: string) => this.#subscribeAt(server, channel);
      const isOver = () => this.#closing !== undefined;
      await (this.#listening.slots?.at(channel, subscribeAt, isOver) ?? subscribeAt(""));
    } catch (error) {
      if (this.#moves !== moves) return this.#subscribe(channel);
      // A listener that was ready before is not told about the failure, so the channel is subscribed again here. If the connection has
      // ended, `#onEnd` has subscribed it already.
      if (!this.#lost.has(channel)) {
        this.#lose([channel]);
        this.#renewLater();
      }
      throw error;
    }
  }

  async #subscribeAt(server: string, channel: string): Promise<void> {
    if (this.#closing !== undefined) throw new DriverClosedError();
    const connection = this.#connections.get(server) ?? this.#connect(server);
    connection.channels.add(channel);
    try {
      await connection.live.subscribe(channel);
    } catch (error) {
      this.#leave(connection, channel);
      throw error;
    }
  }

  async #unsubscribe(channel: string): Promise<void> {
    const connection = [...this.#connections.values()].find(({ channels }) => channels.has(channel));
    if (connection === undefined) return;
    try {
      await connection.live.unsubscribe(channel);
    } finally {
      this.#leave(connection, channel);
    }
  }

  #leave(connection: ServerConnection, channel: string): void {
    const { server, live, channels } = connection;
    channels.delete(channel);
    if (channels.size > 0 || this.#connections.get(server) !== connection) return;
    // Outside a cluster the only connection stays open for later subscriptions.
    if (this.#listening.slots === undefined) return;
    this.#connections.delete(server);
    void live.close();
  }

  #connect(server: string): ServerConnection {
    const { open, toError } = this.#listening;
    const channels = new Set<string>();
    let wasReady = false;
    const live = new LiveConnection((events) => open(server, events), toError, {
      onReady: () => {
        this.#failures = 0;
        if (wasReady) this.#channels.missed(channels);
        wasReady = true;
        this.#renew();
      },
      onMessage: (channel, message) => this.#channels.deliver(channel, message),
      onEnd: () => this.#onEnd(connection),
    });
    const connection: ServerConnection = { server, live, channels };
    this.#connections.set(server, connection);
    return connection;
  }

  #onEnd({ server, live, channels }: ServerConnection): void {
    if (this.#connections.get(server)?.live === live) this.#connections.delete(server);
    this.#failures += 1;
    this.#lose(channels);
    this.#renewLater();
    const { slots } = this.#listening;
    if (slots === undefined) return;
    void this.#follow(slots);
    this.#lookAgain(slots, LOOKS_MS);
  }

  #lookAgain(slots: Slots, [ms, ...others]: readonly number[]): void {
    this.#look?.cancel();
    if (ms === undefined || this.#closing !== undefined) return;
    const follow = async () => {
      await this.#follow(slots);
      // Meanwhile another connection may have ended and begun a new series of look-ups.
      if (this.#look === look) this.#lookAgain(slots, others);
    };
    const look = systemClock.schedule(ms, () => void follow());
    this.#look = look;
  }

  /** Looks up the slots, and moves the subscriptions whose slot has another server now. */
  async #follow(slots: Slots): Promise<void> {
    await slots.refresh();
    for (const connection of this.#connections.values()) {
      for (const channel of connection.channels) {
        const server = slots.serverOf(channel);
        if (server !== undefined && server !== connection.server) this.#moveChannel(connection, channel);
      }
    }
  }

  #moveChannel(connection: ServerConnection, channel: string): void {
    // Only a live subscription is moved: the server itself redirects a subscription that is still being made.
    if (!this.#channels.lost([channel])) return;
    connection.live.unsubscribe(channel).catch(() => undefined);
    this.#leave(connection, channel);
    this.#channels.renew([channel]);
  }

  #lose(channels: Iterable<string>): void {
    this.#channels.lost(channels);
    for (const channel of channels) if (this.#channels.isHeard(channel)) this.#lost.add(channel);
  }

  #renewLater(): void {
    // When a connection fails, this function is called once by `#onEnd` and once for each subscription that waited for the connection.
    if (this.#lost.size === 0 || this.#retry !== undefined || this.#closing !== undefined) return;
    const delayMs = this.#listening.retryDelayMs(Math.max(1, this.#failures));
    // Without a delay no connection is opened until the next `subscribe`, which tries again for all channels.
    if (delayMs !== undefined) this.#retry = systemClock.schedule(delayMs, () => this.#renew());
  }

  #renew(): void {
    this.#retry?.cancel();
    this.#retry = undefined;
    const channels = [...this.#lost];
    this.#lost.clear();
    this.#channels.renew(channels);
  }

  async #shut(): Promise<void> {
    this.#retry?.cancel();
    this.#look?.cancel();
    const error = new DriverClosedError();
    this.#channels.clear(error);
    await Promise.all([...this.#connections.values()].map(({ live }) => live.close(error)));
  }
}

/** The connection to one server. */
interface ServerConnection {
  readonly server: string;
  readonly live: LiveConnection;
  /** The channels that are subscribed on this connection, or are about to be. */
  readonly channels: Set<string>;
}
