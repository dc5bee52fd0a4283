import { type Clock, systemClock } from "../clock.js";
import type { RawReply, ScriptSource } from "../protocol/script-call.js";
import { bytesOfText, textOfBytes } from "./byte-strings.js";
import { Channels } from "./channels.js";
import { MemoryStore } from "./memory-store.js";
import type { Snapshot } from "./snapshot.js";

export interface MemoryServerOptions {
  /** Default: the clock of this process. */
  readonly clock?: Clock;
}

let serversSoFar = 0;

/**
 * A stand-in for a Redis server inside this process: it runs the same Lua scripts over keys of its own, which
 * expire on the clock that it is given. No other process sees them, so it coordinates this process only.
 * The scripts run in fengari, which is to be installed beside holdfast.
 */
export class MemoryServer {
  /** Unique among the memory servers of the process. */
  readonly name: string = `memory:${++serversSoFar}`;
  readonly clock: Clock;
  readonly #channels: Channels;
  readonly #store: MemoryStore;

  constructor(options: MemoryServerOptions = {}) {
    const { clock = systemClock } = options;
    const channels = new Channels(clock);
    this.clock = clock;
    this.#channels = channels;
    this.#store = new MemoryStore({
      wallMs: () => clock.wallMs(),
      publish: (channel, message) => channels.publish(channel, message),
      listeners: (channel) => channels.count(channel),
      channels: () => channels.names(),
    });
  }

  /** Runs a command at once: to prepare or look at keys in a test. Throws `ServerReplyError` when refused. */
  command(name: string, ...args: readonly (string | number)[]): RawReply {
    return this.#store.command(name, args);
  }

  /** Runs a script at once, as `EVAL` does. Throws `ServerReplyError` when the script ends with an error. */
  evaluate(script: ScriptSource, keys: readonly string[], args: readonly string[]): RawReply {
    return this.#store.evaluate(script, keys, args);
  }

  /**
   * Listens to a channel. Messages arrive in later turns of the event loop, in the order of publishing. Returns
   * what ends it; not even a message that is on its way arrives after that.
   */
  subscribe(channel: string, onMessage: (message: string) => void): () => void {
    return this.#channels.subscribe(bytesOfText(channel), (message) => onMessage(textOfBytes(message)));
  }

  /** All that is stored, as plain data for comparisons. */
  dump(): Snapshot {
    return this.#store.dump();
  }

  /** Deletes all keys. Subscriptions stay. */
  flush(): void {
    this.#store.flush();
  }

  /** Behaves from now on like a server at its `maxmemory` that may evict nothing, or no longer so. */
  full(isFull: boolean): void {
    this.#store.full(isFull);
  }
}
