// The members that the types of ioredis keep private. Each member was seen in the tested versions.

export const TESTED = "ioredis 5.9.2 and 6.0.0 and iovalkey 0.4.0";

/** A server in the list that a cluster's client was given. */
export type StartupNode = string | number | { readonly host?: string; readonly port?: number };

/** The servers that the client was given. */
export function startupNodesOf(cluster: object): readonly StartupNode[] {
  const { startupNodes = [] } = cluster as { readonly startupNodes?: readonly StartupNode[] };
  return startupNodes;
}

/** The database that `SELECT` has chosen; undefined while there is no connection. */
export function selectedDatabase(redis: object): number | undefined {
  const { condition } = redis as { readonly condition?: { readonly select?: number } | null };
  return condition?.select;
}
