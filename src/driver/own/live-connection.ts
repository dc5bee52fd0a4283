import { systemClock, type Timer } from "../../clock.js";
import type { PubSubLink } from "./channel-table.js";
import type { OpenPubSub, PubSubConnection, PubSubEvents } from "./pub-sub-connection.js";

/** A connection on which SUBSCRIBE stays unanswered for so long is dead, though the kernel may not know it yet. */
const ANSWER_TIMEOUT_MS = 5_000;
/** Clients bound the time of connecting, but not that of the handshake with a server which says nothing. */
const READY_TIMEOUT_MS = 10_000;

/** What an adapter has to know to listen. */
export interface PubSubOptions {
  /** The pause before the next connection, after so many that failed in a row; undefined where none is to be opened. */
  retryDelayMs(failures: number): number | undefined;
  /** Makes an error of the server of what the Redis client rejects with, where it is one. */
  toError(error: unknown): unknown;
}

/** A connection that listens, and is given up when it is not ready, or does not answer, in time. */
export class LiveConnection implements PubSubLink {
  readonly #events: PubSubEvents;
  readonly #toError: PubSubOptions["toError"];
  readonly #connection: PubSubConnection | undefined;
  readonly #readyTimeout: Timer;
  #over = false;

  constructor(open: OpenPubSub, { toError }: Pick<PubSubOptions, "toError">, events: PubSubEvents) {
    this.#events = events;
    this.#toError = toError;
    this.#readyTimeout = this.#giveUpAfter(READY_TIMEOUT_MS, "was not ready");
    this.#connection = this.#opened(open, {
      onReady: () => {
        this.#readyTimeout.cancel();
        if (!this.#over) events.onReady();
      },
      onMessage: (channel, message) => {
        if (!this.#over) events.onMessage(channel, message);
      },
      onEnd: (cause) => this.#end(cause),
    });
  }

  subscribe(channel: string): Promise<void> {
    return this.#answered(this.#connection?.subscribe(channel));
  }

  unsubscribe(channel: string): Promise<void> {
    return this.#answered(this.#connection?.unsubscribe(channel));
  }

  async close(): Promise<void> {
    this.#over = true;
    this.#readyTimeout.cancel();
    await this.#connection?.close();
  }

  /** Where none can even be begun, that is told later, as any other end. */
  #opened(open: OpenPubSub, events: PubSubEvents): PubSubConnection | undefined {
    try {
      return open(events);
    } catch (error) {
      systemClock.schedule(0, () => this.#end(error));
      return undefined;
    }
  }

  async #answered(reply: Promise<unknown> | undefined): Promise<void> {
    const timeout = this.#giveUpAfter(ANSWER_TIMEOUT_MS, "got no answer");
    try {
      await reply;
    } catch (error) {
      throw this.#toError(error);
    } finally {
      timeout.cancel();
    }
  }

  #giveUpAfter(ms: number, complaint: string): Timer {
    return systemClock.schedule(ms, () =>
      this.#end(new Error(`the subscriber ${complaint} within ${ms} ms`)),
    );
  }

  #end(cause: unknown): void {
    if (this.#over) return;
    void this.close();
    this.#events.onEnd(this.#toError(cause));
  }
}
