import { machineMs } from "../machine-time.js";
import type { Screen } from "./screen.js";
import { seconds } from "./units.js";

interface Entry {
  readonly atMs: number;
  readonly who: string;
  readonly text: string | (() => string);
}

/** Notes of different processes arrive in another order than they were written in, by a little. */
const HOLD_BACK_MS = 60;
const TIME_COLUMNS = 9;
const HANG = " ".repeat(TIME_COLUMNS + 5);

/** Shows what happens while it happens: the time since the log began, who, and what. */
export class LiveLog {
  readonly #screen: Screen;
  readonly #startMs = machineMs();
  #pending: Entry[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /**
   * @param who the worker's letter; empty for the demo itself
   * @param text where it is a function, that is called when everything that happened before has been noted
   */
  add(who: string, text: string | (() => string), atMs: number = machineMs()): void {
    this.#pending.push({ atMs, who, text });
    this.#wait();
  }

  /** Shows what is still held back. */
  close(): void {
    clearTimeout(this.#timer);
    this.#show(Number.POSITIVE_INFINITY);
  }

  #wait(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#show(machineMs() - HOLD_BACK_MS);
      if (this.#pending.length > 0) this.#wait();
    }, HOLD_BACK_MS);
  }

  #show(untilMs: number): void {
    const due = this.#pending.filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs);
    this.#pending = this.#pending.filter(({ atMs }) => atMs > untilMs);
    for (const { atMs, who, text } of due) {
      const time = seconds(Math.max(atMs - this.#startMs, 0)).padStart(TIME_COLUMNS);
      const label = this.#screen.paintFor(who, who.padEnd(1));
      const said = typeof text === "string" ? text : text();
      this.#screen.line(`${this.#screen.paint("dim", time)}  ${label}  ${said}`, HANG);
    }
  }
}
