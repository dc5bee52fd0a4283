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
  /** By the lock's key: the clients that wait, the first first. One that has the lock and does not wait is `-` and its id. */
  readonly queues = new Map<string, readonly string[]>();
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
        if (rest[1] === "queued") return [nowMs, this.#acquireQueued(keys[0] ?? "", rest, nowMs)];
        return [nowMs, ...keys.map((key, at) => this.#acquire(key, at, rest, nowMs))];
      case "lock-release": {
        const looks = rest.length + 1 <= 2 * keys.length;
        const locks = looks ? keys.slice(0, keys.length / 2) : keys;
        const ways = looks ? rest.slice(2 * locks.length) : [];
        const released = (key: string, at: number) => {
          const reply = this.#release(key, at, looks ? rest.slice(0, 2 * locks.length) : rest, nowMs);
          return looks ? this.#look(key, at, [rest, ways], reply) : reply;
        };
        return [nowMs, ...locks.map(released)];
      }
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

  #acquireQueued(
    key: string,
    [leaseMs = "", , holder = "", waitsOn]: readonly string[],
    nowMs: number,
  ): RawReply {
    const client = holder.slice(0, 36);
    if (this.locks.get(key)?.holder === `${client}:next`) this.locks.delete(key);
    const reply = this.#acquire(key, 0, [leaseMs, "0", holder], nowMs);
    const queue = this.queues.get(key) ?? [];
    const others = queue.filter((each) => each !== client && !each.startsWith("-"));
    if (reply === "held") {
      if (others.length === 0) this.queues.delete(key);
      else this.queues.set(key, [...without(queue, client), waitsOn === "1" ? client : `-${client}`]);
      return ["held", "", others.length === 0 ? 0 : waitsOn === "1" ? 2 : 1];
    }
    const [status = "", ttlMs = 0, found = ""] = reply as RawReply[];
    const owner = String(found).slice(0, 36);
    if (!queue.includes(client) && (owner !== client || others.length > 0))
      this.queues.set(key, [...without(queue, client), client]);
    const now = this.queues.get(key) ?? [];
    const ahead = others.filter((each) => now.indexOf(each) < now.indexOf(client)).length;
    const stands = now.includes(client) ? 2 : now.includes(`-${client}`) ? 1 : 0;
    const isTold = now.includes(owner) || now.includes(`-${owner}`);
    return [status, ttlMs, found, stands, Math.min(2, ahead), isTold ? 1 : 0];
  }

  /** Gives a free lock to the next client that waits: all who listen are known here. */
  #look(
    key: string,
    at: number,
    [args, ways]: readonly [readonly string[], readonly string[]],
    reply: RawReply,
  ): RawReply {
    const { [2 * at]: holder = "", [2 * at + 1]: channel = "" } = args;
    const client = holder.slice(0, 36);
    const before = this.queues.get(key) ?? [];
    const leaves = ways[at]?.startsWith("leaves") === true;
    const isThere = before.includes(client) || before.includes(`-${client}`);
    if (leaves && isThere && this.locks.get(key)?.holder.startsWith(client)) {
      this.#setQueue(key, [...without(before, client), `-${client}`]);
      return ["absent", 1];
    }
    const queue = leaves ? without(before, client) : before;
    this.#setQueue(key, queue);
    const [next] = queue.filter((each) => each !== client && !each.startsWith("-"));
    if (typeof reply !== "number") {
      if (leaves && before[0] === client && next !== undefined) this.publish(`${channel}:${next}`, "turn");
      return reply;
    }
    if (next === undefined) {
      if (leaves) this.queues.delete(key);
      return reply;
    }
    this.#setQueue(key, without(queue, next));
    this.locks.set(key, { holder: `${next}:next`, count: 1, endMs: this.#clock.wallMs() + 1_500 });
    this.publish(`${channel}:${next}`, "turn");
    return ["given", reply];
  }

  #setQueue(key: string, queue: readonly string[]): void {
    if (queue.length === 0) this.queues.delete(key);
    else this.queues.set(key, queue);
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

function without(queue: readonly string[], client: string): readonly string[] {
  return queue.filter((each) => each !== client && each !== `-${client}`);
}
