import { Option } from "commander";
import type { Holdfast } from "holdfast";
import type { CommonOptions, Context } from "../command.js";
import { withConnection } from "../connection/connect.js";
import { mistake } from "../failure.js";
import { type HexOption, hexOption, typedName } from "../hex-names.js";
import { Journal, type JournalEntry } from "./journal.js";

/** The options of a command that changes other clients' objects: the change is recorded, with a reason. */
export interface RecordedOptions extends CommonOptions, HexOption {
  readonly reason?: string;
  readonly log?: string;
}

/** What a command needs to change the object of a name, and to record the change. */
export interface Changed {
  readonly holdfast: Holdfast;
  readonly name: string;
  readonly group: string;
  record(deed: Omit<JournalEntry, "name" | "reason">): void;
}

/** @param heading the heading of these options in the help */
export function recordedOptions(heading: string, options: readonly Option[]): readonly Option[] {
  return [
    ...options,
    new Option("--reason <text>", "the reason, for the record"),
    new Option("--log <file>", "append the record to this file"),
    hexOption(),
  ].map((option) => option.helpGroup(heading));
}

/**
 * Runs a command that changes the object of a name.
 * @param what the kind of object, as in "lock"
 * @returns the exit code
 */
export async function recorded(
  context: Context,
  options: RecordedOptions,
  typedWord: string,
  what: string,
  change: (changed: Changed) => Promise<number>,
): Promise<number> {
  const { reason, log } = options;
  const name = typedName(typedWord, options);
  if (name === "") throw mistake(`the name of a ${what} must not be empty`);
  const journal = new Journal(context.output, log);
  try {
    return await withConnection(context, options, ({ holdfast }, { group }) =>
      change({ holdfast, name, group, record: (deed) => journal.write({ name, reason, ...deed }) }),
    );
  } finally {
    journal.close();
  }
}
