import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ExceptionName } from "../checker/exceptions.js";
import type { Choices, Chooser } from "../chooser/chooser.js";
import { recordedChooser } from "../chooser/recorded.js";
import { root } from "../defects/variant.js";
import { runSchedule } from "../schedule.js";
import type { Where } from "./where.js";

/** A schedule that shows an exception, as it is kept. */
export interface Shown extends Where {
  readonly exception: ExceptionName;
  readonly choices: Choices;
}

function fileOf(exception: ExceptionName): string {
  const name = exception.replaceAll(/[^\w]+/g, "-");
  return join(root, "test/simulation/exceptions", `${name}.json`);
}

/** The schedule that is kept; undefined while there is none. */
export function kept(exception: ExceptionName): Shown | undefined {
  const file = fileOf(exception);
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Shown) : undefined;
}

/** A line for each stream, so that a person finds their way in it. */
export function keep({ choices, ...rest }: Shown): void {
  const lines = Object.entries(rest).map(([key, value]) => `  "${key}": ${JSON.stringify(value)},\n`);
  const streams = Object.entries(choices).map(
    ([name, numbers]) => `    ${JSON.stringify(name)}: [${numbers.join(", ")}]`,
  );
  writeFileSync(
    fileOf(rest.exception),
    `{\n${lines.join("")}  "choices": {\n${streams.join(",\n")}\n  }\n}\n`,
  );
}

/** Whether a schedule shows an exception, and breaks no promise. */
export async function shows(exception: ExceptionName, where: Where, chooser: Chooser): Promise<boolean> {
  const { only, topology } = where;
  const { violations, stats } = await runSchedule({ chooser, only, topology });
  return violations.length === 0 && (stats.exceptions[exception] ?? 0) > 0;
}

/** Whether the schedule that is kept of an exception still shows it. */
export async function isShown(exception: ExceptionName): Promise<boolean> {
  const shown = kept(exception);
  return shown !== undefined && (await shows(exception, shown, recordedChooser(shown.choices)));
}
