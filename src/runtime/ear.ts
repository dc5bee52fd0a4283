import type { Clock } from "../clock.js";
import type { Subscriptions, Unlisten } from "./subscriptions.js";

/** The pause before listening again after a failure: doubles each time, up to the safety period. */
const FIRST_DEAF_MS = 250;

export interface EarServices {
  readonly clock: Clock;
  readonly subscriptions: Subscriptions;
  readonly safetyPeriodMs: number;
}

/** The receiver of an ear's messages. */
export interface Hearer {
  onMessage(message: string): void;
  /** Messages begin to arrive; earlier ones may have been missed. */
  onReady(): void;
  /** Listening has failed. The ear may listen again from `againMs` on. */
  onFailure(): void;
}

/** Listens to one channel when asked to. After a failure it pauses before it listens again. */
export class Ear {
  readonly channel: string;
  /** Ends the subscription; undefined while the ear does not listen. Set by the ear. */
  unlisten: Unlisten | undefined;
  /** The time from which the ear may listen, on the monotonic clock. The next pause after a failure is `#deafMs`. */
  againMs: number = Number.NEGATIVE_INFINITY;
  readonly #services: EarServices;
  readonly #hearer: Hearer;
  #deafMs = FIRST_DEAF_MS;

  constructor(services: EarServices, channel: string, hearer: Hearer) {
    this.#services = services;
    this.channel = channel;
    this.#hearer = hearer;
  }

  /** Whether messages published from now on arrive. */
  get hears(): boolean {
    return this.unlisten !== undefined && this.#services.subscriptions.isOpen(this.channel);
  }

  /** Listens, unless it already does or pauses after a failure. */
  listen(): void {
    const { clock, subscriptions, safetyPeriodMs } = this.#services;
    if (this.unlisten !== undefined || clock.monotonicMs() < this.againMs) return;
    const listener = {
      onMessage: (message: string) => this.#hearer.onMessage(message),
      onReady: () => {
        this.#deafMs = FIRST_DEAF_MS;
        this.#hearer.onReady();
      },
      onFailure: () => {
        this.unlisten = undefined;
        this.againMs = clock.monotonicMs() + this.#deafMs;
        this.#deafMs = Math.min(2 * this.#deafMs, safetyPeriodMs);
        this.#hearer.onFailure();
      },
    };
    this.unlisten = subscriptions.listen(this.channel, listener);
  }

  /** Stops listening and resets the pauses after failures. @param lingers whether it may soon listen again */
  rest(lingers = true): void {
    this.unlisten?.(lingers);
    this.unlisten = undefined;
    this.againMs = Number.NEGATIVE_INFINITY;
    this.#deafMs = FIRST_DEAF_MS;
  }
}
