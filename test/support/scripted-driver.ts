import type { ChannelListener, Driver, DriverTraits, Ticket, Unsubscribe } from "../../src/driver/driver.js";
import type { RawReply, ScriptCall } from "../../src/protocol/script-call.js";

/** One call as the driver got it, and what became of it. */
export interface LoggedCall {
  readonly call: ScriptCall;
  readonly ticket: Ticket;
  /** The name of the fault that it met, if any. */
  readonly fault: string | undefined;
  /** How often it reached the server. */
  deliveries: number;
}

/** What may happen to a call. The faults are below. */
export interface CallFault {
  readonly name: string;
  /** @param deliver lets the server run the call, as often as wanted; @returns the answer that the caller gets */
  meet(deliver: () => Promise<RawReply>, driver: ScriptedDriver): Promise<RawReply>;
}

export type CallFilter = string | ((call: ScriptCall) => boolean);

interface Plan {
  readonly fault: CallFault;
  readonly concerns: (call: ScriptCall) => boolean;
  readonly met: (call: LoggedCall) => void;
}

/** A driver between a real one and the code under test, which does to each call what the test has planned for it. */
export class ScriptedDriver implements Driver {
  /** All calls so far, in the order in which they were made. */
  readonly calls: LoggedCall[] = [];
  readonly channels: ScriptedChannels;
  readonly #inner: Driver;
  readonly #plans: Plan[] = [];
  #extraResets = 0;

  constructor(inner: Driver) {
    this.#inner = inner;
    this.channels = new ScriptedChannels(inner);
  }

  get traits(): DriverTraits {
    return this.#inner.traits;
  }

  get resets(): number {
    return this.#inner.resets + this.#extraResets;
  }

  /** Pretends that the command connection was lost once more. */
  reset(): void {
    this.#extraResets += 1;
  }

  /**
   * The next call of that script (by name), or the next for which the function says true, meets the fault; with no
   * filter, the next call. Plans are used up one by one, in the order in which they were made.
   *
   * @returns resolves with the call once one meets the fault
   */
  next(fault: CallFault, filter: CallFilter = () => true): Promise<LoggedCall> {
    const concerns = typeof filter === "string" ? ({ script }: ScriptCall) => script.name === filter : filter;
    return new Promise((met) => this.#plans.push({ fault, concerns, met }));
  }

  /** The names of the scripts called so far. */
  get names(): readonly string[] {
    return this.calls.map(({ call }) => call.script.name);
  }

  run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    const index = this.#plans.findIndex(({ concerns }) => concerns(call));
    const [plan] = index < 0 ? [] : this.#plans.splice(index, 1);
    const logged: LoggedCall = { call, ticket, fault: plan?.fault.name, deliveries: 0 };
    this.calls.push(logged);
    const deliver = () => {
      logged.deliveries += 1;
      return this.#inner.run(call, ticket);
    };
    if (plan === undefined) return deliver();
    plan.met(logged);
    return plan.fault.meet(deliver, this);
  }

  subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    return this.channels.subscribe(channel, listener);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}

/** What a test can do to the subscriptions. */
export class ScriptedChannels {
  readonly #inner: Driver;
  readonly #listeners = new Set<ChannelListener>();
  #failures: unknown[] = [];
  #hold: Promise<void> | undefined;
  #mute = false;
  /** Subscriptions that were asked for so far. */
  readonly asked: string[] = [];

  constructor(inner: Driver) {
    this.#inner = inner;
  }

  /** The next subscription is refused. */
  failNext(error: unknown): void {
    this.#failures.push(error);
  }

  /** Keeps subscriptions from the server until the function that is returned is called. */
  hold(): () => void {
    let release = (): void => undefined;
    this.#hold = new Promise((resolve) => {
      release = resolve;
    });
    return () => {
      this.#hold = undefined;
      release();
    };
  }

  /** Loses all messages from now on, or no longer. */
  mute(isMute: boolean): void {
    this.#mute = isMute;
  }

  /** Tells all listeners that messages begin to arrive, as after a reconnect. */
  reconnect(): void {
    for (const listener of this.#listeners) listener.onReady();
  }

  async subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    this.asked.push(channel);
    if (this.#failures.length > 0) throw this.#failures.shift();
    await this.#hold;
    const unsubscribe = await this.#inner.subscribe(channel, {
      onMessage: (message) => {
        if (!this.#mute) listener.onMessage(message);
      },
      onReady: () => listener.onReady(),
    });
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      return unsubscribe();
    };
  }
}
