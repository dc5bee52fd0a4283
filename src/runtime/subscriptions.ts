import { type Driver, ServerReplyError, type Unsubscribe } from "../driver/driver.js";
import { events } from "../events.js";
import type { Publishing } from "../protocol/dialect.js";
import { inRootContext } from "../root-context.js";
import type { Commands } from "./commands.js";
import type { HashedWheelTimer } from "./hashed-wheel-timer.js";

/** Gets the messages of a channel. */
export interface Listener {
  onMessage(message: string): void;
  /** Messages begin to arrive; earlier ones may have been missed. */
  onReady(): void;
  /** This listener is forgotten; it may listen again. */
  onFailure(): void;
}

/** Stops listening. @param lingers whether the channel stays open for a while */
export type Unlisten = (lingers?: boolean) => void;

interface SubscriptionServices {
  readonly driver: Driver;
  readonly commands: Pick<Commands, "publishes" | "timeoutMs" | "about">;
  readonly wheel: HashedWheelTimer;
}

/** A lock that was waited for is likely to be waited for again: an idle channel is kept this long. */
const LINGER_MS = 10_000;

/** One subscription for each channel, shared by all its listeners. */
export class Subscriptions {
  readonly #driver: Driver;
  readonly #commands: SubscriptionServices["commands"];
  readonly #wheel: HashedWheelTimer;
  readonly #channels = new Map<string, Channel>();

  constructor({ driver, commands, wheel }: SubscriptionServices) {
    this.#driver = driver;
    this.#commands = commands;
    this.#wheel = wheel;
  }

  /** True if messages of the channel already arrive, so that listening to it costs nothing. */
  isOpen(channel: string): boolean {
    return this.#channels.get(channel)?.open ?? false;
  }

  /**
   * Never throws: a failed subscription is reported to its listeners, which then go on without messages for a while.
   * @param lingers false for a channel that will not be listened to again
   * @returns a function that stops listening, and may override `lingers`
   */
  listen(
    channel: string,
    listener: Listener,
    { lingers = true }: { readonly lingers?: boolean } = {},
  ): Unlisten {
    const entry = this.#channels.get(channel) ?? this.#open(channel);
    entry.listeners.add(listener);
    entry.lingering?.cancel();
    // The channel was already open: this listener may have missed messages.
    if (entry.open) listener.onReady();
    return (stays = lingers) => {
      if (!entry.listeners.delete(listener) || entry.listeners.size > 0) return;
      if (this.#channels.get(channel) !== entry) return;
      // A timer is used even if the channel does not linger, so that the waiting call continues before UNSUBSCRIBE is sent.
      entry.lingering = this.#wheel.schedule(stays ? LINGER_MS : 0, () => this.#close(channel, entry));
    };
  }

  /** Forgets all channels; the driver closes the connection. */
  stop(): void {
    for (const entry of this.#channels.values()) entry.lingering?.cancel();
    this.#channels.clear();
  }

  #open(channel: string): Channel {
    const entry = new Channel();
    this.#channels.set(channel, entry);
    const { timeoutMs } = this.#commands;
    const timeout = this.#wheel.schedule(timeoutMs, () =>
      this.#fail(channel, entry, new Error(`SUBSCRIBE was not answered within ${timeoutMs} ms`)),
    );
    // The subscription outlives the call that was the first to wait.
    inRootContext(() => this.#subscribe(channel, entry)).then(
      (unsubscribe) => {
        timeout.cancel();
        if (this.#channels.get(channel) === entry) entry.unsubscribe = unsubscribe;
        else void unsubscribe().catch(() => undefined);
      },
      (error: unknown) => {
        timeout.cancel();
        this.#fail(channel, entry, error);
      },
    );
    return entry;
  }

  /** Subscribes to all kinds of messages that may be published on the channel. A key and its channels share a slot, and so a server. */
  #subscribe(channel: string, entry: Channel): Promise<Unsubscribe> {
    const publishes = this.#commands.publishes(channel);
    if (typeof publishes === "string") return this.#listenTo(publishes, channel, entry);
    return publishes.then((known) => this.#listenTo(known, channel, entry));
  }

  async #listenTo(publishes: Publishing, channel: string, entry: Channel): Promise<Unsubscribe> {
    if (publishes !== "both") return this.#driver.subscribe(channel, entry, publishes);
    const joining = (["classic", "sharded"] as const).map((family) =>
      this.#driver.subscribe(channel, entry, family),
    );
    const leave = async () => {
      const joined = await Promise.allSettled(joining);
      await Promise.all(joined.map(async (one) => one.status === "fulfilled" && one.value()));
    };
    const joined = await Promise.allSettled(joining);
    const refusals = joined.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
    // If an ACL allows only one of the two kinds of messages, that one is enough. Any other failure may be temporary, so both are tried
    // again later.
    if (refusals.length === 0 || (refusals.length === 1 && isForbidden(refusals[0]))) return leave;
    void leave().catch(() => undefined);
    throw refusals[0];
  }

  #fail(channel: string, entry: Channel, error: unknown): void {
    if (this.#channels.get(channel) !== entry) return;
    this.#channels.delete(channel);
    entry.lingering?.cancel();
    if (events.subscriptionFailed.hasSubscribers) {
      events.subscriptionFailed.publish({ ...this.#commands.about, channel, error });
    }
    const listeners = [...entry.listeners];
    entry.listeners.clear();
    for (const listener of listeners) listener.onFailure();
  }

  #close(channel: string, entry: Channel): void {
    this.#channels.delete(channel);
    // A failed unsubscribe means a lost connection, and its subscriptions are gone with it.
    void entry.unsubscribe?.().catch(() => undefined);
  }
}

function isForbidden(error: unknown): boolean {
  return error instanceof ServerReplyError && error.code === "NOPERM";
}

class Channel {
  readonly listeners = new Set<Listener>();
  open = false;
  unsubscribe: Unsubscribe | undefined;
  lingering: { cancel(): void } | undefined;

  onMessage(message: string): void {
    for (const listener of this.listeners) listener.onMessage(message);
  }

  onReady(): void {
    this.open = true;
    for (const listener of this.listeners) listener.onReady();
  }
}
