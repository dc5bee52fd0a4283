import type { PubSubLink } from "./channel-table.js";

/** One connection of our own, opened by an adapter. It never reconnects: the code that has opened it opens the next connection. */
export interface OwnConnection extends PubSubConnection, CommandConnection {}

/** A connection that subscribes to channels. */
export interface PubSubConnection extends PubSubLink {
  /** Ends the connection at once. Resolves when it has ended, in bounded time even when the server is gone. Safe twice. */
  close(): Promise<void>;
}

/** A connection that sends commands, to a master or to a Sentinel. */
export interface CommandConnection extends Pick<PubSubConnection, "close"> {
  /** Sends a command once connected. The commands of one event-loop turn are sent together, in order. Rejects as the Redis client does. */
  send(words: readonly string[]): Promise<unknown>;
}

/** The callbacks of a connection. After `close` only `onEnd` may still be called. */
export interface ConnectionEvents {
  /** The connection can subscribe from now on. Called again when the subscriptions are kept but messages may have been missed. */
  onReady(): void;
  onMessage(channel: string, message: string): void;
  /** The connection has ended, or some of its subscriptions are in doubt. Called once, as the last callback. */
  onEnd(cause: unknown): void;
}

/** The callbacks for a connection that only sends commands and gets no messages. */
export function onlyEnd(onEnd: () => void): ConnectionEvents {
  return { onReady() {}, onMessage() {}, onEnd };
}
