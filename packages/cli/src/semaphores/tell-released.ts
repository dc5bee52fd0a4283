import { exitCodes } from "../exit-codes.js";
import type { Output } from "../output.js";
import { giveBackLine } from "../show/unlock-line.js";
import { plain } from "../text/plain.js";
import { tellWay } from "../text/tell-way.js";
import type { UnlockOutcome } from "../unlock/journal.js";
import type { Seen } from "../unlock/seen.js";

interface ToldRelease {
  readonly name: string;
  readonly seen: Seen;
  /** The permits that a command should give back. */
  readonly ids: readonly string[];
  readonly asTyped: readonly string[];
  /** Undefined: there were no permits to give back. */
  readonly outcome?: UnlockOutcome;
  /** Why no permits were given back. */
  readonly why?: string;
}

const texts: Readonly<Record<UnlockOutcome, string>> = {
  released: "given back",
  absent: "nothing was done: they were given back already",
  changed: "nothing was done: some were given back after they were shown",
  unknown:
    "the answer was lost, and some are still out: look again, because the command may still take effect",
};

/** Prints the outcome for permits. @returns the exit code */
export function tellReleased(output: Output, told: ToldRelease): number {
  const { name, seen, ids, outcome, why = "" } = told;
  if (output.isJson) output.json(jsonOf(told));
  else {
    const what = outcome === undefined ? nothing(why) : `${count(ids)} ${texts[outcome]}`;
    const style = outcome === "released" ? "green" : outcome === "absent" ? "dim" : "yellow";
    output.line(`${output.paint("bold", plain(name))}: ${output.paint(style, what)}`);
    if (outcome === undefined) tellWays(output, told);
    else if (outcome === "released" && seen.lock.waiting.length > 0)
      output.line("waiting calls are notified");
  }
  if (outcome === "released" || outcome === "absent") return exitCodes.ok;
  return outcome === "unknown" ? exitCodes.unavailable : exitCodes.no;
}

function nothing(why: string): string {
  return `nothing was done${why === "" ? "" : `: ${plain(why)}`}`;
}

function count(ids: readonly string[]): string {
  return ids.length === 1 ? "1 permit" : `${ids.length} permits`;
}

/**
 * Prints the command that gives back the permits of clients that are gone, and warns if such a client will not notice that they were
 * given back.
 */
function tellWays(output: Output, { name, seen, asTyped }: ToldRelease): void {
  const { holders } = seen.lock;
  const line = giveBackLine(name, holders, asTyped);
  if (line === undefined) return;
  const gone = holders.filter(({ client }) => client?.state === "gone");
  const warning = gone.some(({ permanent }) => permanent === true)
    ? "; if such a client was only stopped, it does not notice that others have its permits"
    : "";
  tellWay(output, `to give back the permits of clients that are gone${warning}:`, line);
}

function jsonOf({ name, seen, ids, outcome, why = "" }: ToldRelease): object {
  const { state, lock } = seen;
  const { key, kind, available, takenCount = null, taken = null, ttlMs } = state;
  const { holders, waiting } = lock;
  const numbers = { kind, available, takenCount, taken, ttlMs };
  const shown = { ...numbers, holders, waiting };
  return { name, key, outcome: outcome ?? "left", why: why === "" ? null : why, permits: ids, ...shown };
}
