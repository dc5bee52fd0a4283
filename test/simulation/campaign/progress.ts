import { whole } from "./table.js";
import type { Tally } from "./tally.js";

const REDRAW_MS = 200;
const LINE_EVERY_MS = 10_000;

/** Tells how a campaign gets on: in place on a terminal, elsewhere a line every ten seconds. */
export class Progress {
  #atMs = 0;
  #isDrawn = false;

  constructor(
    private readonly stream: NodeJS.WriteStream,
    private readonly goal: { readonly schedules: number; readonly minutes: number },
  ) {}

  glance(tally: Tally, elapsedMs: number): void {
    const { isTTY } = this.stream;
    if (elapsedMs - this.#atMs < (isTTY ? REDRAW_MS : LINE_EVERY_MS)) return;
    this.#atMs = elapsedMs;
    const line = this.#line(tally, elapsedMs);
    if (!isTTY) {
      this.stream.write(`${line}\n`);
      return;
    }
    this.clear();
    this.stream.write(line.slice(0, (this.stream.columns ?? 80) - 1));
    this.#isDrawn = true;
  }

  /** Makes room for what is printed otherwise. */
  clear(): void {
    if (this.#isDrawn) this.stream.write("\r\u001b[2K");
    this.#isDrawn = false;
  }

  #line(tally: Tally, elapsedMs: number): string {
    const perSecond = (count: number) => whole(count / (elapsedMs / 1_000));
    const { schedules, minutes } = this.goal;
    const share = Math.max(tally.schedules / schedules, elapsedMs / 60_000 / minutes);
    const leftMs = share > 0 ? Math.max(0, elapsedMs / share - elapsedMs) : Number.POSITIVE_INFINITY;
    return [
      `${whole(tally.schedules)} schedules`,
      `${perSecond(tally.schedules)}/s`,
      `${perSecond(tally.commands)} script calls/s`,
      `${whole(tally.broken.length)} violations`,
      ...(Number.isFinite(leftMs) ? [`${clock(leftMs)} left`] : []),
    ].join("  ");
  }
}

function clock(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}
