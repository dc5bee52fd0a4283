import type { ChannelListener, Driver, DriverTraits, Ticket, Unsubscribe } from "../../src/driver/driver.js";
import type { RawReply, ScriptCall } from "../../src/protocol/script-call.js";

/** Passes everything on to another driver and writes down what it was asked for. */
export class ObservedDriver implements Driver {
  readonly traits: DriverTraits;
  /** The names of the scripts, in the order of the calls. */
  readonly scripts: string[] = [];
  /** Channels, in the order in which listening to them was asked for. */
  readonly subscribed: string[] = [];
  /** Channels that are listened to now, or are about to be. */
  readonly listening = new Set<string>();
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.traits = driver.traits;
    this.#driver = driver;
  }

  get resets(): number {
    return this.#driver.resets;
  }

  /** How often a script was asked for. */
  countOf(script: string): number {
    return this.scripts.filter((name) => name === script).length;
  }

  run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    this.scripts.push(call.script.name);
    return this.#driver.run(call, ticket);
  }

  async subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    this.subscribed.push(channel);
    this.listening.add(channel);
    try {
      const unsubscribe = await this.#driver.subscribe(channel, listener);
      return () => {
        this.listening.delete(channel);
        return unsubscribe();
      };
    } catch (error) {
      this.listening.delete(channel);
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#driver.close();
  }
}
