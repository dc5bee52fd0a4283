import { type ScriptSource, scriptSource } from "./script-call.js";

/** How a client speaks to its servers. */
export interface Dialect {
  /** Which messages its scripts publish. */
  readonly publishes: Publishing;
  /** Whether its scripts give a freed lock to a waiter. Not with replicas: the waiter would enter on a write that no replica has. */
  readonly grants: boolean;
}

/** `PUBLISH`, `SPUBLISH`, or one after the other. */
export type Publishing = "classic" | "sharded" | "both";

/** The dialect for a single server. */
export const PLAIN: Dialect = { publishes: "classic", grants: true };

/** The one statement in which scripts publish; see include/publish.lua. Its names are short ones in what is sent. */
const STATEMENT = /redis\.pcall\("PUBLISH", (\w+), (\w+)\)/;
const SHARDED = 'redis.pcall("SPUBLISH", $1, $2)';

const statements: Readonly<Record<Exclude<Publishing, "classic">, string>> = {
  sharded: SHARDED,
  both: `$& ${SHARDED}`,
};

/** The scripts that were made of each for other messages. */
const made = new WeakMap<ScriptSource, Map<Publishing, ScriptSource>>();

/** The script that does the same and publishes these messages in place of classic ones. */
export function publishing(source: ScriptSource, publishes: Exclude<Publishing, "classic">): ScriptSource {
  if (!STATEMENT.test(source.lua)) return source;
  const variants = made.get(source) ?? new Map<Publishing, ScriptSource>();
  made.set(source, variants);
  const variant = variants.get(publishes) ?? rewritten(source, statements[publishes]);
  variants.set(publishes, variant);
  return variant;
}

function rewritten({ name, lua }: ScriptSource, statement: string): ScriptSource {
  return scriptSource(name, lua.replace(STATEMENT, statement));
}
