import {
  type ChannelListener,
  type Driver,
  DriverClosedError,
  type DriverTraits,
  type MasterReply,
  type Unsubscribe,
} from "../driver/driver.js";
import type { RawReply, ScriptCall } from "../protocol/script-call.js";
import { MemoryServer } from "./memory-server.js";

/**
 * A driver for a server inside this process. It coordinates this process only: use it in tests, in demos and
 * where one process is all there is. Drivers that share a server exclude and wake each other.
 */
export function memoryDriver(server: MemoryServer = new MemoryServer()): Driver {
  return new MemoryDriver(server);
}

class MemoryDriver implements Driver {
  readonly traits: DriverTraits;
  /** The way to this server never breaks. */
  readonly resets = 0;
  readonly #server: MemoryServer;
  readonly #subscriptions = new Set<() => void>();
  #closed = false;

  constructor(server: MemoryServer) {
    this.#server = server;
    this.traits = { server: server.name, topology: "memory" };
  }

  run({ script, keys, args }: ScriptCall): Promise<RawReply> {
    return this.#inLaterTurn(() => this.#server.evaluate(script, keys, args));
  }

  async everywhere(call: ScriptCall): Promise<readonly MasterReply[]> {
    return [{ server: this.#server.name, reply: await this.run(call) }];
  }

  subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    return this.#inLaterTurn(() => {
      if (this.#closed) throw new DriverClosedError();
      const end = this.#server.subscribe(channel, (message) => listener.onMessage(message));
      this.#subscriptions.add(end);
      listener.onReady();
      return () => {
        this.#subscriptions.delete(end);
        end();
        return Promise.resolve();
      };
    });
  }

  /** Resolves in a later turn: the calls sent before are answered first. */
  close(): Promise<void> {
    this.#closed = true;
    for (const end of this.#subscriptions) end();
    this.#subscriptions.clear();
    return new Promise((resolve) => this.#server.clock.schedule(0, resolve, true));
  }

  /** The way to a server takes a turn of the event loop, and keeps the process alive until the answer is there. */
  #inLaterTurn<T>(act: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(new DriverClosedError());
    return new Promise((resolve, reject) => {
      const arrive = () => {
        try {
          resolve(act());
        } catch (error) {
          reject(error);
        }
      };
      this.#server.clock.schedule(0, arrive, true);
    });
  }
}
