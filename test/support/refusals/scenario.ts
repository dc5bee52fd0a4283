import type { Redis } from "ioredis";
import type { Script } from "../../../src/protocol/define-script.js";
import type { ScriptCall } from "../../../src/protocol/script-call.js";

/** One call of a script, and the keys that it finds. */
export interface Scenario {
  /** What is so in it, as in "a free lock". */
  readonly what: string;
  /** Numbers that are right after a part of the call, beside those before it and after it. */
  readonly between?: readonly string[];
  /** Commands that write what the call finds. */
  readonly found: readonly (readonly (string | number)[])[];
  /** @param nowMs the server's clock */
  call(nowMs: number): ScriptCall;
}

export function scenario<Input>(
  what: string,
  script: Pick<Script<Input, unknown>, "encode">,
  input: Input | ((nowMs: number) => Input),
  found: Scenario["found"] = [],
): Scenario {
  const inputAt = typeof input === "function" ? (input as (nowMs: number) => Input) : () => input;
  return { what, found, call: (nowMs) => script.encode(inputAt(nowMs)) };
}

/** A time on the server's clock, as an argument of a command in `found`: "@" and how far off it is. */
export const inMs = (ms: number): string => `@${ms}`;

/**
 * Writes what the call finds, in an empty database.
 * @param nameOf what the server calls a command
 */
export async function prepare(
  admin: Redis,
  { found }: Scenario,
  nowMs: number,
  nameOf: (command: string) => string = (command) => command,
): Promise<void> {
  const all = admin.pipeline().flushdb();
  for (const [command = "", ...args] of found) {
    const words = args.map((arg) => String(arg).replace(/^@(-?\d+)$/, (_, ms) => String(nowMs + Number(ms))));
    all.call(nameOf(String(command)), ...words);
  }
  for (const [error] of (await all.exec()) ?? []) if (error !== null) throw error;
}
