import { machineMs } from "../machine-time.js";
import type { Screen } from "./screen.js";
import { seconds } from "./units.js";

interface Entry {
  readonly atMs: number;
  readonly who: string;
  readonly text: string;
}

/** Notes of different processes arrive in another order than they were written in, by a little. */
const HOLD_BACK_MS = 60;
const LABEL_COLUMNS = 9;

/** Shows what happens while it happens: the time since the log began, who, and what. */
export class LiveLog {
  readonly #screen: Screen;
  readonly #startMs = machineMs();
  #pending: Entry[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /** @param who the worker's letter; empty for the demo itself */
  add(who: string, text: string, atMs: number = machineMs()): void {
    this.#pending.push({ atMs, who, text });
    this.#timer ??= setTimeout(() => this.#show(machineMs() - HOLD_BACK_MS), HOLD_BACK_MS);
  }

  /** Shows what is still held back. */
  close(): void {
    this.#show(Number.POSITIVE_INFINITY);
    clearTimeout(this.#timer);
  }

  #show(untilMs: number): void {
    const due = this.#pending.filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs);
    this.#pending = this.#pending.filter(({ atMs }) => atMs > untilMs);
    for (const { atMs, who, text } of due) {
      const time = seconds(Math.max(atMs - this.#startMs, 0)).padStart(LABEL_COLUMNS);
      const label = who === "" ? " " : this.#screen.paint(["bold", "yellow"], who);
      this.#screen.line(`${this.#screen.paint("dim", time)}  ${label}  ${text}`, " ".repeat(LABEL_COLUMNS + 5));
    }
    this.#timer =
      this.#pending.length === 0
        ? undefined
        : setTimeout(() => this.#show(machineMs() - HOLD_BACK_MS), HOLD_BACK_MS);
  }
}
