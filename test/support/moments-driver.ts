import type { ChannelListener, Driver, DriverTraits, Ticket, Unsubscribe } from "../../src/driver/driver.js";
import type { RawReply, ScriptCall } from "../../src/protocol/script-call.js";

/** Tells of each moment in which something passes between a driver and its user, before it passes. */
export class MomentsDriver implements Driver {
  readonly #driver: Driver;
  readonly #tell: (moment: string) => void;

  constructor(driver: Driver, tell: (moment: string) => void) {
    this.#driver = driver;
    this.#tell = tell;
  }

  get traits(): DriverTraits {
    return this.#driver.traits;
  }

  get resets(): number {
    return this.#driver.resets;
  }

  async run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    this.#tell(`${call.script.name} is sent`);
    const reply = await this.#driver.run(call, ticket);
    this.#tell(`${call.script.name} is answered`);
    return reply;
  }

  async subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    this.#tell("a subscription is asked for");
    const unsubscribe = await this.#driver.subscribe(channel, {
      onMessage: (message) => {
        this.#tell("a message arrives");
        listener.onMessage(message);
      },
      onReady: () => {
        this.#tell("messages begin to arrive");
        listener.onReady();
      },
    });
    this.#tell("a subscription is answered");
    return unsubscribe;
  }

  close(): Promise<void> {
    return this.#driver.close();
  }
}
