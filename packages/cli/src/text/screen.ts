import type { Input } from "../command.js";
import type { Output } from "../output.js";

const ESC = "\u001b[";
/**
 * Switches to the other screen of a terminal, so that its former content comes back at the end. Hides the cursor, and does not wrap long
 * lines.
 */
const OPEN = `${ESC}?1049h${ESC}?25l${ESC}?7l`;
const CLOSE = `${ESC}?7h${ESC}?25h${ESC}?1049l`;
/** Terminals that know these two sequences show all text between them at once. */
const [BEGIN, END] = [`${ESC}?2026h`, `${ESC}?2026l`];

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";

/** A terminal that is redrawn repeatedly: over the old text, in one write, so that nothing flickers. */
export class Screen {
  readonly #output: Output;
  readonly #input: Input | undefined;
  readonly #quit: () => void;
  #lines: () => readonly string[] = () => [];
  #forget: () => void = () => undefined;
  #isOpen = false;

  /** @param quit is called when q or Ctrl-C is typed */
  constructor(output: Output, input: Input | undefined, quit: () => void) {
    this.#output = output;
    this.#input = input?.isTTY ? input : undefined;
    this.#quit = quit;
  }

  open(): void {
    this.#isOpen = true;
    this.#output.raw(OPEN);
    this.#input?.setRawMode?.(true);
    this.#input?.on("data", this.#onKey);
    this.#input?.resume();
    this.#forget = this.#output.onResize(() => this.#draw());
  }

  /** @param lines is called again when the terminal changes its size */
  show(lines: () => readonly string[]): void {
    this.#lines = lines;
    this.#draw();
  }

  /** Restores the terminal. Safe twice. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#forget();
    this.#input?.off("data", this.#onKey);
    this.#input?.setRawMode?.(false);
    this.#input?.pause();
    this.#output.raw(CLOSE);
  }

  #draw(): void {
    const { rows = Number.POSITIVE_INFINITY } = this.#output;
    const lines = this.#lines().slice(0, rows);
    // Each line is cleared before it is written: after a full line the cursor is still on its last column.
    const drawn = lines.map((line) => `${ESC}K${line}`).join("\r\n");
    const rest = lines.length < rows ? `\r\n${ESC}J` : "";
    this.#output.raw(`${BEGIN}${ESC}H${drawn}${rest}${END}`);
  }

  readonly #onKey = (keys: Buffer | string): void => {
    if (/[qQ]/.test(String(keys)) || String(keys).includes(CTRL_C) || String(keys).includes(CTRL_D))
      this.#quit();
  };
}
