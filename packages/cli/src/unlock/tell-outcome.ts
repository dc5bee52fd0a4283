import { exitCodes } from "../exit-codes.js";
import type { Output } from "../output.js";
import { unlockLine } from "../show/unlock-line.js";
import { plain } from "../text/plain.js";
import { tellWay } from "../text/tell-way.js";
import type { UnlockOutcome } from "./journal.js";
import type { Seen } from "./seen.js";

interface ToldOutcome {
  readonly name: string;
  readonly seen: Seen;
}

const texts: Readonly<Record<UnlockOutcome, string>> = {
  released: "freed",
  absent: "nothing was done: it was already free",
  changed: "nothing was done: it changed hands after it was shown",
  unknown:
    "the answer was lost, and its holders are still there: look again, because the command may still take effect",
};

/** Prints the outcome of freeing a lock. @returns the exit code */
export function tellFreed(
  output: Output,
  { name, seen, outcome }: ToldOutcome & { readonly outcome: UnlockOutcome },
): number {
  if (output.isJson) output.json(jsonOf({ name, seen }, outcome));
  else
    output.line(`${output.paint("bold", plain(name))}: ${paint(output, outcome)}${waitersOf(seen, outcome)}`);
  switch (outcome) {
    case "released":
    case "absent":
      return exitCodes.ok;
    case "changed":
      return exitCodes.no;
    case "unknown":
      return exitCodes.unavailable;
    default:
      return outcome satisfies never;
  }
}

/**
 * Prints that a lock was not changed, and the command that frees it.
 * @param asTyped the options of the connection
 * @returns the exit code
 */
export function tellLeft(
  output: Output,
  { name, seen, why, asTyped }: ToldOutcome & { readonly why: string; readonly asTyped: readonly string[] },
): number {
  if (output.isJson) {
    output.json(jsonOf({ name, seen }, "left", why === "" ? null : why));
    return exitCodes.no;
  }
  output.line(
    `${output.paint("bold", plain(name))}: ${output.paint("yellow", `nothing was done${why === "" ? "" : `: ${plain(why)}`}`)}`,
  );
  const line = unlockLine(name, seen.lock.holders, asTyped);
  if (line === undefined) return exitCodes.no;
  tellWay(output, "to free it:", line);
  return exitCodes.no;
}

function paint(output: Output, outcome: UnlockOutcome): string {
  const style = outcome === "released" ? "green" : outcome === "absent" ? "dim" : "yellow";
  return output.paint(style, texts[outcome]);
}

function waitersOf({ lock: { waiting } }: Seen, outcome: UnlockOutcome): string {
  if (waiting.length === 0) return "";
  if (outcome === "released") return "; waiting calls are notified";
  return outcome === "absent" ? `; ${waiting.length} wait for it` : "";
}

function jsonOf(
  { name, seen }: ToldOutcome,
  outcome: UnlockOutcome | "left",
  why: string | null = null,
): object {
  const { key, ttlMs, token, holders, waiting } = seen.lock;
  return { name, key, outcome, why, kind: seen.state.kind, ttlMs, token, holders, waiting };
}
