import { inRootContext } from "../../root-context.js";
import type { PubSubFamily } from "../driver.js";
import type { MasterEvents, MasterLink } from "../own/master-link.js";
import type { PubSubConnection, PubSubEvents } from "../own/pub-sub-connection.js";
import type { IoredisConnection, IoredisOwnClient, IoredisStream } from "./client.js";

/**
 * A client lives for one connection, and we reconnect ourselves. ioredis would keep the process alive while it
 * waits to reconnect, and leaves a command that was under way pending for ever where it does not resend it; a
 * client that does not reconnect rejects everything when its connection ends.
 */
const ONE_CONNECTION = {
  lazyConnect: true,
  retryStrategy: () => null,
  sentinelRetryStrategy: () => null,
  // It would listen to the Sentinels, on connections that only disconnect() ends.
  failoverDetector: false,
  // An answer that comes late is still an answer, and a refused channel no reason to break the others.
  commandTimeout: undefined,
  reconnectOnError: null,
  // A connection of a cluster that was made for a replica would otherwise ask for reads.
  readOnly: false,
  enableOfflineQueue: true,
  // ioredis 5 disconnects a connection that broke in its handshake once more, and then waits for so long.
  disconnectTimeout: 0,
};

/** Makes a client with the options of another, but those given. */
type Duplicate = (options: object) => IoredisOwnClient;

/** Opens a connection that listens. */
export function openPubSub(
  duplicate: Duplicate,
  family: PubSubFamily,
  events: PubSubEvents,
): PubSubConnection {
  const client = open(duplicate, events.onEnd);
  client.on("ready", events.onReady);
  if (family === "classic") {
    client.on("message", events.onMessage);
    return {
      subscribe: (channel) => client.subscribe(channel),
      unsubscribe: (channel) => client.unsubscribe(channel),
      close: () => end(client),
    };
  }
  client.on("smessage", events.onMessage);
  // The server unsubscribes from the channels of a slot that it gives away. ioredis 6 tells so where it speaks RESP3;
  // otherwise it takes the announcement for an answer, and complains that nobody has asked for one.
  const doubt = () => events.onEnd(new Error("the server has ended a sharded subscription"));
  client.on("moved", doubt);
  client.on("ready", () => client.on("error", doubt));
  return {
    subscribe: (channel) => client.ssubscribe(channel),
    unsubscribe: (channel) => client.sunsubscribe(channel),
    close: () => end(client),
  };
}

/** Opens a connection to a master for scripts and for asking what its replicas have. */
export function openMaster(duplicate: Duplicate, events: MasterEvents): MasterLink {
  const client = open(duplicate, events.onEnd);
  return {
    send: ([name = "", ...args]) => client.call(name, ...args),
    close: () => end(client),
  };
}

/** A lazy client connects with its first command, and would do so in the context of whoever sends that. */
export function connectLazy(client: Pick<IoredisConnection, "status" | "connect">): void {
  if (client.status === "wait") void inRootContext(() => client.connect().catch(toldByTheCommand));
}

/** A connection that fails rejects the commands that wait for it as well. */
function toldByTheCommand(): void {}

function open(duplicate: Duplicate, onEnd: (cause: unknown) => void): IoredisOwnClient {
  const client = duplicate(ONE_CONNECTION);
  let cause: Error | undefined;
  client.on("error", (error) => {
    cause = error;
  });
  // It keeps no process alive, but where a call waits for it.
  client.on("connect", () => client.stream?.unref());
  client.on("ready", () => {
    cause = undefined;
  });
  client.on("end", () => onEnd(cause ?? new Error("the connection was closed")));
  client.connect().catch(toldByEnd);
  return client;
}

/** The event "end" follows a failed connect, and "error" comes before it with the reason. */
function toldByEnd(): void {}

/** Not by disconnect(), which waits for a server that may be gone to say goodbye, but where there is no socket yet. */
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

/** What a retry strategy says: a number of milliseconds, or that there is to be no other try. */
export function delayOf(answer: unknown): number | undefined {
  return typeof answer === "number" ? answer : undefined;
}
