import { type Dialect, PLAIN, publishing } from "./dialect.js";
import { integer, list } from "./replies.js";
import type { RawReply, ScriptCall, ScriptSource } from "./script-call.js";

/** A script with typed input and reply. */
export interface Script<Input, Reply> {
  readonly name: string;
  /**
   * Whether the script writes data that replicas should acknowledge. `if possible`: the script frees something, and must run even if the server
   * cannot ask replicas.
   */
  readonly replicated: boolean | "if possible";
  /** Whether the script has no keys and runs on each master. The reply then has a list for each master, with the master's name and answer. */
  readonly everywhere: boolean;
  /** The most keys that one call of the script should have; undefined: the same as for other scripts. */
  readonly mostKeys: number | undefined;
  /** @param dialect default: the dialect of a client of one server */
  encode(input: Input, dialect?: Dialect): ScriptCall;
  /** @param keys how many keys the call had */
  decode(raw: RawReply, keys: number): Answered<Reply>;
}

/** The reply of a script and, if the script has read the clock, the server's time. */
export interface Answered<Reply> {
  /** Milliseconds since the Unix epoch on the server's clock; 0 if the script has not read it. */
  readonly serverMs: number;
  readonly reply: Reply;
}

interface Definition<Input, Reply> {
  readonly source: ScriptSource;
  /** Default: false. */
  readonly replicated?: boolean | "if possible";
  /** Default: false. */
  readonly everywhere?: boolean;
  readonly mostKeys?: number;
  keys(input: Input): string[];
  args(input: Input, dialect: Dialect): (string | number)[];
  /** Gets the items after the server's time. */
  reply(rest: readonly RawReply[]): Reply;
  /** Reads an answer that is a bare number, as some scripts give in their usual case: a list costs the server and the client more. */
  usual?(number: number, keys: number): Answered<Reply>;
}

export function defineScript<Input, Reply>(definition: Definition<Input, Reply>): Script<Input, Reply> {
  const { source } = definition;
  return {
    name: source.name,
    replicated: definition.replicated ?? false,
    everywhere: definition.everywhere ?? false,
    mostKeys: definition.mostKeys,
    encode(input, dialect = PLAIN) {
      const { publishes } = dialect;
      const script = publishes === "classic" ? source : publishing(source, publishes);
      return { script, keys: definition.keys(input), args: definition.args(input, dialect).map(String) };
    },
    decode(raw, keys) {
      if (typeof raw === "number" && definition.usual !== undefined)
        return definition.usual(integer(raw), keys);
      const [serverMs, ...rest] = list(raw);
      return { serverMs: integer(serverMs), reply: definition.reply(rest) };
    },
  };
}
