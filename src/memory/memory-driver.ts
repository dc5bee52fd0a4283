import {
  type ChannelListener,
  type Driver,
  DriverClosedError,
  type DriverTraits,
  type MasterReply,
  type Unsubscribe,
} from "../driver/driver.js";
import { wrappable } from "../driver/wrappable.js";
import type { RawReply, ScriptCall } from "../protocol/script-call.js";
import { MemoryServer } from "./memory-server.js";
import { type Way, wayTo } from "./way.js";

/**
 * A driver for a server inside this process. It coordinates only this process: use it in tests, in demos and where there is only one
 * process. Clients whose drivers share a server share its locks.
 * @example const holdfast = new Holdfast(memoryDriver());
 */
export function memoryDriver(server: MemoryServer = new MemoryServer()): Driver {
  return wrappable(new MemoryDriver(server));
}

/** A listener of a channel, active as soon as there is a connection. */
interface Subscription {
  readonly channel: string;
  readonly listener: ChannelListener;
  /** Unsubscribes at the server; undefined while there is no connection. */
  end: (() => void) | undefined;
  /** Reports the first successful subscription. */
  began: (() => void) | undefined;
  readonly failed: (error: Error) => void;
}

class MemoryDriver implements Driver {
  readonly traits: DriverTraits;
  /** How many times the server has gone away. */
  resets = 0;
  readonly #server: MemoryServer;
  readonly #way: Way;
  readonly #leave: () => void;
  readonly #subscriptions = new Set<Subscription>();
  /** The functions that reject the calls that have no answer yet. */
  readonly #unanswered = new Set<(error: Error) => void>();
  #closed = false;

  constructor(server: MemoryServer) {
    this.#server = server;
    this.#way = wayTo(server);
    this.traits = { server: server.name, topology: "memory" };
    this.#leave = this.#way.join({ onLost: () => this.#onLost(), onReady: () => this.#onReady() });
  }

  get outage(): Error | undefined {
    return this.#way.isOpen ? undefined : this.#refused();
  }

  run({ script, keys, args }: ScriptCall): Promise<RawReply> {
    if (this.#closed) return Promise.reject(new DriverClosedError());
    return new Promise((resolve, reject) => {
      const failed = (error: unknown) => {
        this.#unanswered.delete(failed);
        reject(error);
      };
      this.#unanswered.add(failed);
      const answered = (answer: () => void) => {
        if (this.#unanswered.delete(failed)) answer();
      };
      this.#way.later(() => {
        if (!this.#unanswered.has(failed)) return;
        if (!this.#way.isOpen) failed(this.#refused());
        else this.#deliver(() => this.#server.evaluate(script, keys, args), answered, resolve, reject);
      });
    });
  }

  async everywhere(call: ScriptCall): Promise<readonly MasterReply[]> {
    return [{ server: this.#server.name, reply: await this.run(call) }];
  }

  subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    if (this.#closed) return Promise.reject(new DriverClosedError());
    return new Promise((resolve, reject) => {
      const unsubscribe = () => {
        this.#subscriptions.delete(subscription);
        subscription.end?.();
        return Promise.resolve();
      };
      const subscription: Subscription = {
        channel,
        listener,
        end: undefined,
        began: () => resolve(unsubscribe),
        failed: reject,
      };
      this.#subscriptions.add(subscription);
      this.#listen(subscription);
    });
  }

  /** Resolves in a later turn: calls sent before are answered first. */
  close(): Promise<void> {
    this.#closed = true;
    this.#leave();
    for (const { end, began, failed } of this.#subscriptions) {
      end?.();
      if (began !== undefined) failed(new DriverClosedError());
    }
    this.#subscriptions.clear();
    return new Promise((resolve) => this.#way.later(resolve));
  }

  /** The server runs the call when it arrives; the answer may be delayed or lost. */
  #deliver(
    evaluate: () => RawReply,
    answered: (answer: () => void) => void,
    resolve: (reply: RawReply) => void,
    reject: (error: unknown) => void,
  ): void {
    let answer: () => void;
    try {
      const reply = evaluate();
      answer = () => resolve(reply);
    } catch (error) {
      answer = () => reject(error);
    }
    const { delayMs } = this.#way;
    if (delayMs === 0) answered(answer);
    else this.#way.later(() => answered(answer), delayMs);
  }

  #listen(subscription: Subscription): void {
    this.#way.later(() => {
      if (!this.#subscriptions.has(subscription) || !this.#way.isOpen || subscription.end !== undefined)
        return;
      const { channel, listener } = subscription;
      subscription.end = this.#server.subscribe(channel, (message) => listener.onMessage(message));
      listener.onReady();
      subscription.began?.();
      subscription.began = undefined;
    });
  }

  #onLost(): void {
    this.resets += 1;
    for (const subscription of this.#subscriptions) {
      subscription.end?.();
      subscription.end = undefined;
    }
    const error = new Error(`the connection to ${this.#server.name} was reset (ECONNRESET)`);
    const unanswered = [...this.#unanswered];
    this.#unanswered.clear();
    this.#way.later(() => {
      for (const failed of unanswered) failed(error);
    });
  }

  #onReady(): void {
    for (const subscription of this.#subscriptions) this.#listen(subscription);
  }

  #refused(): Error {
    return new Error(`${this.#server.name} is away (connect ECONNREFUSED)`);
  }
}
