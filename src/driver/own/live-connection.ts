import { systemClock, type Timer } from "../../clock.js";
import type { PubSubLink } from "./channel-table.js";
import type { ConnectionEvents, PubSubConnection } from "./connection.js";

/** A connection whose SUBSCRIBE stays unanswered for this long is dead, though the kernel may not know it yet. */
const ANSWER_TIMEOUT_MS = 5_000;
/** Redis clients limit the time of connecting, but not the time of the handshake with a server that does not answer. */
const READY_TIMEOUT_MS = 10_000;

/** Turns a rejection of the Redis client into an error of the server, if the server has answered with an error. */
export type ToError = (failure: unknown) => unknown;

/** Opens a connection. If this function throws, that counts as the end of the connection. */
export type OpenPubSub = (events: ConnectionEvents) => PubSubConnection;

/** A connection that listens. It is given up if it is not ready in time, or does not answer in time. */
export class LiveConnection implements PubSubLink {
  readonly #events: ConnectionEvents;
  readonly #toError: ToError;
  readonly #connection: PubSubConnection | undefined;
  readonly #readyTimeout: Timer;
  /** Resolves when the connection is ready; rejects if the connection ends first. */
  readonly #ready: Promise<void>;
  #tellReady: () => void = () => undefined;
  #refuse: (cause: unknown) => void = () => undefined;
  /** Rejects the calls that wait for an answer: some clients never settle them when the connection ends. */
  readonly #unanswered = new Set<(cause: unknown) => void>();
  /** Why the connection has ended; undefined while it is alive. */
  #end: { readonly cause: unknown } | undefined;

  constructor(open: OpenPubSub, toError: ToError, events: ConnectionEvents) {
    this.#events = events;
    this.#toError = toError;
    this.#ready = new Promise((resolve, reject) => {
      this.#tellReady = resolve;
      this.#refuse = reject;
    });
    // `#answered` awaits `#ready` and reports the rejection. If `#answered` is never called, the rejection would be unhandled.
    this.#ready.catch(() => undefined);
    this.#readyTimeout = this.#giveUpAfter(READY_TIMEOUT_MS, "was not ready");
    this.#connection = this.#opened(open, {
      onReady: () => {
        this.#readyTimeout.cancel();
        this.#tellReady();
        if (this.#end === undefined) events.onReady();
      },
      onMessage: (channel, message) => {
        if (this.#end === undefined) events.onMessage(channel, message);
      },
      onEnd: (cause) => this.#fail(cause),
    });
  }

  /** Sends SUBSCRIBE once the connection is ready. */
  subscribe(channel: string): Promise<void> {
    return this.#answered((connection) => connection?.subscribe(channel));
  }

  unsubscribe(channel: string): Promise<void> {
    return this.#answered((connection) => connection?.unsubscribe(channel));
  }

  /** @param cause the rejection for the calls that wait for an answer */
  async close(cause: unknown = new Error("the connection was closed")): Promise<void> {
    this.#end ??= { cause };
    this.#refuse(this.#end.cause);
    for (const reject of this.#unanswered) reject(this.#end.cause);
    this.#readyTimeout.cancel();
    await this.#connection?.close();
  }

  /** An `open` that throws is reported later, like any other end: the caller has no reference to this connection yet. */
  #opened(open: OpenPubSub, events: ConnectionEvents): PubSubConnection | undefined {
    try {
      return open(events);
    } catch (error) {
      systemClock.schedule(0, () => this.#fail(error));
      return undefined;
    }
  }

  async #answered(send: (connection: PubSubConnection | undefined) => unknown): Promise<void> {
    await this.#ready;
    this.#assertLive();
    const timeout = this.#giveUpAfter(ANSWER_TIMEOUT_MS, "got no answer");
    let end: (cause: unknown) => void = () => undefined;
    try {
      await new Promise((resolve, reject) => {
        end = reject;
        this.#unanswered.add(end);
        Promise.resolve(send(this.#connection)).then(resolve, reject);
      });
    } catch (error) {
      this.#assertLive();
      throw this.#toError(error);
    } finally {
      this.#unanswered.delete(end);
      timeout.cancel();
    }
    // The end of the connection can arrive in the same packet as the answer; the client then reports the end before this promise continues.
    this.#assertLive();
  }

  #assertLive(): void {
    if (this.#end !== undefined) throw this.#end.cause;
  }

  #giveUpAfter(ms: number, complaint: string): Timer {
    return systemClock.schedule(ms, () =>
      this.#fail(new Error(`the subscriber ${complaint} within ${ms} ms`)),
    );
  }

  #fail(failure: unknown): void {
    if (this.#end !== undefined) return;
    const cause = this.#toError(failure);
    void this.close(cause);
    this.#events.onEnd(cause);
  }
}
