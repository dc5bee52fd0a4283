import { Redis, type RedisOptions } from "ioredis";
import { destroyClient, quickEnd } from "../clients/ioredis-clients.js";

export type ClientOptions = Omit<RedisOptions, "replyMapping">;

const openClients = new Set<Redis>();

/** Sockets between servers that lead through this process; whoever stops the servers closes them. */
export const socketsBetweenServers = new WeakSet<object>();

/** True for a socket of a client that `RedisServer.client` made, or of a link: closed when the server stops. */
export function belongsToServerClient(socket: object): boolean {
  return socketsBetweenServers.has(socket) || [...openClients].some(({ stream }) => stream === socket);
}

/** The plain clients of one server. They reconnect quickly and keep connection errors to themselves. */
export class ServerClients {
  readonly #options: ClientOptions;
  readonly #clients = new Set<Redis>();

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  open(options: ClientOptions = {}): Redis {
    const client = new Redis({
      host: "127.0.0.1",
      retryStrategy: () => 20,
      ...quickEnd,
      ...this.#options,
      ...options,
    });
    client.on("error", () => undefined);
    this.#clients.add(client);
    openClients.add(client);
    return client;
  }

  async close(): Promise<void> {
    for (const client of this.#clients) {
      await destroyClient(client);
      openClients.delete(client);
    }
    this.#clients.clear();
  }
}
