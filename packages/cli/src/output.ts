import { styleText } from "node:util";
import { hidden, plain, wrapped } from "./text/plain.js";

/** How to paint text on a terminal. */
export type Style = Parameters<typeof styleText>[0];

/** A stream of the process that text is written to. */
export interface Stream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
  on?(event: "resize", listener: () => void): unknown;
  off?(event: "resize", listener: () => void): unknown;
}

/** Text for people, JSON for programs: results on stdout, messages on stderr. */
export class Output {
  readonly isJson: boolean;
  /** Whether only results and errors are printed. */
  readonly isQuiet: boolean;
  readonly #out: Stream;
  readonly #err: Stream;
  readonly #isColoured: boolean;

  constructor(
    { out, err, env }: { readonly out: Stream; readonly err: Stream; readonly env: NodeJS.ProcessEnv },
    { json = false, quiet = false, color = true }: OutputOptions = {},
  ) {
    this.#out = out;
    this.#err = err;
    this.isJson = json;
    this.isQuiet = quiet;
    this.#isColoured = color && !env["NO_COLOR"] && env["TERM"] !== "dumb";
  }

  /** The width of stdout, in columns; undefined if it is not a terminal. */
  get columns(): number | undefined {
    return this.#out.isTTY ? this.#out.columns : undefined;
  }

  /** How many lines of the terminal are visible at once. */
  get rows(): number | undefined {
    return this.#out.isTTY ? this.#out.rows : undefined;
  }

  get isTerminal(): boolean {
    return this.#out.isTTY === true;
  }

  /** A line of the results. */
  line(text = ""): void {
    this.#out.write(`${text}\n`);
  }

  /** A result for programs: an object as one line of JSON. Characters that could move the cursor of a terminal become JSON escapes. */
  json(value: unknown): void {
    const text = JSON.stringify(value, (_, held) => (typeof held === "bigint" ? String(held) : held));
    this.line(text.replace(hidden, jsonEscape));
  }

  /** Writes control characters of a terminal, unchanged. */
  raw(text: string): void {
    this.#out.write(text);
  }

  /** @returns a function that removes the listener */
  onResize(listener: () => void): () => void {
    this.#out.on?.("resize", listener);
    return () => void this.#out.off?.("resize", listener);
  }

  /** Text with this style, if stdout shows styles. */
  paint(style: Style, text: string): string {
    return this.#isColoured && this.#out.isTTY ? styleText(style, text, { validateStream: false }) : text;
  }

  /** Prints a message, unless `-q` was given. */
  say(text: string): void {
    if (!this.isQuiet) this.complain(text);
  }

  /** Prints a record as one line on stderr, never wrapped, even with `-q`. */
  record(text: string): void {
    this.#err.write(`holdfast: ${plain(text)}\n`);
  }

  /** Prints a question. The user types the answer on the same line. */
  ask(text: string): void {
    this.#err.write(`holdfast: ${plain(text)} `);
  }

  /** Prints an error. The text may come from strangers: names, and answers of Redis. */
  complain(text: string): void {
    const { isTTY, columns } = this.#err;
    const lines = `holdfast: ${text}`.split("\n").map(plain);
    const fitting = isTTY && columns ? lines.flatMap((line) => wrapped(line, columns)) : lines;
    this.#err.write(`${fitting.join("\n")}\n`);
  }
}

function jsonEscape(character: string): string {
  return character.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export interface OutputOptions {
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly color?: boolean;
}
