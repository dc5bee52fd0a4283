import { compileFunction } from "node:vm";
import { bytesOfText } from "../../../src/memory/byte-strings.js";
import type { CommandRunner } from "../../../src/memory/lua-interpreter.js";
import type { Interpreter } from "../../../src/memory/memory-store.js";
import { numberText } from "../../../src/memory/number-text.js";
import { ErrorReply, type Reply, Status } from "../../../src/memory/reply.js";
import type { ScriptSource } from "../../../src/protocol/script-call.js";
import { compiled } from "./compiler.js";
import { library, matchesOf } from "./library.js";
import { operators } from "./operators.js";
import { Unknown } from "./tokens.js";
import { type Results, ScriptFault, Table, type Value } from "./values.js";

/** A reply that is nested deeper is a table that contains itself. */
const MAX_DEPTH = 100;

/** What `redis.call` raises. */
class Raised extends Error {
  override readonly name = "Raised";
  readonly refusal: ErrorReply;
  readonly line: number;

  constructor(refusal: ErrorReply, line: number) {
    super(refusal.message);
    this.refusal = refusal;
    this.line = line;
  }
}

type Script = (keys: Table, args: Table) => Results;

/**
 * Runs scripts as fengari does, many times as fast: each is translated to JavaScript once. What the translation does not
 * know is left to another interpreter.
 */
export class CompiledScripts implements Interpreter {
  readonly #others: Interpreter;
  readonly #scripts = new Map<string, Script | undefined>();
  /** The statement that runs. */
  readonly #state = { line: 0 };
  #run: CommandRunner = nobody;

  /** @param others runs the scripts that cannot be compiled */
  constructor(others: Interpreter) {
    this.#others = others;
  }

  /** Whether a script is compiled here. */
  knows(script: ScriptSource): boolean {
    return this.#find(script) !== undefined;
  }

  runFor(run: CommandRunner, script: ScriptSource, keys: readonly string[], args: readonly string[]): Reply {
    const body = this.#find(script);
    if (body === undefined) return this.#others.runFor(run, script, keys, args);
    this.#run = run;
    try {
      return replyOf(operators.first(body(new Table([...keys]), new Table([...args]))));
    } catch (error) {
      const place = (line: number) => `script: ${script.sha1}, on @user_script:${line}.`;
      if (error instanceof Raised) return new ErrorReply(`${error.refusal.message} ${place(error.line)}`);
      if (!(error instanceof ScriptFault)) throw error;
      const { line } = this.#state;
      return new ErrorReply(`ERR user_script:${line}: ${error.message} ${place(line)}`);
    } finally {
      this.#run = nobody;
    }
  }

  #find(script: ScriptSource): Script | undefined {
    if (!this.#scripts.has(script.sha1)) this.#scripts.set(script.sha1, this.#compile(script));
    return this.#scripts.get(script.sha1);
  }

  #compile({ name, lua }: ScriptSource): Script | undefined {
    try {
      const body = compiled(bytesOfText(lua));
      const words = { state: this.#state, ...library, redis: this.#redis(), matchesOf, ...operators };
      const globals = { ...words, command: this.#command, attempt: this.#attempt };
      const code = `"use strict";\nreturn (KEYS, ARGV) => {\n${body}};`;
      const make = compileFunction(code, Object.keys(globals), { filename: `${name}.lua.js` }) as (
        ...values: unknown[]
      ) => Script;
      return make(...Object.values(globals));
    } catch (error) {
      if (error instanceof Unknown) return undefined;
      throw error;
    }
  }

  #redis(): Readonly<Record<string, (...words: Value[]) => Value>> {
    return {
      call: (...words) => this.#command(this.#state.line, words),
      pcall: (...words) => this.#attempt(words),
      error_reply: (text) => new Table().with("err", String(text).replace(/^-/, "")),
      acl_check_cmd: () => true,
      status_reply: (text) => new Table().with("ok", String(text).replace(/^-/, "")),
    };
  }

  readonly #command = (line: number, words: readonly Value[]): Value => {
    const reply = this.#answer(words);
    if (reply instanceof ErrorReply) throw new Raised(reply, line);
    return seenByLua(reply);
  };

  readonly #attempt = (words: readonly Value[]): Value => seenByLua(this.#answer(words));

  #answer(words: readonly Value[]): Reply {
    if (words.length === 0) {
      return new ErrorReply("ERR Please specify at least one argument for this redis lib call");
    }
    const texts: string[] = [];
    for (const word of words) {
      if (typeof word === "string") texts.push(word);
      else if (typeof word === "number") texts.push(numberText(word));
      else return new ErrorReply("ERR Lua redis lib command arguments must be strings or integers");
    }
    return this.#run(texts);
  }
}

function nobody(): never {
  throw new Error("no store runs a script");
}

/** Redis' answer as Lua sees it. */
function seenByLua(reply: Reply): Value {
  if (typeof reply === "string" || typeof reply === "number") return reply;
  if (reply === null) return false;
  if (reply instanceof Status) return new Table().with("ok", reply.text);
  if (reply instanceof ErrorReply) return new Table().with("err", reply.message);
  return new Table(reply.map(seenByLua));
}

/** What a script answers, as Redis sees it: numbers lose their fraction, nil ends a list. */
function replyOf(value: Value, depth = 0): Reply {
  if (typeof value === "string") return value;
  // Adding 0 turns the -0 of a negative fraction into 0.
  if (typeof value === "number") return Math.trunc(value) + 0;
  if (typeof value === "boolean") return value ? 1 : null;
  if (!(value instanceof Table)) return null;
  if (depth > MAX_DEPTH) return new ErrorReply("ERR reached lua stack limit");
  const error = value.get("err");
  if (typeof error === "string") return new ErrorReply(error);
  const status = value.get("ok");
  if (typeof status === "string") return new Status(status);
  return value.items.map((item) => replyOf(item, depth + 1));
}
