import type { Clock } from "../clock.js";

/** Gets each message as a byte string. */
type MessageHandler = (message: string) => void;

interface StoreListener {
  readonly onMessage: MessageHandler;
  listening: boolean;
}

/** Publish and subscribe. A message is delivered in a later turn of the event loop, in the order of publishing. */
export class Channels {
  readonly #listeners = new Map<string, Set<StoreListener>>();

  constructor(private readonly clock: Clock) {}

  /** Returns the number of listeners. */
  publish(channel: string, message: string): number {
    const listeners = this.#listeners.get(channel) ?? new Set();
    for (const listener of listeners) {
      const deliver = () => {
        if (listener.listening) listener.onMessage(message);
      };
      this.clock.schedule(0, deliver, true);
    }
    return listeners.size;
  }

  /** The channels with listeners. */
  names(): Iterable<string> {
    return this.#listeners.keys();
  }

  /** The number of listeners. */
  count(channel: string): number {
    return this.#listeners.get(channel)?.size ?? 0;
  }

  /** Returns a function that unsubscribes. Once it is called, no message arrives, not even one published before. */
  subscribe(channel: string, onMessage: MessageHandler): () => void {
    const listener: StoreListener = { onMessage, listening: true };
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    return () => {
      listener.listening = false;
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(channel) === listeners) this.#listeners.delete(channel);
    };
  }
}
