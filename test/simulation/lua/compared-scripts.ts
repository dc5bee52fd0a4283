import { isDeepStrictEqual } from "node:util";
import type { CommandRunner } from "../../../src/memory/lua-interpreter.js";
import type { Interpreter } from "../../../src/memory/memory-store.js";
import type { Reply } from "../../../src/memory/reply.js";
import type { ScriptSource } from "../../../src/protocol/script-call.js";

/** Runs each script twice, and throws where the second interpreter sends another command than the first, or answers otherwise. */
export class ComparedScripts implements Interpreter {
  /** How often each script was run, by its name. */
  readonly runs: Map<string, number> = new Map();
  readonly #first: Interpreter;
  readonly #second: Interpreter;

  constructor(first: Interpreter, second: Interpreter) {
    this.#first = first;
    this.#second = second;
  }

  runFor(run: CommandRunner, script: ScriptSource, keys: readonly string[], args: readonly string[]): Reply {
    const sent: { readonly words: readonly string[]; readonly reply: Reply }[] = [];
    const writeDown: CommandRunner = (words) => {
      const reply = run(words);
      sent.push({ words: [...words], reply });
      return reply;
    };
    const answer = this.#first.runFor(writeDown, script, keys, args);
    let at = 0;
    const repeat: CommandRunner = (words) => {
      const known = sent[at];
      at += 1;
      if (known === undefined || !isDeepStrictEqual(known.words, words)) {
        throw differs(script, `sends ${told(words)}, not ${told(known?.words)}`);
      }
      return known.reply;
    };
    const other = this.#second.runFor(repeat, script, keys, args);
    if (at < sent.length) throw differs(script, `does not send ${told(sent[at]?.words)}`);
    if (!isDeepStrictEqual(answer, other))
      throw differs(script, `answers ${told(other)}, not ${told(answer)}`);
    this.runs.set(script.name, (this.runs.get(script.name) ?? 0) + 1);
    return answer;
  }
}

function told(value: unknown): string {
  return JSON.stringify(value) ?? "nothing";
}

function differs({ name }: ScriptSource, how: string): Error {
  return new Error(`the second interpreter of ${name} ${how}`);
}
