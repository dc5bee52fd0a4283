import type { HistoryLine } from "../outcome.js";

/** What a process believes that it has. */
export interface BelievedThing {
  readonly column: string;
  readonly label: string;
  readonly atUs: number;
}

/** A line of the history, with what is believed once it has happened. */
export interface Step {
  readonly line: HistoryLine;
  readonly believed: readonly BelievedThing[];
  /** The columns of those who believe something. */
  readonly believing: ReadonlySet<string>;
  /** The columns of those that were killed. */
  readonly dead: ReadonlySet<string>;
}

const KILLED = /^kill of (\w+)/;
const BEGINS = /^believes (.*), for [\d.]+ ms/;
const ENDS = /^(?:gives back (.*)|believes (.*) no more)$/;

/** Reads beliefs from the words that the checker writes into the history. */
export function beliefsOf(history: readonly HistoryLine[]): Step[] {
  let believed: readonly BelievedThing[] = [];
  let believing: ReadonlySet<string> = new Set();
  let dead: ReadonlySet<string> = new Set();
  return history.map((line) => {
    const { column, text, atUs } = line;
    const killed = column === "world" ? KILLED.exec(text)?.[1] : undefined;
    if (killed !== undefined) dead = new Set([...dead, killed]);
    const begun = BEGINS.exec(text)?.[1];
    const ended = ENDS.exec(text);
    const endedLabel = ended?.[1] ?? ended?.[2];
    if (begun !== undefined) believed = [...believed, { column, label: begun, atUs }];
    if (endedLabel !== undefined) {
      // Two holds of one task are called alike.
      const over = believed.find((thing) => thing.column === column && thing.label === endedLabel);
      believed = believed.filter((thing) => thing !== over);
    }
    believed = believed.filter((thing) => !dead.has(thing.column));
    believing = new Set(believed.map((thing) => thing.column));
    return { line, believed, believing, dead };
  });
}
