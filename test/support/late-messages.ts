import type { Clock } from "../../src/clock.js";
import type { ChannelListener, Driver, DriverTraits, Ticket, Unsubscribe } from "../../src/driver/driver.js";
import type { RawReply, ScriptCall } from "../../src/protocol/script-call.js";

/** A driver whose messages arrive as late as a test says, or never, and that can be cut off from the server for ever. */
export class LateMessagesDriver implements Driver {
  readonly #inner: Driver;
  readonly #clock: Clock;
  readonly #delayMs: () => number;
  #dead = false;

  /** @param delayMs of the next message; infinite: it is lost */
  constructor(inner: Driver, clock: Clock, delayMs: () => number) {
    this.#inner = inner;
    this.#clock = clock;
    this.#delayMs = delayMs;
  }

  get traits(): DriverTraits {
    return this.#inner.traits;
  }

  get resets(): number {
    return this.#inner.resets;
  }

  get dead(): boolean {
    return this.#dead;
  }

  /** The process has died. */
  kill(): void {
    this.#dead = true;
  }

  async run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    const reply = this.#dead ? undefined : await this.#inner.run(call, ticket);
    return reply === undefined || this.#dead ? new Promise<never>(() => undefined) : reply;
  }

  subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    return this.#inner.subscribe(channel, {
      onMessage: (message) => {
        const delayMs = this.#delayMs();
        if (delayMs === Number.POSITIVE_INFINITY) return;
        this.#clock.schedule(delayMs, () => {
          if (!this.#dead) listener.onMessage(message);
        });
      },
      onReady: () => listener.onReady(),
    });
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
