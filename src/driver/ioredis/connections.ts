import { inRootContext } from "../../root-context.js";
import type { PubSubFamily } from "../driver.js";
import type { ConnectionEvents, OwnConnection } from "../own/connection.js";
import type { IoredisConnection, IoredisOwnClient, IoredisStream } from "./client.js";

/**
 * A client lives for one connection, and we reconnect ourselves. ioredis would keep the process alive while it waits to reconnect, and it
 * leaves a command under way pending for ever if it does not resend the command. A client that does not reconnect rejects everything when
 * its connection ends.
 */
const ONE_CONNECTION = {
  lazyConnect: true,
  retryStrategy: () => null,
  sentinelRetryStrategy: () => null,
  // Otherwise the client would listen to the Sentinels, on connections that only disconnect() ends.
  failoverDetector: false,
  // A late answer is still valid, and one refused channel must not break the other subscriptions.
  commandTimeout: undefined,
  reconnectOnError: null,
  // Without this, a cluster's connection that was made for a replica would send READONLY.
  readOnly: false,
  enableOfflineQueue: true,
  // If a connection broke in its handshake, ioredis 5 disconnects it a second time, and then waits this long.
  disconnectTimeout: 0,
};

/** Makes a client with the options of another client, overridden by the given ones. */
type DuplicateWith = (options: object) => IoredisOwnClient;

/** Opens a connection of our own. It keeps the process alive only while a call waits for it. */
export function openConnection(
  duplicate: DuplicateWith,
  family: PubSubFamily,
  events: ConnectionEvents,
): OwnConnection {
  const client = duplicate(ONE_CONNECTION);
  const sharded = family === "sharded";
  let cause: Error | undefined;
  client.on("error", (error) => {
    cause = error;
  });
  client.on("connect", () => client.stream?.unref());
  client.on("ready", () => {
    cause = undefined;
    events.onReady();
  });
  client.on("end", () => events.onEnd(cause ?? new Error("the connection was closed")));
  client.on(sharded ? "smessage" : "message", events.onMessage);
  if (sharded) {
    // The server unsubscribes from the channels of a slot that it gives away. ioredis 6 reports this if it speaks RESP3. In all other cases
    // ioredis takes the announcement for an answer without a command, and emits an error.
    const doubt = () => events.onEnd(new Error("the server has ended a sharded subscription"));
    client.on("moved", doubt);
    client.on("ready", () => client.on("error", doubt));
  }
  client.connect().catch(toldByEnd);
  return {
    send: ([name = "", ...args]) => client.call(name, ...args),
    subscribe: (channel) => (sharded ? client.ssubscribe(channel) : client.subscribe(channel)),
    unsubscribe: (channel) => (sharded ? client.sunsubscribe(channel) : client.unsubscribe(channel)),
    close: () => end(client),
  };
}

/** A failed connect emits "error" with the reason, and then "end". */
function toldByEnd(): void {}

/** A lazy client connects with its first command, and would keep the asynchronous context of the call that sends this command. */
export function connectLazy(client: Pick<IoredisConnection, "status" | "connect">): void {
  if (client.status === "wait") void inRootContext(() => client.connect().catch(toldByTheCommand));
}

/** A connection that fails also rejects the commands that wait for it. */
function toldByTheCommand(): void {}

/** Destroys the socket: disconnect() would wait for the server to close its end, and the server may be gone. */
async function end(client: IoredisOwnClient): Promise<void> {
  const { stream } = client;
  if (stream === undefined) client.disconnect();
  else if (!stream.destroyed) await destroyed(stream);
}

function destroyed(stream: IoredisStream): Promise<void> {
  return new Promise((resolve) => {
    stream.once("close", resolve);
    stream.destroy();
  });
}

/** The answer of a retry strategy: a number of milliseconds, or no further try. */
export function delayOf(answer: unknown): number | undefined {
  return typeof answer === "number" ? answer : undefined;
}
