import type { Clock } from "../../../src/clock.js";
import type { ChannelListener, Driver, Unsubscribe } from "../../../src/driver/driver.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";

interface Lock {
  readonly holder: string;
  count: number;
  endMs: number;
}

/**
 * What the scripts for taking and releasing locks do, without Lua: a hundred times faster than the embedded server,
 * for tests that make very many calls. As there, each way takes a turn of the event loop.
 */
export class ModelServer {
  readonly locks = new Map<string, Lock>();
  readonly listeners = new Map<string, Set<ChannelListener>>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  driver(): Driver {
    return {
      traits: { server: "model", topology: "memory" },
      resets: 0,
      run: (call) => this.#inLaterTurn(() => this.#run(call)),
      subscribe: (channel, listener) => this.#inLaterTurn(() => this.#subscribe(channel, listener)),
      close: () => Promise.resolve(),
    };
  }

  /** @returns how many hear it */
  publish(channel: string, message: string): number {
    const listeners = this.listeners.get(channel) ?? new Set();
    for (const listener of listeners) {
      void this.#inLaterTurn(() => {
        if (this.listeners.get(channel)?.has(listener)) listener.onMessage(message);
      });
    }
    return listeners.size;
  }

  #run({ script, keys, args }: ScriptCall): RawReply {
    const nowMs = Math.floor(this.#clock.wallMs());
    const [notAfterMs = "", ...rest] = args;
    for (const [name, { endMs }] of this.locks) if (endMs <= nowMs) this.locks.delete(name);
    switch (script.name) {
      case "server-probe":
        return [nowMs, "7.2.0"];
      case "lock-acquire":
        if (nowMs > Number(notAfterMs)) return [nowMs, ...keys.map(() => "late")];
        return [nowMs, ...keys.map((key, at) => this.#acquire(key, at, rest, nowMs))];
      case "lock-release":
        return [nowMs, ...keys.map((key, at) => this.#release(key, at, rest, nowMs))];
      case "lock-succeed":
        return [nowMs, this.#succeed(keys[0] ?? "", rest, nowMs)];
      default:
        throw new Error(`the model does not know ${script.name}`);
    }
  }

  #acquire(key: string, at: number, args: readonly string[], nowMs: number): RawReply {
    const [leaseMs, heldCount, ...holders] = args;
    const { [at]: holder = "" } = holders;
    const lock = this.locks.get(key) ?? { holder, count: 0, endMs: 0 };
    if (lock.holder !== holder) return ["busy", lock.endMs - nowMs, lock.holder];
    lock.count = Number(heldCount) + 1;
    lock.endMs = Math.max(lock.endMs, nowMs + Number(leaseMs));
    this.locks.set(key, lock);
    return "held";
  }

  #release(key: string, at: number, args: readonly string[], nowMs: number): RawReply {
    const { [2 * at]: holder, [2 * at + 1]: channel = "" } = args;
    const [, , , keptCount, ttlMs] = args.length % 2 === 1 ? args : [];
    const lock = this.locks.get(key);
    if (lock === undefined || lock.holder !== holder) return "absent";
    if (keptCount === undefined) {
      this.locks.delete(key);
      return this.publish(channel, "0");
    }
    lock.count = Number(keptCount);
    lock.endMs = nowMs + Number(ttlMs);
    return "released";
  }

  #succeed(
    key: string,
    [leaseMs, successor = "", ...predecessors]: readonly string[],
    nowMs: number,
  ): RawReply {
    const lock = this.locks.get(key);
    if (lock === undefined || ![successor, ...predecessors].includes(lock.holder)) return "lost";
    this.locks.set(key, { holder: successor, count: 1, endMs: nowMs + Number(leaseMs) });
    return "held";
  }

  #subscribe(channel: string, listener: ChannelListener): Unsubscribe {
    const listeners = this.listeners.get(channel) ?? new Set();
    this.listeners.set(channel, listeners.add(listener));
    listener.onReady();
    return async () => {
      listeners.delete(listener);
    };
  }

  #inLaterTurn<T>(act: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#clock.schedule(
        0,
        () => {
          try {
            resolve(act());
          } catch (error) {
            reject(error);
          }
        },
        true,
      );
    });
  }
}
