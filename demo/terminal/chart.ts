import type { Screen } from "./screen.js";
import { seconds } from "./units.js";

/** A stretch of time, on the machine's clock. */
export interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What one of several flows did: when it waited and when it was inside. */
export interface ChartRow {
  readonly label: string;
  readonly waiting: readonly Stretch[];
  readonly inside: readonly Stretch[];
}

const INDENT = "  ";

/** Draws who waited and who was inside over time, one row each. @param inside the words for "inside" */
export function drawChart(screen: Screen, rows: readonly ChartRow[], inside = "inside the lock"): void {
  const all = rows.flatMap(({ waiting, inside }) => [...waiting, ...inside]);
  const startMs = Math.min(...all.map(({ fromMs }) => fromMs));
  const endMs = Math.max(...all.map(({ toMs }) => toMs));
  const labelColumns = Math.max(...rows.map(({ label }) => label.length));
  const columns = screen.columns - INDENT.length - labelColumns - 2;
  const sliceMs = (endMs - startMs) / columns;
  screen.line();
  for (const { label, waiting, inside: stays } of rows) {
    const cells = Array.from({ length: columns }, (_, column) => {
      // The middle decides, so that the end of one and the beginning of the next do not both fill a cell.
      const middleMs = startMs + (column + 0.5) * sliceMs;
      if (covers(stays, middleMs)) return "█";
      return covers(waiting, middleMs) ? "·" : " ";
    });
    const row = screen.paintFor(label, cells.join("").trimEnd());
    screen.line(`${INDENT}${label.padEnd(labelColumns)}  ${row}`);
  }
  const legend = `█ ${inside}  · waiting  (${seconds(endMs - startMs)} from left to right)`;
  screen.line(
    `${INDENT}${" ".repeat(labelColumns)}  ${screen.paint("dim", legend)}`,
    `${INDENT}${" ".repeat(labelColumns)}  `,
  );
}

function covers(stretches: readonly Stretch[], ms: number): boolean {
  return stretches.some(({ fromMs, toMs }) => fromMs <= ms && ms < toMs);
}

/** How many of these overlap at the worst moment. */
export function mostAtOnce(stretches: readonly Stretch[]): number {
  const insideWith = ({ fromMs }: Stretch) =>
    stretches.filter((other) => other.fromMs <= fromMs && fromMs < other.toMs);
  return Math.max(0, ...stretches.map((stretch) => insideWith(stretch).length));
}
