import type { PubSubFamily } from "../driver.js";
import type { ConnectionEvents, OwnConnection } from "../own/connection.js";
import type { NodeRedisClient, NodeRedisOwnClient } from "./client.js";
import type { NodeRedisAddress, NodeRedisOptions, NodeRedisReconnectStrategy } from "./options.js";

/** Makes a client for a connection of our own, with the options of one of the caller's. */
export type Duplicate = () => Promise<NodeRedisOwnClient>;

/** Overrides the command options of the caller's client: text as text, integers as numbers, and in order, not `asap`. */
export const AS_THEY_ARE = { typeMapping: {}, asap: false, abortSignal: undefined };

/**
 * A client lives for one connection, and we reconnect ourselves: node-redis would keep the process alive while it waits
 * to reconnect, and would subscribe on its own. What serves the caller's commands is left out: a cache that clients share,
 * reads from replicas, and timers, which would keep the process alive or take an idle connection for a dead one.
 * @param others options that differ from those of the client
 */
export function duplicateOnce(
  client: NodeRedisClient,
  place?: NodeRedisAddress,
  others: NodeRedisOptions = {},
): NodeRedisOwnClient {
  const socket = others.socket ?? client.options?.socket;
  return client.duplicate({
    ...others,
    socket: { ...socket, ...place, reconnectStrategy: false, socketTimeout: undefined },
    // The socket has it by now.
    url: undefined,
    commandOptions: {},
    disableOfflineQueue: false,
    commandsQueueMaxLength: undefined,
    pingInterval: undefined,
    readonly: false,
    clientSideCache: undefined,
    emitInvalidate: false,
    maintNotifications: "disabled",
  });
}

/** A connection of our own. It keeps no process alive: the caller's connection does. */
export class NodeRedisConnection implements OwnConnection {
  /** Rejects where none could be made, and when it is closed meanwhile. */
  readonly #client: Promise<NodeRedisOwnClient>;
  readonly #sharded: boolean;
  readonly #events: ConnectionEvents;
  readonly #onAnswer: () => void;
  #tellClosed: (error: Error) => void = () => undefined;
  /** Once it has a connection. */
  #connected: NodeRedisOwnClient | undefined;
  #over = false;

  /** @param onAnswer is called when a command was carried out */
  constructor(
    duplicate: Duplicate,
    family: PubSubFamily,
    events: ConnectionEvents,
    onAnswer: () => void = () => undefined,
  ) {
    this.#sharded = family === "sharded";
    this.#events = events;
    this.#onAnswer = onAnswer;
    const closed = new Promise<never>((_, reject) => {
      this.#tellClosed = reject;
    });
    const made = this.#open(duplicate);
    made.catch((error: unknown) => this.#end(error));
    // Raced once here, not in each call: a pending promise keeps every reaction that a race adds to it.
    this.#client = Promise.race([made, closed]);
    this.#client.catch(toldByTheCommand);
  }

  async send(words: readonly string[]): Promise<unknown> {
    const reply = await (await this.#client).sendCommand(words, AS_THEY_ARE);
    this.#onAnswer();
    return reply;
  }

  async subscribe(channel: string): Promise<unknown> {
    const client = await this.#client;
    const { onMessage } = this.#events;
    const listener = (message: string, from: string) => onMessage(from, message);
    return this.#sharded ? client.sSubscribe(channel, listener) : client.subscribe(channel, listener);
  }

  async unsubscribe(channel: string): Promise<unknown> {
    const client = await this.#client;
    return this.#sharded ? client.sUnsubscribe(channel) : client.unsubscribe(channel);
  }

  /**
   * Does not wait for a client that is still to be made, nor for one that is about to connect: node-redis forgets a
   * socket that is still connecting, so that one is ended as soon as it is connected. At once, also where it has just
   * broken: after the client has ended by itself, `destroy` would not release its credentials.
   */
  async close(): Promise<void> {
    this.#over = true;
    this.#tellClosed(new Error("the connection was closed"));
    if (this.#connected !== undefined) destroy(this.#connected);
  }

  async #open(duplicate: Duplicate): Promise<NodeRedisOwnClient> {
    const client = await duplicate();
    // Also a reply that it cannot parse: from then on its answers no longer match the commands.
    client.on("error", (error) => this.#end(error));
    // The server unsubscribes from the channels of a slot that it gives away.
    client.on("sharded-channel-moved", () =>
      this.#end(new Error("the server has ended a sharded subscription")),
    );
    client.on("connect", () => {
      this.#connected = client;
      if (this.#over) destroy(client);
    });
    client.unref();
    if (!this.#over) client.connect().then(this.#events.onReady, (error: unknown) => this.#end(error));
    return client;
  }

  #end(cause: unknown): void {
    if (this.#over) return;
    void this.close();
    this.#events.onEnd(cause);
  }
}

/** Ignored: `send`, `subscribe` and `unsubscribe` await the same promise and report the rejection. */
function toldByTheCommand(): void {}

/** Also for a client that has just lost its connection, so that it releases its credentials. */
function destroy(client: NodeRedisOwnClient): void {
  try {
    client.destroy();
  } catch {
    // Version 5 does not do it twice.
  }
}

/** The pause before the next connection, after so many that failed in a row; undefined where none is to be opened. */
export function retryDelayMs(
  strategy: NodeRedisReconnectStrategy | undefined,
  failures: number,
): number | undefined {
  const retries = failures - 1;
  const lost = new Error("the subscriber has lost its connection");
  const answer = typeof strategy === "function" ? strategy(retries, lost) : strategy;
  // As node-redis does by default.
  if (answer === undefined) return Math.min(2 ** retries * 50, 2_000) + Math.random() * 200;
  return typeof answer === "number" ? answer : undefined;
}
