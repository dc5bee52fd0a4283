import type {
  ChannelListener,
  Driver,
  DriverTraits,
  RawReply,
  ScriptCall,
  Ticket,
  Unsubscribe,
} from "holdfast";

/** A connection that can be cut for good: from then on nothing goes out and nothing comes in. */
export class CuttableDriver implements Driver {
  readonly #inner: Driver;
  #isCut = false;

  constructor(inner: Driver) {
    this.#inner = inner;
  }

  get traits(): DriverTraits {
    return this.#inner.traits;
  }

  get resets(): number {
    return this.#isCut ? 1 : 0;
  }

  cut(): void {
    this.#isCut = true;
  }

  async run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    this.#assertWhole();
    const reply = await this.#inner.run(call, ticket);
    this.#assertWhole();
    return reply;
  }

  async subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    this.#assertWhole();
    return this.#inner.subscribe(channel, {
      onMessage: (message) => this.#isCut || listener.onMessage(message),
      onReady: () => this.#isCut || listener.onReady(),
    });
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #assertWhole(): void {
    if (this.#isCut) throw new Error("the connection was cut");
  }
}
