import type { HistoryLine } from "../outcome.js";
import { beliefsOf, type Step } from "./beliefs.js";
import { shortened } from "./short-ids.js";

export interface TimelineOptions {
  /** How many characters fit in a line. */
  readonly width: number;
  readonly colors: boolean;
}

/** A text column narrower than this tears apart what belongs together. */
const LEAST_COLUMN = 42;
const WIDEST_COLUMN = 64;
const LEAST_TEXT = 30;
const TIME = 11;
/** A silence longer than this gets a line of its own. */
const GAP_US = 250_000;
/** Header lines come again, so that one is always in sight. */
const HEADER_EVERY = 60;

/**
 * The history of a run for a person: time in milliseconds, a column for each process and each server. Where there is no room for
 * text in each column, the columns are lanes with marks, and the text stands to their right. A thick line runs down the column of
 * a process for as long as it believes that it has something.
 */
export function timeline(history: readonly HistoryLine[], { width, colors }: TimelineOptions): string {
  const { lines, legend } = shortened(history.map((line) => ({ ...line, text: firstLine(line.text) })));
  const columns = columnsOf(lines);
  const paint = colors ? painted : plain;
  const room = Math.floor((width - TIME) / Math.max(1, columns.length)) - 1;
  const layout =
    room >= LEAST_COLUMN
      ? new TextColumns(columns, Math.min(room, WIDEST_COLUMN), paint)
      : new Lanes(columns, width, paint);
  const output: string[] = [];
  let lastUs = 0;
  let sinceHeader = HEADER_EVERY;
  for (const [at, step] of beliefsOf(lines).entries()) {
    if (step.line.atUs - lastUs > GAP_US) {
      output.push(
        paint("dim", `${" ".repeat(TIME - 2)}⋮ ${spoken(step.line.atUs - lastUs)} in which nothing happens`),
      );
      lastUs = -1;
    }
    if (sinceHeader >= HEADER_EVERY) {
      output.push(layout.header());
      sinceHeader = 0;
    }
    const time = at === 0 || step.line.atUs !== lastUs ? milliseconds(step.line.atUs) : "";
    const rows = layout.rows(step);
    output.push(...rows.map((row, nth) => `${(nth === 0 ? time : "").padStart(TIME - 1)} ${row}`));
    sinceHeader += rows.length;
    lastUs = step.line.atUs;
  }
  const names = legend.map(([short, long]) => paint("dim", `${short.padStart(TIME - 1)} = ${long}`));
  return [...output, ...names, ""].join("\n");
}

interface Layout {
  header(): string;
  /** Without the time. */
  rows(step: Step): string[];
}

/** Processes first, then servers, each by number; the world has no column: what it does concerns all. */
function columnsOf(lines: readonly HistoryLine[]): readonly string[] {
  const names = new Set(lines.map(({ column }) => column));
  names.delete("world");
  const rank = (name: string) => (isServer(name) ? 1 : 0);
  return [...names].sort(
    (one, other) => rank(one) - rank(other) || one.localeCompare(other, "en", { numeric: true }),
  );
}

function isServer(column: string): boolean {
  return /^s\d/.test(column);
}

class TextColumns implements Layout {
  constructor(
    private readonly columns: readonly string[],
    private readonly room: number,
    private readonly paint: Paint,
  ) {}

  header(): string {
    const names = this.columns.map((name) => `┬ ${name} `.padEnd(this.room + 1, "─"));
    return this.paint("dim", " ".repeat(TIME) + names.join(""));
  }

  rows(step: Step): string[] {
    const { line, believed } = step;
    const bars = this.columns.map((name) =>
      this.paint(step.believing.has(name) ? "bold" : "dim", barOf(step, name)),
    );
    const empty = " ".repeat(this.room);
    const at = this.columns.indexOf(line.column);
    if (at < 0) {
      const whole = this.columns.length * (this.room + 1) - 3;
      return wrapped([line.text, ...told(believed, line)], whole).map((row, nth) =>
        worldRow(this.paint, row, nth, line),
      );
    }
    return wrapped([line.text], this.room - 1).map((text) =>
      bars
        .map(
          (bar, nth) => bar + (nth === at ? this.paint(styleOf(line), ` ${text}`.padEnd(this.room)) : empty),
        )
        .join("")
        .trimEnd(),
    );
  }
}

class Lanes implements Layout {
  readonly #lane: number;
  readonly #room: number;

