import { systemClock, type Timer } from "../../clock.js";
import { inRootContext } from "../../root-context.js";
import { type ChannelListener, DriverClosedError, type Unsubscribe } from "../driver.js";
import { ChannelTable } from "./channel-table.js";
import { LiveConnection, type PubSubOptions } from "./live-connection.js";
import type { OpenPubSub } from "./pub-sub-connection.js";

/** Listens to channels on one connection, opened when it is first needed and again as long as it is. */
export class Subscriber {
  readonly #open: OpenPubSub;
  readonly #options: PubSubOptions;
  readonly #channels = new ChannelTable();
  #connection: LiveConnection | undefined;
  #retry: Timer | undefined;
  /** Connections that failed in a row. */
  #failures = 0;
  #closing: Promise<void> | undefined;

  constructor(open: OpenPubSub, options: PubSubOptions) {
    this.#open = open;
    this.#options = options;
  }

  async subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    if (this.#closing !== undefined) throw new DriverClosedError();
    const joined = this.#channels.add(channel, listener);
    if (this.#connection === undefined) inRootContext(() => this.#connect());
    return joined;
  }

  /** Another server is the one to listen to: goes there at once. */
  move(): void {
    const connection = this.#connection;
    if (this.#closing !== undefined || (connection === undefined && this.#retry === undefined)) return;
    void connection?.close();
    this.#connection = undefined;
    this.#failures = 0;
    this.#channels.detach(new Error("another server is listened to from now on"));
    if (this.#channels.inUse) inRootContext(() => this.#connect());
  }

  close(): Promise<void> {
    this.#closing ??= this.#shut();
    return this.#closing;
  }

  #connect(): void {
    this.#retry?.cancel();
    this.#retry = undefined;
    const connection = new LiveConnection(this.#open, this.#options, {
      onReady: () => {
        this.#failures = 0;
        this.#channels.attach(connection);
      },
      onMessage: (channel, message) => this.#channels.deliver(channel, message),
      onEnd: (cause) => this.#onEnd(cause),
    });
    this.#connection = connection;
  }

  #onEnd(cause: unknown): void {
    this.#connection = undefined;
    this.#channels.detach(cause);
    if (!this.#channels.inUse) return;
    this.#failures += 1;
    const delayMs = this.#options.retryDelayMs(this.#failures);
    // Otherwise the caller's client gives up as well; the next subscription tries again.
    if (delayMs !== undefined) this.#retry = systemClock.schedule(delayMs, () => this.#reconnect());
  }

  #reconnect(): void {
    if (this.#channels.inUse) this.#connect();
  }

  async #shut(): Promise<void> {
    this.#retry?.cancel();
    this.#channels.clear(new DriverClosedError());
    await this.#connection?.close();
  }
}
