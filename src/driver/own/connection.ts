import type { PubSubLink } from "./channel-table.js";

/** One connection of our own, as an adapter opens it. It never reconnects: the code that has opened it opens the next. */
export interface OwnConnection extends PubSubConnection, CommandConnection {}

/** A connection that subscribes to channels. */
export interface PubSubConnection extends PubSubLink {
  /** Ends it at once. Resolves when it has ended, in bounded time also when the server is gone. Safe twice. */
  close(): Promise<void>;
}

/** A connection that sends commands, to a master or to a Sentinel. */
export interface CommandConnection extends Pick<PubSubConnection, "close"> {
  /** Sends a command once connected. Those of one turn travel together, in order. Rejects as the Redis client does. */
  send(words: readonly string[]): Promise<unknown>;
}

/** The callbacks of a connection. After `close` none is called any more, except perhaps `onEnd`. */
export interface ConnectionEvents {
  /** It can subscribe from now on. Called again when messages may have been missed while its subscriptions are kept. */
  onReady(): void;
  onMessage(channel: string, message: string): void;
  /** It has ended, or some of its subscriptions are in doubt. Called once, as the last callback. */
  onEnd(cause: unknown): void;
}

/** For a connection that only sends commands: it reports its end, and no messages. */
export function onlyEnd(onEnd: () => void): ConnectionEvents {
  return { onReady() {}, onMessage() {}, onEnd };
}
