import { existsSync } from "node:fs";
import type { Chooser } from "../chooser/chooser.js";
import { recordedChooser } from "../chooser/recorded.js";
import { seededChooser } from "../chooser/seeded.js";
import type { HistoryLine, Outcome } from "../outcome.js";
import { runSchedule } from "../schedule.js";
import { type Failure, readFailure } from "./failure.js";
import { UsageError } from "./options.js";
import { outcomeOf } from "./serve.js";
import { timeline } from "./timeline.js";

const WIDTH_OF_FILES = 160;

/** Plays one schedule: of a file, or of a seed. */
export function replay(what: string, only: readonly string[] | undefined, trace: boolean): Promise<Outcome> {
  const { chooser, kinds } = source(what);
  const asked = only ?? kinds;
  return outcomeOf(runSchedule, { chooser, trace, ...(asked === undefined ? {} : { only: asked }) });
}

export function replayFailure({ choices, only }: Failure, trace = false): Promise<Outcome> {
  const chooser = recordedChooser(choices);
  return outcomeOf(runSchedule, { chooser, trace, ...(only === undefined ? {} : { only }) });
}

function source(what: string): { chooser: Chooser; kinds: readonly string[] | undefined } {
  if (existsSync(what)) {
    const { choices, only } = readFailure(what);
    return { chooser: recordedChooser(choices), kinds: only };
  }
  if (!/^\d+$/.test(what) || !Number.isSafeInteger(Number(what))) {
    throw new UsageError(`--replay needs a file or a seed; there is no file "${what}"`);
  }
  return { chooser: seededChooser(Number(what)), kinds: undefined };
}

/** The timeline as it fits where it is shown. */
export function drawnFor(history: readonly HistoryLine[], output: NodeJS.WriteStream): string {
  const colors = (output.isTTY ?? false) && process.env["NO_COLOR"] === undefined;
  return timeline(history, { width: output.columns ?? WIDTH_OF_FILES, colors });
}

/** The timeline with what came of it. */
export function shown({ history, violations, stats }: Outcome, output: NodeJS.WriteStream): string {
  const drawn = drawnFor(history, output);
  const broken = violations.map(
    ({ rule, text, atUs }) => `${rule} at ${(atUs / 1_000).toFixed(3)} ms: ${text}`,
  );
  const verdict =
    broken.length === 0
      ? "All promises were kept."
      : `${broken.length} violations:\n  ${broken.join("\n  ")}`;
  return `${drawn}\n${stats.commands} script calls. ${verdict}\n`;
}
