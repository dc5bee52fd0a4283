import type { Clock, Timer } from "holdfast";
import { tellDuration } from "../duration.js";
import type { Output } from "../output.js";
import { plain } from "../text/plain.js";
import { tellHolders, type Where } from "./tell-holders.js";

/** After this time a person wants to know why nothing happens. */
const FIRST_AFTER_MS = 1_000;

/** Prints at intervals who holds the lock that a call waits for, until it is stopped. */
export class WaitingLines {
  readonly #name: string;
  readonly #everyMs: number;
  readonly #where: Where;
  readonly #output: Output;
  readonly #clock: Clock;
  readonly #sinceMs: number;
  #timer: Timer | undefined;
  #isOver = false;

  constructor(name: string, everyMs: number, where: Where, output: Output, clock: Clock) {
    this.#name = name;
    this.#everyMs = everyMs;
    this.#where = where;
    this.#output = output;
    this.#clock = clock;
    this.#sinceMs = clock.monotonicMs();
    if (everyMs > 0) this.#next(Math.min(FIRST_AFTER_MS, everyMs));
  }

  stop(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }

  #next(inMs: number): void {
    this.#timer = this.#clock.schedule(inMs, () => void this.#tell());
  }

  /** Never rejects: the waiting call itself reports why Redis does not answer. */
  async #tell(): Promise<void> {
    const told = await tellHolders(this.#name, this.#where).catch(() => undefined);
    if (this.#isOver) return;
    const waited = tellDuration(this.#clock.monotonicMs() - this.#sinceMs);
    this.#output.say(
      `waiting for "${plain(this.#name)}"${told === undefined ? "" : `: ${told}`}; waited ${waited}`,
    );
    this.#next(this.#everyMs);
  }
}
