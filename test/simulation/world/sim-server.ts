import type { Clock } from "../../../src/clock.js";
import { ServerReplyError } from "../../../src/driver/driver.js";
import { MemoryServer } from "../../../src/driver/memory/memory-server.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import { Gate } from "./gate.js";
import type { VirtualTime } from "./virtual-time.js";

const US = 1_000;

/** Whoever listens to a channel on one connection. */
export interface Ear {
  hear(channel: string, message: string): void;
}

/** What the watchers of a run are told of a server. */
export interface ServerWatch {
  /** A script is about to run. */
  starts?(server: SimServer, call: ScriptCall, by: string): void;
  /** A script has run. @param answer what it answered, or the server's refusal */
  ran(server: SimServer, call: ScriptCall, by: string, answer: RawReply | Error): void;
}

/** A server of a run: the embedded one, with a clock of its own and what can befall it. */
export class SimServer {
  readonly name: string;
  /** What reaches it waits here while it stands still. */
  readonly gate: Gate;
  readonly #time: VirtualTime;
  readonly #epochMs: number;
  readonly #watch: ServerWatch;
  readonly #store: MemoryServer;
  readonly #ears = new Map<string, Set<Ear>>();
  readonly #ends = new Map<string, () => void>();
  readonly #scripts = new Set<string>();
  #shiftMs = 0;
  /** It is a replica, or was made one: it refuses whatever may write. */
  isReadOnly = false;

  constructor(name: string, time: VirtualTime, epochMs: number, watch: ServerWatch) {
    this.name = name;
    this.gate = new Gate(time);
    this.#time = time;
    this.#epochMs = epochMs;
    this.#watch = watch;
    const clock: Clock = {
      wallMs: () => this.timeMs,
      monotonicMs: () => this.#time.nowUs / US,
      schedule: (_, run) => {
        run();
        return { cancel() {} };
      },
    };
    this.#store = new MemoryServer({ clock });
  }

  get timeMs(): number {
    return this.#epochMs + this.#shiftMs + this.#time.nowUs / US;
  }

  /** Its clock is set forward. */
  stepClock(ms: number): void {
    this.#shiftMs += ms;
  }

  /** `EVALSHA`, or `EVAL` with the script's text. Throws `ServerReplyError`. */
  run(call: ScriptCall, by: string, withText: boolean): RawReply {
    const { script, keys, args } = call;
    if (withText) this.#scripts.add(script.sha1);
    else if (!this.#scripts.has(script.sha1)) throw new ServerReplyError("NOSCRIPT No matching script.");
    this.#watch.starts?.(this, call, by);
    try {
      if (this.isReadOnly) throw new ServerReplyError("READONLY You can't write against a read only replica.");
      const reply = this.#store.evaluate(script, keys, args);
      this.#watch.ran(this, call, by, reply);
      return reply;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      this.#watch.ran(this, call, by, error);
      throw error;
    }
  }

  command(name: string, ...args: readonly (string | number)[]): RawReply {
    return this.#store.command(name, ...args);
  }

  get keys(): ReturnType<MemoryServer["dump"]> {
    return this.#store.dump();
  }

  forgetScripts(): void {
    this.#scripts.clear();
  }

  /** Whether it is at its `maxmemory`. */
  set isFull(isFull: boolean) {
    this.#store.full(isFull);
  }

  empty(): void {
    this.#store.flush();
  }

  listen(channel: string, ear: Ear): void {
    const ears = this.#ears.get(channel);
    if (ears !== undefined) {
      ears.add(ear);
      return;
    }
    const first = new Set([ear]);
    this.#ears.set(channel, first);
    const end = this.#store.subscribe(channel, (message) => {
      for (const each of first) each.hear(channel, message);
    });
    this.#ends.set(channel, end);
  }

  unlisten(channel: string, ear: Ear): void {
    const ears = this.#ears.get(channel);
    if (ears?.delete(ear) !== true || ears.size > 0) return;
    this.#ears.delete(channel);
    this.#ends.get(channel)?.();
  }

  /** A connection for messages is gone. */
  forget(ear: Ear): void {
    for (const channel of [...this.#ears.keys()]) this.unlisten(channel, ear);
  }
}
