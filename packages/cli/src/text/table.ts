import type { Output, Style } from "../output.js";
import { cut, cutMiddle, plain, widthOf } from "./plain.js";

/** A column of a table whose rows are made of `T`. */
export interface Column<T> {
  readonly head: string;
  /** The plain text of a row. It may be a stranger's text. */
  text(row: T): string;
  /** Shorter and shorter forms of the text, for a terminal that is too narrow. */
  readonly shorter?: readonly ((row: T) => string)[];
  /** How to paint the text on a terminal. Default: not painted. */
  style?(row: T): Style | undefined;
  readonly alignsRight?: boolean;
  /** Whether and where the text may be cut on a terminal that is too narrow. Default: the text must not be cut. */
  readonly cuts?: "end" | "middle";
  /** Columns that have this number may be left out on a terminal that is too narrow, the lowest number first. Default: the column stays. */
  readonly leftOut?: number;
}

/** A column with its layout. */
interface Laid<T> {
  readonly column: Column<T>;
  texts: readonly string[];
  width: number;
}

const GAP = "  ";
/** Texts are first cut down to the first width, and to the second only if no other column can shrink any more. */
const ENOUGH_COLUMNS = 20;
const LEAST_COLUMNS = 8;

/** Writes rows under a line of heads. A row never takes two lines. */
export function writeTable<T>(output: Output, columns: readonly Column<T>[], rows: readonly T[]): void {
  for (const line of tableLines(output, columns, rows)) output.line(line);
}

/**
 * The lines of a table. On a terminal that is too narrow even for cut texts, empty columns are left out. If that is not enough, columns
 * use their first shorter texts. Then optional columns are left out, and the others use their second shorter texts.
 */
export function tableLines<T>(output: Output, columns: readonly Column<T>[], rows: readonly T[]): string[] {
  const laid = fitted(columns, rows, output.columns);
  const line = (textOf: (column: Laid<T>) => string, styleOf: (column: Column<T>) => Style | undefined) =>
    laid
      .map((each, at) => {
        const { column, width } = each;
        const text = column.cuts === "middle" ? cutMiddle(textOf(each), width) : cut(textOf(each), width);
        const padding = " ".repeat(Math.max(0, width - widthOf(text)));
        const style = styleOf(column);
        const painted = style === undefined || text === "" ? text : output.paint(style, text);
        if (column.alignsRight) return padding + painted;
        return at === laid.length - 1 ? painted : painted + padding;
      })
      .join(GAP)
      .trimEnd();
  return [
    line(
      ({ column }) => column.head,
      () => "dim",
    ),
    ...rows.map((row, at) =>
      line(
        ({ texts }) => texts[at] ?? "",
        (column) => column.style?.(row),
      ),
    ),
  ];
}

function fitted<T>(
  columns: readonly Column<T>[],
  rows: readonly T[],
  available: number | undefined,
): readonly Laid<T>[] {
  let laid = columns.map((column) => layOut(column, rows.map(column.text)));
  if (available === undefined) return laid;
  // A cell uses its shorter form before it is cut.
  const isCutFirst = ({ cuts, shorter }: Column<T>) => cuts !== undefined && shorter === undefined;
  const isTooWide = () =>
    total(laid.map(({ column, width }) => (isCutFirst(column) ? Math.min(width, ENOUGH_COLUMNS) : width))) >
    available;
  if (isTooWide()) laid = laid.filter(({ texts }) => !texts.every(saysNothing));
  const shorten = (level: number) => {
    // Columns on the right matter less.
    for (const { column } of laid.toReversed()) {
      const short = column.shorter?.[level];
      if (short === undefined || !isTooWide()) continue;
      laid = laid.map((each) => (each.column === column ? layOut(column, rows.map(short)) : each));
    }
  };
  shorten(0);
  const leaving = columns
    .filter(({ leftOut }) => leftOut !== undefined)
    .sort((a, b) => (a.leftOut ?? 0) - (b.leftOut ?? 0));
  for (const column of leaving) if (isTooWide()) laid = laid.filter((each) => each.column !== column);
  shorten(1);
  cutDown(laid, available, ({ column, width }) => isCutFirst(column) && width > ENOUGH_COLUMNS);
  cutDown(laid, available, ({ column, width }) => column.cuts !== undefined && width > LEAST_COLUMNS);
  return laid;
}

function layOut<T>(column: Column<T>, given: readonly string[]): Laid<T> {
  const texts = given.map(plain);
  const width = texts.reduce((widest, text) => Math.max(widest, widthOf(text)), column.head.length);
  return { column, texts, width };
}

function saysNothing(text: string): boolean {
  return text === "" || text === "-";
}

/** The total width of columns with these widths. */
function total(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1));
}

/** Narrows the widest of the columns that may be cut. */
function cutDown<T>(laid: readonly Laid<T>[], available: number, mayBeCut: (of: Laid<T>) => boolean): void {
  for (let over = total(laid.map(({ width }) => width)) - available; over > 0; over -= 1) {
    const [widest] = laid.filter(mayBeCut).sort((a, b) => b.width - a.width);
    if (widest === undefined) return;
    widest.width -= 1;
  }
}
