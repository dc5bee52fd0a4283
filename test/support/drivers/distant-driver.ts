import type { Clock } from "../../../src/clock.js";
import type {
  ChannelListener,
  Driver,
  DriverTraits,
  Ticket,
  Unsubscribe,
} from "../../../src/driver/driver.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";

/** The driver of a client that is far from its server: requests, replies and messages are on their way for so long. */
export class DistantDriver implements Driver {
  readonly #inner: Driver;
  readonly #clock: Clock;
  readonly #oneWayMs: number;

  constructor(inner: Driver, clock: Clock, oneWayMs: number) {
    this.#inner = inner;
    this.#clock = clock;
    this.#oneWayMs = oneWayMs;
  }

  get traits(): DriverTraits {
    return this.#inner.traits;
  }

  get resets(): number {
    return this.#inner.resets;
  }

  run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    return this.#thereAndBack(() => this.#inner.run(call, ticket));
  }

  subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    const late: ChannelListener = {
      onMessage: (message) => void this.#clock.schedule(this.#oneWayMs, () => listener.onMessage(message)),
      onReady: () => void this.#clock.schedule(this.#oneWayMs, () => listener.onReady()),
    };
    return this.#thereAndBack(() => this.#inner.subscribe(channel, late));
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  async #thereAndBack<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    await this.#pass();
    try {
      return await ask();
    } finally {
      await this.#pass();
    }
  }

  #pass(): Promise<void> {
    return new Promise((resolve) => void this.#clock.schedule(this.#oneWayMs, resolve));
  }
}
