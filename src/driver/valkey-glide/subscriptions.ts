import { systemClock, type Timer } from "../../clock.js";
import type { PubSubFamily } from "../driver.js";
import {
  EXACT,
  isCluster,
  SHARDED,
  type ValkeyGlideClient,
  type ValkeyGlideClusterClient,
} from "./client.js";

/** GLIDE does not report that a subscription was confirmed, so this code asks GLIDE again and again: soon at first, then after longer pauses. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 64;

/**
 * The channels that a client of GLIDE keeps subscribed until it is asked to unsubscribe. GLIDE itself subscribes again on each new
 * connection. Uses the lazy methods: when the server refuses, the waiting methods would repeat the question at once, thousands of times a
 * second.
 */
export class GlideSubscriptions {
  readonly #lazily: Lazily;
  readonly #confirmed: () => Promise<ReadonlySet<string>>;
  /** Each channel with the `GlideListening` that claimed it last. */
  readonly #channels = new Map<string, object>();
  readonly #waiting = new Set<WaitingSubscription>();
  #timer: Timer | undefined;

  constructor(client: ValkeyGlideClient | ValkeyGlideClusterClient, family: PubSubFamily) {
    const sharded = family === "sharded" && isCluster(client);
    this.#lazily = {
      subscribe: (channels) => (sharded ? client.ssubscribeLazy(channels) : client.subscribeLazy(channels)),
      unsubscribe: (channels) =>
        sharded ? client.sunsubscribeLazy(channels) : client.unsubscribeLazy(channels),
    };
    this.#confirmed = async () => {
      const { actualSubscriptions } = await client.getSubscriptions();
      return new Set([...(actualSubscriptions[sharded ? SHARDED : EXACT] ?? [])].map(String));
    };
  }

  get inUse(): boolean {
    return this.#channels.size > 0;
  }

  /** Must be called before `subscribe`. A later `endOthers(by)` then keeps the channel subscribed. */
  claim(channel: string, by: object): void {
    this.#channels.set(channel, by);
  }

  /** Resolves once the server has confirmed the subscription, and never when the server refuses: `LiveConnection` bounds the wait. */
  async subscribe(channel: string): Promise<void> {
    await this.#lazily.subscribe([channel]);
    await this.#until(channel, true);
  }

  /** Resolves once the server has confirmed the end. */
  async unsubscribe(channel: string): Promise<void> {
    await this.#end([channel]);
    await this.#until(channel, false);
  }

  /** Ends the subscriptions that another `GlideListening` claimed last, without waiting for the server. */
  async endOthers(by: object): Promise<void> {
    const others = [...this.#channels].filter(([, last]) => last !== by);
    if (others.length > 0) await this.#end(others.map(([channel]) => channel));
  }

  /** Rejects all calls that wait for the server, and ends the subscriptions that the server has not confirmed yet. */
  giveUp(): void {
    this.#timer?.cancel();
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(new Error("the subscription was given up"));
    const channels = waiting.filter(({ subscribed }) => subscribed).map(({ channel }) => channel);
    if (channels.length > 0) this.#end(channels).catch(clientEnded);
  }

  async #end(channels: readonly string[]): Promise<void> {
    for (const channel of channels) this.#channels.delete(channel);
    await this.#lazily.unsubscribe(channels);
  }

  #until(channel: string, subscribed: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.add({ channel, subscribed, resolve, reject });
      if (this.#waiting.size === 1) void this.#ask(FIRST_PAUSE_MS);
    });
  }

  /** Asks GLIDE once for all waiting calls. */
  async #ask(pauseMs: number): Promise<void> {
    try {
      const channels = await this.#confirmed();
      for (const one of this.#waiting) {
        if (channels.has(one.channel) !== one.subscribed) continue;
        this.#waiting.delete(one);
        one.resolve();
      }
    } catch {
      // The question is repeated: if the client has ended, `GlideListening` sees that at its next look and calls `giveUp`.
    }
    if (this.#waiting.size === 0) return;
    const nextMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    this.#timer = systemClock.schedule(pauseMs, () => void this.#ask(nextMs));
  }
}

/** A client that has ended has no subscriptions. */
function clientEnded(): void {}

interface Lazily {
  subscribe(channels: readonly string[]): Promise<unknown>;
  unsubscribe(channels: readonly string[]): Promise<unknown>;
}

interface WaitingSubscription {
  readonly channel: string;
  /** Whether the call waits for the beginning of a subscription or for its end. */
  readonly subscribed: boolean;
  resolve(): void;
  reject(error: unknown): void;
}
