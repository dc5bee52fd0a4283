import type { RawReply, ScriptSource } from "../protocol/script-call.js";
import { bytesOfText } from "./byte-strings.js";
import type { CommandServer } from "./command.js";
import { findCommand, takes } from "./command-table.js";
import { type KeyCopies, Keyspace } from "./keyspace.js";
import { type CommandRunner, LuaInterpreter } from "./lua-interpreter.js";
import { CommandError, ErrorReply, type Reply, rawReply } from "./reply.js";
import { type Snapshot, snapshotOf } from "./snapshot.js";

/** The services that a store gets from its server. Channels and messages are byte strings. */
export interface StoreSurroundings {
  /** The server's wall clock. */
  wallMs(): number;
  /** Returns the number of listeners. */
  publish(channel: string, message: string): number;
  listeners(channel: string): number;
  /** The channels with listeners. */
  channels(): Iterable<string>;
  /** The error for a command that a script calls; undefined if the command is not refused. Default: refuses no command. */
  refusalOf?(command: string): string | undefined;
}

/** Runs the scripts of a store. Keys and arguments are byte strings. */
export interface Interpreter {
  runFor(run: CommandRunner, script: ScriptSource, keys: readonly string[], args: readonly string[]): Reply;
}

/** An interpreter that several stores may share: it works for the store that is running a script. */
export class SharedInterpreter implements Interpreter {
  #run: CommandRunner = nobody;
  readonly #interpreter = new LuaInterpreter((words) => this.#run(words));

  runFor(run: CommandRunner, script: ScriptSource, keys: readonly string[], args: readonly string[]): Reply {
    this.#run = run;
    try {
      return this.#interpreter.run(script, keys, args);
    } finally {
      this.#run = nobody;
    }
  }
}

function nobody(): never {
  throw new Error("no store runs a script");
}

let common: Interpreter | undefined;

/** The interpreter of all servers of the process: a script that it has compiled for one server is not compiled again for the next. */
function commonInterpreter(): Interpreter {
  common ??= new SharedInterpreter();
  return common;
}

/** The keys of one server, with the means to run commands and scripts on them. */
export class MemoryStore {
  readonly #keyspace = new Keyspace();
  readonly #surroundings: StoreSurroundings;
  readonly #commandServer: CommandServer;
  readonly #interpreter: Interpreter;
  #full = false;
  #hasWritten = false;
  #writes = 0;

  constructor(surroundings: StoreSurroundings, interpreter: Interpreter = commonInterpreter()) {
    this.#surroundings = surroundings;
    this.#interpreter = interpreter;
    this.#commandServer = {
      keyspace: this.#keyspace,
      publish: (channel, message) => surroundings.publish(channel, message),
      listeners: (channel) => surroundings.listeners(channel),
      channels: () => surroundings.channels(),
    };
  }

  /** How many commands that may write have run so far, including those in scripts. */
  get writes(): number {
    return this.#writes;
  }

  /** Runs a command at once. Throws `ServerReplyError` when refused. */
  command(name: string, args: readonly (string | number)[]): RawReply {
    this.#begin();
    const words = [name, ...args].map((word) => bytesOfText(String(word)));
    return rawReply(this.#run(words, plainComplaints));
  }

  /** Runs a script at once, as `EVAL` does. Throws `ServerReplyError` when the script ends with an error. */
  evaluate(script: ScriptSource, keys: readonly string[], args: readonly string[]): RawReply {
    this.#begin();
    const bytes = [keys.map(bytesOfText), args.map(bytesOfText)] as const;
    return rawReply(this.#interpreter.runFor(this.#runForScript, script, ...bytes));
  }

  /** As the command `PTTL`: -1 for a key without a TTL, -2 for no key. */
  ttlMs(key: string): number {
    this.#begin();
    return this.#keyspace.ttlMs(bytesOfText(key));
  }

  /** All stored keys, as plain data for comparisons. */
  dump(): Snapshot {
    this.#begin();
    return snapshotOf(this.#keyspace);
  }

  /** A copy of the keys, with their expiry times. @param isWanted gets each key as a byte string; default: all keys are copied */
  copy(isWanted?: (key: string) => boolean): KeyCopies {
    this.#begin();
    return this.#keyspace.copy(isWanted);
  }

  /** Replaces the keys by those of a copy. @param isMeant gets each key as a byte string; default: all keys are replaced */
  become(copies: KeyCopies, isMeant?: (key: string) => boolean): void {
    this.#begin();
    this.#keyspace.become(copies, isMeant);
  }

  flush(): void {
    this.#keyspace.clear();
  }

  /** With `true`, behaves like a server that has reached its `maxmemory` and may not evict keys; `false` ends this. */
  full(isFull: boolean): void {
    this.#full = isFull;
  }

  /** Time stands still while a command or script runs, as on a real server. */
  #begin(): void {
    this.#keyspace.timeMs = Math.floor(this.#surroundings.wallMs());
    this.#hasWritten = false;
  }

  readonly #runForScript = (words: readonly string[]): Reply => {
    const refusal = this.#surroundings.refusalOf?.(words[0] ?? "");
    return refusal === undefined ? this.#run(words, scriptComplaints) : new ErrorReply(refusal);
  };

  #run(words: readonly string[], complaints: Complaints): Reply {
    const [name = "", ...args] = words;
    const command = findCommand(name);
    if (command === undefined) return new ErrorReply(complaints.unknown(name, args));
    if (!takes(command, words.length)) return new ErrorReply(complaints.arity(name));
    if (this.#full && command.effect === "may-grow" && !this.#hasWritten) {
      return new ErrorReply("OOM command not allowed when used memory > 'maxmemory'.");
    }
    // As in Redis: once a script has called a write command, even one that fails, its later writes are not refused for lack of memory.
    if (command.effect !== "none") {
      this.#hasWritten = true;
      this.#writes += 1;
    }
    try {
      return command.run(this.#commandServer, ...args);
    } catch (error) {
      if (error instanceof CommandError) return new ErrorReply(error.message);
      throw error;
    }
  }
}

/** Redis words its complaints about a command differently when a script calls it. */
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
