import type { RawReply, ScriptSource } from "../protocol/script-call.js";
import { bytesOfText } from "./byte-strings.js";
import type { CommandServer } from "./command.js";
import { findCommand, takes } from "./command-table.js";
import { type KeyCopies, Keyspace } from "./keyspace.js";
import { type CommandRunner, LuaInterpreter } from "./lua-interpreter.js";
import { CommandError, ErrorReply, type Reply, rawReply } from "./reply.js";
import { type Snapshot, snapshotOf } from "./snapshot.js";

/** What a store needs of the server that it belongs to. Channels and messages are byte strings. */
export interface StoreSurroundings {
  /** The server's wall clock. */
  wallMs(): number;
  /** Returns the number of listeners. */
  publish(channel: string, message: string): number;
  listeners(channel: string): number;
  /** Those with listeners. */
  channels(): Iterable<string>;
  /** What a command that a script calls is refused with; undefined: it is not. Default: none is. */
  refusalOf?(command: string): string | undefined;
}

/** What runs the scripts of a store. Keys and arguments are byte strings. */
export interface Interpreter {
  runFor(run: CommandRunner, script: ScriptSource, keys: readonly string[], args: readonly string[]): Reply;
}

/** An interpreter that several stores may share: it works for the one that runs a script at the moment. */
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

/** The one of all servers of the process: what it has compiled for one of them, it need not compile for the next. */
function commonInterpreter(): Interpreter {
  common ??= new SharedInterpreter();
  return common;
}

/** The keys of one server, and what runs commands and scripts over them. */
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

  /** How many commands that may write were carried out so far, those in scripts among them. */
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

  /** As the command `PTTL`: -1 for a key without an end, -2 for none. */
  ttlMs(key: string): number {
    this.#begin();
    return this.#keyspace.ttlMs(bytesOfText(key));
  }

  /** All that is stored, as plain data for comparisons. */
  dump(): Snapshot {
    this.#begin();
    return snapshotOf(this.#keyspace);
  }

  /** A copy of the keys, with when they expire. @param isWanted by default all; gets a byte string */
  copy(isWanted?: (key: string) => boolean): KeyCopies {
    this.#begin();
    return this.#keyspace.copy(isWanted);
  }

  /** Puts in the place of the keys those of a copy. @param isMeant by default all are replaced; gets a byte string */
  become(copies: KeyCopies, isMeant?: (key: string) => boolean): void {
    this.#begin();
    this.#keyspace.become(copies, isMeant);
  }

  flush(): void {
    this.#keyspace.clear();
  }

  /** Behaves from now on like a server at its `maxmemory` that may evict nothing, or no longer so. */
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
    // As in Redis: once a script has called a write command, even one that fails, its later writes are not refused for want of memory.
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
