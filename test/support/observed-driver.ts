import type {
  ChannelListener,
  Driver,
  DriverTraits,
  PubSubFamily,
  Ticket,
  Unsubscribe,
} from "../../src/driver/driver.js";
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

  /** Only where the driver has it. */
  readonly runReplicated?: NonNullable<Driver["runReplicated"]>;

  constructor(driver: Driver) {
    this.#driver = driver;
    if (driver.runReplicated === undefined) return;
    this.runReplicated = (call, ticket, demand) =>
      this.#observed(call, () => driver.runReplicated?.(call, ticket, demand));
  }

  placeOf(key: string): string {
    return this.#driver.placeOf?.(key) ?? "";
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

  run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    return this.#observed(call, () => this.#driver.run(call, ticket));
  }

  async #observed<Reply>(call: ScriptCall, send: () => Promise<Reply> | undefined): Promise<Reply> {
    this.#underWay += 1;
    this.#sentMs = performance.now();
    try {
      const reply = (await send()) as Reply;
      if (/-(?:acquire|look)$/.test(call.script.name)) {
        this.#asked += 1;
        this.#askedSinceReady += 1;
      }
      return reply;
    } finally {
      this.#underWay -= 1;
    }
  }

  subscribe(channel: string, listener: ChannelListener, family?: PubSubFamily): Promise<Unsubscribe> {
    this.#subscriptions += 1;
    const observed = {
      onMessage: (message: string) => listener.onMessage(message),
      onReady: () => {
        this.#readied += 1;
        this.#askedSinceReady = 0;
        listener.onReady();
      },
    };
    return this.#driver.subscribe(channel, observed, family);
  }

  close(): Promise<void> {
    return this.#driver.close();
  }
}
