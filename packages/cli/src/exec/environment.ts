import { mistake } from "../failure.js";

/** The variable with the locks that a command runs under, one on each line. */
const HELD = "HOLDFAST_HELD";
const LOCK_VARIABLES = ["HOLDFAST_LOCK_NAME", "HOLDFAST_LOCK_HOLDER", "HOLDFAST_LOCK_TOKEN"] as const;

/** @throws Failure if this process runs under the lock that it asks for: it would wait for itself */
export function refuseOwnLock(key: string, env: NodeJS.ProcessEnv): void {
  if (!heldIn(env).includes(key)) return;
  throw mistake(
    `this command already runs under the lock "${key}" (${HELD}) and would wait for itself: --nested runs it anyway`,
  );
}

export interface LockHere {
  /** The name with its prefix. */
  readonly key: string;
  readonly name: string;
  readonly holder: string;
  /** The token of a fenced lock. */
  readonly token: bigint | undefined;
}

/** The environment of the command: holdfast's environment, and the variables about the lock. */
export function environmentFor(
  { key, name, holder, token }: LockHere,
  env: NodeJS.ProcessEnv,
  isScrubbed: boolean,
): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(
    ([variable]) => !(isScrubbed && (variable.startsWith("HOLDFAST_") || variable === "REDIS_URL")),
  );
  const child: NodeJS.ProcessEnv = Object.fromEntries(kept);
  // The variables of an outer lock do not describe this lock.
  for (const variable of LOCK_VARIABLES) delete child[variable];
  child["HOLDFAST_LOCK_NAME"] = name;
  child["HOLDFAST_LOCK_HOLDER"] = holder;
  if (token !== undefined) child["HOLDFAST_LOCK_TOKEN"] = String(token);
  child[HELD] = [...new Set([...heldIn(env), key])].join("\n");
  return child;
}

function heldIn(env: NodeJS.ProcessEnv): readonly string[] {
  return (env[HELD] ?? "").split("\n").filter((name) => name !== "");
}
