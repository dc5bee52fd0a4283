import { type Clock, systemClock } from "../../clock.js";
import type { RawReply, ScriptSource } from "../../protocol/script-call.js";
import { bytesOfText, textOfBytes } from "./byte-strings.js";
import { Channels } from "./channels.js";
import type { CommandServer } from "./command.js";
import { findCommand, takes } from "./command-table.js";
import { Keyspace } from "./keyspace.js";
import { LuaInterpreter } from "./lua-interpreter.js";
import { CommandError, Refusal, type Reply, rawReply } from "./reply.js";
import { type Snapshot, snapshotOf } from "./snapshot.js";

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
  /** Tells this server from the others of the process. */
  readonly name: string = `memory:${++serversSoFar}`;
  readonly clock: Clock;
  readonly #keyspace = new Keyspace();
  readonly #channels: Channels;
  readonly #commandServer: CommandServer;
  readonly #interpreter: LuaInterpreter;
  #full = false;
  #hasWritten = false;

  constructor(options: MemoryServerOptions = {}) {
    this.clock = options.clock ?? systemClock;
    this.#channels = new Channels(this.clock);
    this.#commandServer = {
      keyspace: this.#keyspace,
      publish: (channel, message) => this.#channels.publish(channel, message),
      listeners: (channel) => this.#channels.count(channel),
    };
    this.#interpreter = new LuaInterpreter((words) => this.#run(words, scriptComplaints));
  }

  /** Runs a command at once: to prepare or look at keys in a test. Throws `ServerReplyError` when refused. */
  command(name: string, ...args: readonly (string | number)[]): RawReply {
    this.#begin();
    return rawReply(
      this.#run(
        [name, ...args].map((word) => bytesOfText(String(word))),
        plainComplaints,
      ),
    );
  }

  /** Runs a script at once, as `EVAL` does. Throws `ServerReplyError` when the script ends with an error. */
  evaluate(script: ScriptSource, keys: readonly string[], args: readonly string[]): RawReply {
    this.#begin();
    return rawReply(this.#interpreter.run(script, keys.map(bytesOfText), args.map(bytesOfText)));
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
    this.#begin();
    return snapshotOf(this.#keyspace);
  }

  /** Deletes all keys. Subscriptions stay. */
  flush(): void {
    this.#keyspace.clear();
  }

  /** Behaves from now on like a server at its `maxmemory` that may evict nothing, or no longer so. */
  full(isFull: boolean): void {
    this.#full = isFull;
  }

  /** Time stands still while a command or script runs, as on a real server. */
  #begin(): void {
    this.#keyspace.timeMs = Math.floor(this.clock.wallMs());
    this.#hasWritten = false;
  }

  #run(words: readonly string[], complaints: Complaints): Reply {
    const [name = "", ...args] = words;
    const command = findCommand(name);
    if (command === undefined) return new Refusal(complaints.unknown(name, args));
    if (!takes(command, words.length)) return new Refusal(complaints.arity(name));
    if (this.#full && command.effect === "may-grow" && !this.#hasWritten) {
      return new Refusal("OOM command not allowed when used memory > 'maxmemory'.");
    }
    // Even a write that changes nothing, or fails, opens the way for the others.
    this.#hasWritten ||= command.effect !== "none";
    try {
      return command.run(this.#commandServer, ...args);
    } catch (error) {
      if (error instanceof CommandError) return new Refusal(error.message);
      throw error;
    }
  }
}

/** Redis words its complaints about a command otherwise when a script calls it. */
interface Complaints {
  unknown(name: string, args: readonly string[]): string;
  arity(name: string): string;
}

const plainComplaints: Complaints = {
  unknown: (name, args) =>
    `ERR unknown command '${name}', with args beginning with: ${args.map((arg) => `'${arg}' `).join("")}`,
  arity: (name) => `ERR wrong number of arguments for '${name.toLowerCase()}' command`,
};

const scriptComplaints: Complaints = {
  unknown: () => "ERR Unknown Redis command called from script",
  arity: () => "ERR Wrong number of args calling Redis command from script",
};
