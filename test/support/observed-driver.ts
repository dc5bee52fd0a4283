import type { ChannelListener, Driver, DriverTraits, Ticket, Unsubscribe } from "../../src/driver/driver.js";
import type { RawReply, ScriptCall } from "../../src/protocol/script-call.js";
import { until } from "./until.js";

/** Between a client and its server, to see when a call of the client waits. */
export class ObservedDriver implements Driver {
  readonly #driver: Driver;
  #subscriptions = 0;
  #underWay = 0;
  #sentMs = Number.NEGATIVE_INFINITY;
  /** How often a lock was asked for, and an answer came. */
  #asked = 0;
  #askedSinceReady = 0;
  /** How often messages have begun to arrive. */
  #readied = 0;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  get traits(): DriverTraits {
    return this.#driver.traits;
  }

  get resets(): number {
    return this.#driver.resets;
  }

  /** How long ago the latest call was sent, in milliseconds. */
  get idleMs(): number {
    return performance.now() - this.#sentMs;
  }

  /** How many were asked for so far. */
  get subscriptions(): number {
    return this.#subscriptions;
  }

  /**
   * Resolves when the call that the client has just made was refused, and waits: for a message, having asked once more
   * since messages arrive, or with `polling` for the time to ask again.
   */
  waits({ polling = false }: { readonly polling?: boolean } = {}): Promise<void> {
    const [asked, readied] = [this.#asked, this.#readied];
    const refused = polling
      ? () => this.#asked > asked
      : () => this.#readied > readied && this.#askedSinceReady > 0;
    return until(() => this.#underWay === 0 && refused());
  }

  async run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    this.#underWay += 1;
    this.#sentMs = performance.now();
    try {
      const reply = await this.#driver.run(call, ticket);
      if (/-(?:acquire|look)$/.test(call.script.name)) {
        this.#asked += 1;
        this.#askedSinceReady += 1;
      }
      return reply;
    } finally {
      this.#underWay -= 1;
    }
  }

  subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    this.#subscriptions += 1;
    return this.#driver.subscribe(channel, {
      onMessage: (message) => listener.onMessage(message),
      onReady: () => {
        this.#readied += 1;
        this.#askedSinceReady = 0;
        listener.onReady();
      },
    });
  }

  close(): Promise<void> {
    return this.#driver.close();
  }
}
