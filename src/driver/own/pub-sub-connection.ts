import type { PubSubLink } from "./channel-table.js";

/** One connection that listens, as an adapter opens it. It lives once: whoever has opened it opens the next. */
export interface PubSubConnection extends PubSubLink {
  /** Ends it at once. Resolves when it has ended, in bounded time also when the server is gone. Safe twice. */
  close(): Promise<void>;
}

/** What a connection that listens tells. Nothing any more after it was closed. */
export interface PubSubEvents {
  /** It may subscribe from now on. Told again when messages may have been missed, and its subscriptions are kept. */
  onReady(): void;
  onMessage(channel: string, message: string): void;
  /** It has ended, or some of its subscriptions are in doubt. Told once, and the last that is. */
  onEnd(cause: unknown): void;
}

/** Opens a connection; an error is told as its end. */
export type OpenPubSub = (events: PubSubEvents) => PubSubConnection;
