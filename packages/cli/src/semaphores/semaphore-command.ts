import { type Command, InvalidArgumentError, Option } from "commander";
import { type Holdfast, type LockState, type SetPermitsOutcome, UnavailableError } from "holdfast";
import { type Act, type Context, command } from "../command.js";
import { connectionAsTyped } from "../connection/as-typed.js";
import { exitCodes } from "../exit-codes.js";
import type { Output } from "../output.js";
import { giveBackLine } from "../show/unlock-line.js";
import { plain } from "../text/plain.js";
import { tellNumbers } from "../text/tell-permits.js";
import { tellWay } from "../text/tell-way.js";
import { type RecordedOptions, recorded, recordedOptions } from "../unlock/recorded.js";
import type { Seen } from "../unlock/seen.js";
import { semaphoreSeen, totalOf } from "./semaphore-seen.js";
import { tellSemaphore } from "./tell-semaphore.js";

interface SemaphoreOptions extends RecordedOptions {
  readonly set?: number;
}

/** The largest number of permits that a JVM can count. */
const MOST_PERMITS = 2 ** 31 - 1;

/** `holdfast semaphore NAME`: shows a semaphore, and changes how many permits it has. */
export function semaphoreCommand(act: Act): Command {
  return command("semaphore", "show a semaphore, or change how many permits it has", semaphoreOptions())
    .argument("<name>", "the name of the semaphore, without the prefix")
    .description(
      "Shows a semaphore: how many permits it has, and which clients have taken some. --set then sets this number, unless it " +
        "has changed since it was shown. If the permits have ids, --set counts the taken ones too. A plain semaphore does not store those, so " +
        "--set is the number of available permits: all permits minus those that living processes have.",
    )
    .action(act(semaphore));
}

function semaphoreOptions(): readonly Option[] {
  return recordedOptions("What is changed:", [
    new Option(
      "--set <n>",
      "the new number of permits; for a plain semaphore, the new number of available permits",
    ).argParser(readPermits),
  ]);
}

function readPermits(text: string): number {
  const permits = Number(text);
  if (!/^\d{1,10}$/.test(text) || permits > MOST_PERMITS)
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${MOST_PERMITS}.`);
  return permits;
}

type SemaphoreOutcome = SetPermitsOutcome | "unknown";

const deeds: Readonly<Record<SemaphoreOutcome, string>> = {
  set: "changed the permits of",
  absent: "found no semaphore",
  changed: "did not change (its number changed meanwhile) the permits of",
  unknown: "tried to change (no answer: the outcome is unknown) the permits of",
};

async function semaphore(context: Context, options: SemaphoreOptions, typedWord = ""): Promise<number> {
  const { output } = context;
  return recorded(context, options, typedWord, "semaphore", async ({ holdfast, name, group, record }) => {
    const seen = await semaphoreSeen(holdfast, name, group);
    const { set } = options;
    if (!output.isJson) tellSemaphore(output, name, seen);
    if (set === undefined) return tellShown(output, { name, seen }, connectionAsTyped(options));
    const outcome = await change(holdfast, seen.state, set);
    const deed = { command: `semaphore --set ${set}`, did: deeds[outcome], seen: tellNumbers(seen.state) };
    record(deed);
    return tellSet(output, { name, seen }, { outcome, set });
  });
}

/** If the answer is lost, the command is not repeated. @throws errors of commands that surely had no effect */
async function change(holdfast: Holdfast, state: LockState, permits: number): Promise<SemaphoreOutcome> {
  try {
    return await holdfast.setPermits(state, permits);
  } catch (error) {
    if (!(error instanceof UnavailableError) || !error.outcomeUnknown) throw error;
    return "unknown";
  }
}

interface ToldSemaphore {
  readonly name: string;
  readonly seen: Seen;
}

function tellShown(output: Output, told: ToldSemaphore, asTyped: readonly string[]): number {
  const { name, seen } = told;
  if (output.isJson) output.json(jsonOf(told, "shown"));
  const { holders } = seen.lock;
  const line = giveBackLine(name, holders, asTyped);
  if (output.isJson || line === undefined) return exitCodes.ok;
  const purpose = "to give back the permits of clients that are gone";
  if (seen.state.takenCount === undefined) {
    const there = holders
      .filter(({ client }) => client?.state !== "gone")
      .reduce((sum, { count }) => sum + count, 0);
    const left = `all its permits minus the ${there} of running clients`;
    tellWay(output, `${purpose}, where N is ${left}:`, `${line} --set N`);
  } else tellWay(output, `${purpose}:`, line);
  return exitCodes.ok;
}

function tellSet(
  output: Output,
  told: ToldSemaphore,
  { outcome, set }: { readonly outcome: SemaphoreOutcome; readonly set: number },
): number {
  const { name, seen } = told;
  if (output.isJson) output.json(jsonOf(told, outcome));
  else {
    const isPlain = seen.state.takenCount === undefined;
    const texts: Readonly<Record<SemaphoreOutcome, string>> = {
      set: `${set} ${isPlain ? "are available" : "in all"} now, instead of ${totalOf(seen.state)}`,
      absent: "nothing was done: it no longer exists",
      changed: "nothing was done: its number changed after it was shown",
      unknown: "the answer was lost, so the outcome is unknown: look again",
    };
    const style = outcome === "set" ? "green" : "yellow";
    output.line(`${output.paint("bold", plain(name))}: ${output.paint(style, texts[outcome])}`);
  }
  if (outcome === "set") return exitCodes.ok;
  return outcome === "unknown" ? exitCodes.unavailable : exitCodes.no;
}

function jsonOf({ name, seen }: ToldSemaphore, outcome: SemaphoreOutcome | "shown"): object {
  const { state, lock } = seen;
  const { key, kind, available, takenCount = null, taken = null, ttlMs } = state;
  const { holders, waiting } = lock;
  return { name, key, outcome, kind, available, takenCount, taken, ttlMs, holders, waiting };
}
