import type {
  ChannelListener,
  Driver,
  DriverTraits,
  PubSubFamily,
  Ticket,
  Unsubscribe,
} from "../../../src/driver/driver.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";

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

/** Is told of what passes between a driver and its user, before it passes. */
export interface Tap {
  readonly sent?: (call: ScriptCall) => void;
  readonly answered?: (call: ScriptCall) => void;
  readonly failed?: (call: ScriptCall) => void;
  readonly subscribing?: (channel: string) => void;
  readonly subscribed?: (channel: string) => void;
  readonly message?: (channel: string) => void;
  readonly ready?: (channel: string) => void;
}

/**
 * A driver between a real one and the code under test, which does to each call what the test has planned for it, and tells a tap of
 * all that passes.
 */
export class ScriptedDriver implements Driver {
  /** All calls so far, in the order in which they were made. */
  readonly calls: LoggedCall[] = [];
  readonly channels: ScriptedChannels;
  readonly #inner: Driver;
  readonly #tap: Tap;
  readonly #plans: Plan[] = [];
  #extraResets = 0;
  /** Only where the driver has it. No plan concerns these calls. */
  readonly runReplicated?: NonNullable<Driver["runReplicated"]>;
  readonly placeOf?: NonNullable<Driver["placeOf"]>;

  constructor(inner: Driver, tap: Tap = {}) {
    this.#inner = inner;
    this.#tap = tap;
    this.channels = new ScriptedChannels(inner, tap);
    const { runReplicated, placeOf } = inner;
    if (runReplicated !== undefined)
      this.runReplicated = (call, ticket, demand) =>
        this.#tapped(call, () => runReplicated.call(inner, call, ticket, demand));
    if (placeOf !== undefined) this.placeOf = (key) => placeOf.call(inner, key);
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
    return this.#tapped(call, () => this.#met(call, ticket));
  }

  #met(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
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

  subscribe(channel: string, listener: ChannelListener, family?: PubSubFamily): Promise<Unsubscribe> {
    return this.channels.subscribe(channel, listener, family);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /** As many turns as without a tap, where that does not listen to answers. */
  #tapped<Reply>(call: ScriptCall, send: () => Promise<Reply>): Promise<Reply> {
    const { sent, answered, failed } = this.#tap;
    sent?.(call);
    const answer = send();
    if (answered === undefined && failed === undefined) return answer;
    return answer.then(
      (reply) => {
        answered?.(call);
        return reply;
      },
      (error: unknown) => {
        failed?.(call);
        throw error;
      },
    );
  }
}

/** What a test can do to the subscriptions. */
export class ScriptedChannels {
  readonly #inner: Driver;
  readonly #tap: Tap;
  readonly #listeners = new Map<ChannelListener, string>();
  #failures: unknown[] = [];
  #hold: Promise<void> | undefined;
  #mute = false;
  /** Subscriptions that were asked for so far. */
  readonly asked: string[] = [];

  constructor(inner: Driver, tap: Tap = {}) {
    this.#inner = inner;
    this.#tap = tap;
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
    for (const listener of this.#listeners.keys()) listener.onReady();
  }

  /** A message arrives that no server has sent, also while others are lost. */
  hear(channel: string, message: string): void {
    for (const [listener, each] of this.#listeners) if (each === channel) listener.onMessage(message);
  }

  async subscribe(channel: string, listener: ChannelListener, family?: PubSubFamily): Promise<Unsubscribe> {
    this.asked.push(channel);
    this.#tap.subscribing?.(channel);
    if (this.#failures.length > 0) throw this.#failures.shift();
    await this.#hold;
    const observed: ChannelListener = {
      onMessage: (message) => {
        if (this.#mute) return;
        this.#tap.message?.(channel);
        listener.onMessage(message);
      },
      onReady: () => {
        this.#tap.ready?.(channel);
        listener.onReady();
      },
    };
    const unsubscribe = await this.#inner.subscribe(channel, observed, family);
    this.#tap.subscribed?.(channel);
    this.#listeners.set(listener, channel);
    return () => {
      this.#listeners.delete(listener);
      return unsubscribe();
    };
  }
}
