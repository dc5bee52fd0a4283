import { type ScriptSource, scriptSource } from "./script-call.js";

/** How a client's scripts are encoded for its servers. */
export interface Dialect {
  /** Which messages the client's scripts publish. */
  readonly publishes: Publishing;
  /**
   * Whether the client's scripts grant a freed lock to a waiter. False if replicas must acknowledge: they may lack the write that gives the lock to
   * the waiter.
   */
  readonly grants: boolean;
}

/** `PUBLISH`, `SPUBLISH`, or one after the other. */
export type Publishing = "classic" | "sharded" | "both";

/** The dialect for a single server. */
export const PLAIN: Dialect = { publishes: "classic", grants: true };

/**
 * The only statement in which scripts publish; see include/publish.lua. Matches any variable names, because the scripts are sent with short
 * names.
 */
const STATEMENT = /redis\.pcall\("PUBLISH", (\w+), (\w+)\)/;
const SHARDED = 'redis.pcall("SPUBLISH", $1, $2)';

const statements: Readonly<Record<Exclude<Publishing, "classic">, string>> = {
  sharded: SHARDED,
  both: `$& ${SHARDED}`,
};

/** The variants that `publishing` has made of each script. */
const made = new WeakMap<ScriptSource, Map<Publishing, ScriptSource>>();

/** A variant of the script that publishes these messages instead of classic messages. */
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
