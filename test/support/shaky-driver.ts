import type { Clock } from "../../src/clock.js";
import type { ChannelListener, Driver, DriverTraits, Ticket, Unsubscribe } from "../../src/driver/driver.js";
import type { RawReply, ScriptCall } from "../../src/protocol/script-call.js";
import { ConnectionLostError } from "./call-faults.js";
import type { SeededRandom } from "./seeded-random.js";

/** Longer than a command may take to arrive; what comes then is too late for its deadline. */
const LONGEST_DELAY_MS = 4_000;
const LONGEST_BREAK_MS = 300;

/** A driver on whose way calls, answers and messages get lost, come late or come twice, at random. */
export class ShakyDriver implements Driver {
  readonly #inner: Driver;
  readonly #clock: Clock;
  readonly #random: SeededRandom;
  #resets = 0;
  /** True while nothing goes wrong any more; copies that are under way still arrive. */
  steady = false;

  constructor(inner: Driver, clock: Clock, random: SeededRandom) {
    this.#inner = inner;
    this.#clock = clock;
    this.#random = random;
  }

  get traits(): DriverTraits {
    return this.#inner.traits;
  }

  get resets(): number {
    return this.#resets;
  }

  async run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    const deliver = () => this.#inner.run(call, ticket);
    switch (this.steady ? 9 : this.#random.below(10)) {
      case 0:
        return this.#breaks();
      case 1:
        await deliver();
        return this.#breaks();
      case 2:
        void this.#pass(this.#random.below(LONGEST_DELAY_MS)).then(deliver);
        return this.#breaks();
      case 3:
        await deliver();
        this.#resets += 1;
        return deliver();
      case 4:
        await this.#pass(this.#random.below(LONGEST_BREAK_MS));
        return deliver();
      default:
        return deliver();
    }
  }

  subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    return this.#inner.subscribe(channel, {
      onMessage: (message) => {
        if (this.steady || this.#random.below(5) > 0) listener.onMessage(message);
      },
      onReady: () => listener.onReady(),
    });
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /** The caller is told after a while that the connection broke. */
  async #breaks(): Promise<never> {
    await this.#pass(this.#random.below(LONGEST_BREAK_MS));
    this.#resets += 1;
    throw new ConnectionLostError("the connection broke");
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.schedule(ms, resolve));
  }
}
