import * as later from "../../src/protocol/later-scripts.js";
import type { ScriptSource } from "../../src/protocol/script-call.js";
import * as first from "../../src/protocol/scripts.js";

type Exported = typeof first & typeof later;
type SourceKey = { [K in keyof Exported]: Exported[K] extends ScriptSource ? K : never }[keyof Exported];

/** `lock-acquire` of `lockAcquire`. */
type Dashed<S extends string> = S extends `${infer Head}${infer Rest}`
  ? `${Head extends Lowercase<Head> ? Head : `-${Lowercase<Head>}`}${Dashed<Rest>}`
  : S;

export type ScriptName = Dashed<SourceKey>;

/** All scripts of the package, by name. What else the modules export are texts that both need. */
export const sources = Object.fromEntries(
  Object.values({ ...first, ...later }).flatMap((exported) =>
    typeof exported === "string" ? [] : [[exported.name, exported]],
  ),
) as Readonly<Record<ScriptName, ScriptSource>>;
