import type { PubSubFamily } from "../driver.js";
import type { ConnectionEvents, OwnConnection } from "../own/connection.js";
import type { NodeRedisClient, NodeRedisOwnClient } from "./client.js";
import type { NodeRedisAddress, NodeRedisOptions, NodeRedisReconnectStrategy } from "./options.js";

/** Makes a client for a connection of our own, with the options of one of the caller's clients. */
export type Duplicate = () => Promise<NodeRedisOwnClient>;

/**
 * Overrides the command options of the caller's client: text stays text, integers become numbers, and commands keep their order (no
 * `asap`).
 */
export const AS_THEY_ARE = { typeMapping: {}, asap: false, abortSignal: undefined };

/**
 * A client lives for one connection, and we reconnect ourselves: node-redis would keep the process alive while it waits to reconnect, and
 * would subscribe on its own. Leaves out options for the caller's commands: a cache that clients share, reads from replicas, and timers.
 * Timers would keep the process alive, or take an idle connection for a dead one.
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
    // The socket's options already have the address of the URL.
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

/** A connection of our own. It does not keep the process alive; the caller's connection does. */
export class NodeRedisConnection implements OwnConnection {
  /** Rejects if the connection could not be made, or was closed meanwhile. */
  readonly #client: Promise<NodeRedisOwnClient>;
  readonly #sharded: boolean;
  readonly #events: ConnectionEvents;
  readonly #onAnswer: () => void;
  #tellClosed: (error: Error) => void = () => undefined;
  /** The client, once it has a connection. */
  #connected: NodeRedisOwnClient | undefined;
  #over = false;

  /** @param onAnswer is called when the server has answered a command */
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
    // The race is set up once here, not in each call: a pending promise keeps every reaction that a race adds to it.
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
   * Does not wait for a client that is still being made or is about to connect: node-redis forgets a socket that is still connecting, so
   * that socket is ended as soon as it is connected. Runs at once, even if the connection has just broken: after the client has ended by
   * itself, `destroy` would not release its credentials.
   */
  async close(): Promise<void> {
    this.#over = true;
    this.#tellClosed(new Error("the connection was closed"));
    if (this.#connected !== undefined) destroy(this.#connected);
  }

  async #open(duplicate: Duplicate): Promise<NodeRedisOwnClient> {
    const client = await duplicate();
    // Also emitted for a reply that node-redis cannot parse: after such a reply the answers no longer match the commands.
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

/** Called even if the client has just lost its connection, so that the client releases its credentials. */
function destroy(client: NodeRedisOwnClient): void {
  try {
    client.destroy();
  } catch {
    // Version 5 does not destroy a client twice.
  }
}

/** The pause before the next connection, after this many failures in a row; undefined if no connection may be opened. */
export function retryDelayMs(
  strategy: NodeRedisReconnectStrategy | undefined,
  failures: number,
): number | undefined {
  const retries = failures - 1;
  const lost = new Error("the subscriber has lost its connection");
  const answer = typeof strategy === "function" ? strategy(retries, lost) : strategy;
  // The default of node-redis.
  if (answer === undefined) return Math.min(2 ** retries * 50, 2_000) + Math.random() * 200;
  return typeof answer === "number" ? answer : undefined;
}
