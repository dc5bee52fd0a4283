import { createHash } from "node:crypto";

/** A Lua script as a server knows it. */
export interface ScriptSource {
  /** File name below `scripts/` without its extension, for messages and statistics. */
  readonly name: string;
  readonly lua: string;
  /** Lower-case hex SHA-1 of `lua`: the name under which `EVALSHA` finds it. */
  readonly sha1: string;
}

/** Computed when the script is first sent, because a program sends only a few of the scripts that it loads. */
export function scriptSource(name: string, lua: string): ScriptSource {
  return {
    name,
    lua,
    get sha1() {
      const sha1 = createHash("sha1").update(lua).digest("hex");
      Object.defineProperty(this, "sha1", { value: sha1 });
      return sha1;
    },
  };
}

/** One execution of a script: everything that a driver needs. */
export interface ScriptCall {
  readonly script: ScriptSource;
  /** Every key that the script touches, so that a cluster can route the call. */
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** The answer of a script: integers as numbers, bulk strings as text, nil as null. */
export type RawReply = string | number | null | readonly RawReply[];
