import type { Report } from "../tasks/task.js";
import type { LiveLog } from "../terminal/live-log.js";
import { span } from "../terminal/units.js";

interface Leaving {
  readonly how: string;
  readonly atMs: number;
}

/** Tells the comings and goings of several workers at one lock as one story. */
export class VisitLog {
  readonly #log: LiveLog;
  readonly #wanted: string;
  readonly #asked = new Map<string, number>();
  readonly #leavings: Leaving[] = [];

  constructor(log: LiveLog, wanted = "the lock") {
    this.#log = log;
    this.#wanted = wanted;
  }

  /** What to do with the reports of a worker. */
  listenerFor(who: string): (report: Report) => void {
    return (report) => this.#hear(who, report);
  }

  #hear(who: string, report: Report): void {
    const { what, atMs } = report;
    if (what === "asking") {
      this.#asked.set(who, atMs);
      this.#log.add(who, `asks for ${this.#wanted}`, atMs);
    } else if (what === "entered") {
      const askedMs = this.#asked.get(who) ?? atMs;
      this.#log.add(who, () => `enters ${this.#after(askedMs, atMs)}`, atMs);
    } else if (what === "leaving") {
      this.#leavings.push({ how: `woken by ${who}, who left`, atMs });
      this.#log.add(who, "leaves", atMs);
    } else if (what === "lost") {
      this.#leavings.push({ how: `${who} lost it`, atMs });
      this.#log.add(who, `its signal aborts: ${report.code}, reason "${report.reason}"`, atMs);
    }
  }

  #after(askedMs: number, enteredMs: number): string {
    const waited = `after ${span(enteredMs - askedMs)}`;
    const last = this.#leavings.filter(({ atMs }) => atMs <= enteredMs).sort((a, b) => b.atMs - a.atMs)[0];
    if (last === undefined || last.atMs < askedMs) return `${waited}, it was free`;
    return `${waited}, ${last.how} ${span(enteredMs - last.atMs)} ago`;
  }
}
