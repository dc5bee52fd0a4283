import { integer, list } from "./replies.js";
import type { RawReply, ScriptCall, ScriptSource } from "./script-call.js";

/** A script typed at both ends: values in, values out. */
export interface Script<Input, Reply> {
  readonly name: string;
  encode(input: Input): ScriptCall;
  decode(raw: RawReply): Answered<Reply>;
}

/** Every script answers the server's time along with its reply. */
export interface Answered<Reply> {
  /** Milliseconds since the Unix epoch on the server's clock. */
  readonly serverMs: number;
  readonly reply: Reply;
}

interface Definition<Input, Reply> {
  readonly source: ScriptSource;
  keys(input: Input): string[];
  args(input: Input): (string | number)[];
  /** Gets what follows the server's time. */
  reply(rest: readonly RawReply[]): Reply;
}

export function defineScript<Input, Reply>(definition: Definition<Input, Reply>): Script<Input, Reply> {
  const { source } = definition;
  return {
    name: source.name,
    encode: (input) => ({
      script: source,
      keys: definition.keys(input),
      args: definition.args(input).map(String),
    }),
    decode(raw) {
      const [serverMs, ...rest] = list(raw);
      return { serverMs: integer(serverMs), reply: definition.reply(rest) };
    },
  };
}
