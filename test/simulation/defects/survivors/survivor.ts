import type { Mutant } from "../mutants/mutant.js";

/** Why nothing can find a mutant. */
type Why =
  /** It does the same. */
  | "equivalent"
  /** It does something else at one moment only, a millisecond or less, at which either is right. */
  | "one moment"
  /** It sends more commands, waits less or longer, or keeps more in memory, within what the checker allows. */
  | "only cost"
  /** An event, a warning or the text of an error tells something else; tests of these see that. */
  | "only told"
  /** A lease is believed for too short a time: the page says that this is not judged. */
  | "shorter trust"
  /** What it changes is played, and not judged, as the page says. */
  | "not judged"
  /** What it does is documented as possible. */
  | "documented tolerance"
  /** It shows where no schedule comes to; a test that does is named. */
  | "not in the world"
  /** Schedules seldom come to where it shows; a test that does is named, and was seen red. */
  | "a test sees it";

/** Mutants that the simulator need not find. */
export interface Survivor {
  /** The id of a mutant, in which `*` stands for anything. */
  readonly id: string;
  /** A part of the line as it stands, where the id alone would name too many. */
  readonly line?: string;
  readonly why: Why;
  readonly because: string;
}

/** A file of `src/`, how the mutants are called in it, and a part of their line. */
type Place = readonly [file: string, operator: string, line?: string];

/** What survives in several places for one reason. */
export function alike(why: Why, because: string, places: readonly Place[]): readonly Survivor[] {
  return places.map(([file, operator, line]) => {
    const id = `src/${file}:*:${operator}`;
    return line === undefined ? { id, why, because } : { id, line, why, because };
  });
}

/** Whether it says why nothing finds a mutant, as a question that can be asked of many. */
export function explainer({ id, line = "" }: Survivor): (mutant: Mutant) => boolean {
  const [start = "", ...rest] = id.split("*");
  const parts = [start, ...rest].map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const pattern = new RegExp(`^${parts.join(".*")}$`);
  return (mutant) => mutant.id.startsWith(start) && pattern.test(mutant.id) && mutant.was.includes(line);
}