  constructor(
    private readonly columns: readonly string[],
    width: number,
    private readonly paint: Paint,
  ) {
    this.#lane = Math.max(2, ...columns.map((name) => name.length)) + 1;
    this.#room = Math.max(LEAST_TEXT, width - TIME - columns.length * this.#lane - 1);
  }

  header(): string {
    return this.paint("dim", " ".repeat(TIME) + this.columns.map((name) => name.padEnd(this.#lane)).join(""));
  }

  rows(step: Step): string[] {
    const { line, believed } = step;
    const lane = (name: string, mark: string) => {
      const isHere = name === line.column;
      const sign = (isHere && mark) || barOf(step, name);
      return this.paint(isHere || step.believing.has(name) ? "bold" : "dim", sign.padEnd(this.#lane));
    };
    const lanes = (mark: string) => this.columns.map((name) => lane(name, mark)).join("");
    const isOfWorld = !this.columns.includes(line.column);
    const hang = isOfWorld ? 2 : line.column.length + 1;
    const texts = isOfWorld ? [line.text, ...told(believed, line)] : [named(line, hang)];
    return wrapped(texts, this.#room - 2, hang).map((row, nth) => {
      const mark = nth > 0 ? "" : isServer(line.column) ? "◆" : "●";
      const text = isOfWorld ? worldRow(this.paint, row, nth, line) : this.paint(styleOf(line), row);
      return `${lanes(mark)} ${text}`.trimEnd();
    });
  }
}

/** Thick while it believes that it has something, and gone with the process. */
function barOf({ believing, dead }: Step, column: string): string {
  if (dead.has(column)) return " ";
  return believing.has(column) ? "┃" : "│";
}

/** Tasks are called after their process. What is set in goes with the line above it, which names the column. */
function named({ column, text }: HistoryLine, hang: number): string {
  if (text.startsWith(" ")) return " ".repeat(hang) + text;
  return text.startsWith(`${column}.`) ? text : `${column} ${text}`;
}

function worldRow(paint: Paint, row: string, nth: number, line: HistoryLine): string {
  return paint(styleOf(line), `${nth === 0 ? (isViolation(line) ? "✖" : "▲") : " "} ${row}`);
}

/** A broken promise is read against what each process believed then. */
function told(believed: Step["believed"], line: HistoryLine): string[] {
  if (!isViolation(line)) return [];
  if (believed.length === 0) return ["Nobody believed anything then."];
  return believed.map(
    ({ column, label, atUs }) => `${column} believed ${label}, since ${milliseconds(atUs)}`,
  );
}

function isViolation(line: HistoryLine): boolean {
  return line.column === "world" && line.text.startsWith("VIOLATION");
}

/** Lines of at most `room` characters. What goes on in the next one is set in by `hang`. */
function wrapped(texts: readonly string[], room: number, hang = 2): string[] {
  return texts.flatMap((text) => {
    const indent = /^ */.exec(text)?.[0] ?? "";
    const rows: string[] = [];
    let row = indent;
    for (let word of text.trim().split(/\s+/)) {
      if (row.trim() !== "" && row.length + 1 + word.length > room && word.length + hang <= room + 8) {
        rows.push(row);
        row = indent + " ".repeat(hang);
      }
      row += row.trim() === "" ? "" : " ";
      while (row.length + word.length > room) {
        const fits = Math.max(1, room - row.length);
        rows.push(row + word.slice(0, fits));
        word = word.slice(fits);
        row = indent + " ".repeat(hang);
      }
      row += word;
    }
    return [...rows, row];
  });
}

/** The stack of an error is told elsewhere. */
function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

function milliseconds(us: number): string {
  return (us / 1_000).toFixed(3);
}

function spoken(us: number): string {
  const seconds = us / 1_000_000;
  return seconds < 120 ? `${seconds.toFixed(3)} s` : `${(seconds / 60).toFixed(1)} min`;
}

type Style = "dim" | "bold" | "red" | "yellow" | "none";
type Paint = (style: Style, text: string) => string;

const CODES = { dim: 2, bold: 1, red: 31, yellow: 33, none: 0 } as const;

const painted: Paint = (style, text) => (style === "none" ? text : `\u001b[${CODES[style]}m${text}\u001b[0m`);
const plain: Paint = (_, text) => text;

function styleOf(line: HistoryLine): Style {
  if (line.column === "world") return isViolation(line) ? "red" : "yellow";
  if (line.text.startsWith("believes ")) return "bold";
  return line.text.startsWith("  ") ? "dim" : "none";
}
