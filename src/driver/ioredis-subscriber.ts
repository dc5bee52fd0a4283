import { systemClock, type Timer } from "../clock.js";
import { inRootContext } from "../root-context.js";
import { ChannelTable } from "./channel-table.js";
import { type ChannelListener, DriverClosedError, type Unsubscribe } from "./driver.js";
import type { IoredisClient, IoredisStream, IoredisSubscriberClient } from "./ioredis-client.js";
import { fromIoredis } from "./ioredis-errors.js";

/** A connection on which SUBSCRIBE stays unanswered for so long is dead, though the kernel may not know it yet. */
const ANSWER_TIMEOUT_MS = 5_000;
/** ioredis bounds the time of connecting, but not that of the handshake with a server which says nothing. */
const READY_TIMEOUT_MS = 10_000;

/**
 * A client lives for one connection, and we reconnect ourselves. ioredis would keep the process alive while it
 * waits to reconnect, and leaves a SUBSCRIBE that was under way pending for ever where it does not resend it; a
 * client that does not reconnect rejects everything when its connection ends.
 */
const ONE_CONNECTION = {
  lazyConnect: true,
  retryStrategy: () => null,
  // An answer that comes late is still an answer, and a refused channel no reason to break the others.
  commandTimeout: undefined,
  reconnectOnError: null,
  // ioredis 5 disconnects a connection that broke in its handshake once more, and then waits for so long.
  disconnectTimeout: 0,
};

/** The connection that listens, opened when it is first needed and again as long as it is. */
export class IoredisSubscriber {
  readonly #redis: IoredisClient;
  readonly #channels = new ChannelTable();
  #client: IoredisSubscriberClient | undefined;
  #retry: Timer | undefined;
  /** Connections that failed in a row. */
  #failures = 0;
  #closing: Promise<void> | undefined;

  constructor(redis: IoredisClient) {
    this.#redis = redis;
  }

  async subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    if (this.#closing !== undefined) throw new DriverClosedError();
    const joined = this.#channels.add(channel, listener);
    if (this.#client === undefined) inRootContext(() => this.#open());
    return joined;
  }

  close(): Promise<void> {
    this.#closing ??= this.#shut();
    return this.#closing;
  }

  #open(): void {
    this.#retry?.cancel();
    const client = this.#redis.duplicate(ONE_CONNECTION);
    this.#client = client;
    let cause: Error | undefined;
    const timeout = endUnlessCancelled(client, "was not ready", READY_TIMEOUT_MS);
    client.on("error", (error) => {
      cause = error;
    });
    client.on("connect", () => client.stream?.unref());
    client.on("ready", () => {
      timeout.cancel();
      if (this.#client !== client) return;
      cause = undefined;
      this.#failures = 0;
      this.#channels.attach({
        subscribe: (channel) => answer(client, client.subscribe(channel)),
        unsubscribe: (channel) => answer(client, client.unsubscribe(channel)),
      });
    });
    client.on("message", (channel, message) => {
      if (this.#client === client) this.#channels.deliver(channel, message);
    });
    client.on("end", () => {
      timeout.cancel();
      if (this.#client === client) this.#onEnd(cause ?? new Error("the subscriber's connection was closed"));
    });
    client.connect().catch(toldByEnd);
  }

  #onEnd(cause: Error): void {
    this.#client = undefined;
    this.#channels.detach(fromIoredis(cause));
    if (!this.#channels.inUse) return;
    this.#failures += 1;
    const delayMs = this.#redis.options.retryStrategy?.(this.#failures);
    // Otherwise the caller's client gives up as well; the next subscription tries again.
    if (typeof delayMs === "number") this.#retry = systemClock.schedule(delayMs, () => this.#reopen());
  }

  #reopen(): void {
    if (this.#channels.inUse) this.#open();
  }

  async #shut(): Promise<void> {
    this.#retry?.cancel();
    this.#channels.clear(new DriverClosedError());
    const client = this.#client;
    this.#client = undefined;
    // Not disconnect(), which waits for a server that may be gone to say goodbye, but where there is no socket yet.
    const stream = client?.stream;
    if (stream === undefined) client?.disconnect();
    else if (!stream.destroyed) await destroyed(stream);
  }
}

function destroyed(stream: IoredisStream): Promise<void> {
  return new Promise((resolve) => {
    stream.once("close", resolve);
    stream.destroy();
  });
}

/** A subscriber that is not heard of in time loses its connection, and so becomes one to be opened anew. */
function endUnlessCancelled(client: IoredisSubscriberClient, complaint: string, withinMs: number): Timer {
  return systemClock.schedule(withinMs, () => {
    const error = new Error(`the subscriber ${complaint} within ${withinMs} ms`);
    if (client.stream === undefined) client.disconnect();
    else client.stream.destroy(error);
  });
}

async function answer(client: IoredisSubscriberClient, reply: Promise<unknown>): Promise<void> {
  const timeout = endUnlessCancelled(client, "got no answer", ANSWER_TIMEOUT_MS);
  try {
    await reply;
  } catch (error) {
    throw fromIoredis(error);
  } finally {
    timeout.cancel();
  }
}

/** The event "end" follows a failed connect, and "error" comes before it with the reason. */
function toldByEnd(): void {}
