import { bar } from "../terminal/bar.js";
import type { Screen } from "../terminal/screen.js";
import { seconds } from "../terminal/units.js";

const WIDEST_BAR_COLUMNS = 40;
const TIME_COLUMNS = 9;
const HANG = " ".repeat(TIME_COLUMNS + 2);
/** What stands beside the bar. */
const TEXT_COLUMNS = 31;

/** Draws the TTL of a lock, one line for each look at it, and counts how often it rose. */
export class TtlGauge {
  readonly #screen: Screen;
  readonly #fullMs: number;
  #lastMs: number | undefined;
  #lowestMs = Number.POSITIVE_INFINITY;
  #rises = 0;

  /** @param fullMs the TTL at which the bar is full */
  constructor(screen: Screen, fullMs: number) {
    this.#screen = screen;
    this.#fullMs = fullMs;
  }

  /** The lowest TTL seen, in milliseconds. */
  get lowestMs(): number {
    return this.#lowestMs;
  }

  get rises(): number {
    return this.#rises;
  }

  /** What a worker does meanwhile, in line with the bars. */
  remark(who: string, text: string): void {
    this.#screen.line(`${HANG}${this.#screen.paintFor(who, who)} ${text}`, HANG);
  }

  /** @param ttlMs below zero when the lock is free */
  show(atMs: number, ttlMs: number): void {
    const rose = this.#lastMs !== undefined && ttlMs > this.#lastMs;
    if (rose) this.#rises += 1;
    this.#lastMs = ttlMs;
    this.#lowestMs = Math.min(this.#lowestMs, ttlMs);
    const columns = Math.max(Math.min(this.#screen.columns - TEXT_COLUMNS, WIDEST_BAR_COLUMNS), 5);
    const drawn = this.#screen.paint(rose ? "green" : "yellow", bar(ttlMs / this.#fullMs, columns));
    const time = this.#screen.paint("dim", seconds(atMs).padStart(TIME_COLUMNS));
    const left = ttlMs < 0 ? "free" : `TTL ${seconds(ttlMs)}`;
    this.#screen.line(`${time}  ${drawn} ${left}${rose ? this.#screen.paint("green", " renewed") : ""}`);
  }
}
