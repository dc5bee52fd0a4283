import { setTimeout as sleep } from "node:timers/promises";
import { styleText } from "node:util";
import { visibleLength, wrap } from "./wrap.js";

type Style = Parameters<typeof styleText>[0];

/** The part of `process.stdout` that the demo uses. */
export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  hasColors?(): boolean;
}

/** Each worker has its own. */
const WORKER_STYLES: Readonly<Record<string, Style>> = { A: "cyan", B: "magenta", C: "yellow", D: "blue" };
const WIDEST_COLUMNS = 88;
const WITHOUT_TERMINAL_COLUMNS = 80;
const NARROWEST_COLUMNS = 30;
/** For the eye to find the new scene. Who pipes the output reads it later. */
const READING_PAUSE_MS = 1_200;

/**
 * Writes lines, one below the other: no cursor movements, so that everything stays to be read. In colour where the
 * output is a terminal that has some and NO_COLOR does not object.
 */
export class Screen {
  readonly #output: Output;
  readonly #hasColours: boolean;
  readonly #pauseMs: number | undefined;
  #muted = false;

  /** @param pauseMs how long each step stays before the next. Default: only an introduction stays, and only in a terminal */
  constructor(output: Output, pauseMs?: number) {
    this.#output = output;
    this.#pauseMs = pauseMs;
    this.#hasColours = output.isTTY === true && output.hasColors?.() === true;
  }

  get columns(): number {
    const columns = this.#output.columns ?? WITHOUT_TERMINAL_COLUMNS;
    return Math.max(Math.min(columns, WIDEST_COLUMNS), NARROWEST_COLUMNS);
  }

  paint(style: Style, text: string): string {
    return this.#hasColours && text !== "" ? styleText(style, text, { validateStream: false }) : text;
  }

  /** Paints in the colour of the worker whose letter the label begins with. */
  paintFor(label: string, text: string): string {
    return this.paint(WORKER_STYLES[label.charAt(0)] ?? "dim", text);
  }

  /** One line, or several where the terminal is too narrow; `hang` is the indent of all but the first. */
  line(text = "", hang = "  "): void {
    if (this.#muted) return;
    for (const part of wrap(text, this.columns, hang)) this.#output.write(`${part}\n`);
  }

  prose(text: string): void {
    this.line(`  ${text}`);
  }

  heading(text: string): void {
    const rule = "━".repeat(Math.max(this.columns - visibleLength(text) - 4, 0));
    this.line();
    this.line(this.paint(["bold", "cyan"], `━━ ${text} ${rule}`));
    this.line();
  }

  /** A few lines of code, each with its comment dimmed. */
  code(source: string): void {
    for (const line of source.split("\n")) {
      const [, code = "", comment = ""] = /^(.*?)(\s*\/\/.*)?$/.exec(line) ?? [];
      this.line(
        `  ${this.paint("dim", "│")} ${this.paint("cyan", code)}${this.paint("dim", comment)}`,
        "  │     ",
      );
    }
  }

  /** A statement with the outcome of the check behind it. */
  verdict(isTrue: boolean, text: string): void {
    this.line(`  ${this.mark(isTrue)} ${text}`, "    ");
  }

  mark(isTrue: boolean): string {
    return isTrue ? this.paint(["bold", "green"], "✓") : this.paint(["bold", "red"], "✗");
  }

  /** After an introduction. */
  async readingPause(): Promise<void> {
    if (this.#pauseMs !== undefined) await this.pause();
    else if (this.#output.isTTY === true) await sleep(READING_PAUSE_MS);
  }

  /** Between two steps, where somebody has asked for it. */
  async pause(): Promise<void> {
    if (this.#pauseMs !== undefined && this.#pauseMs > 0) await sleep(this.#pauseMs);
  }

  /** Writes nothing from now on. */
  mute(): void {
    this.#muted = true;
  }
}
