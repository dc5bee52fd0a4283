import type { VirtualTime } from "../world/virtual-time.js";
import type { Checker } from "./checker.js";

const US_PER_S = 1_000_000;

/**
 * So many commands of one process may reach a server within such a span of virtual time, by all its tasks together: some two and a half
 * times as many as the busiest runs need. A loop that asks without waiting is beyond one of them from any distance.
 */
const BUDGETS = [
  { spanS: 1, most: 150 },
  { spanS: 10, most: 400 },
] as const;

interface Span {
  fromUs: number;
  count: number;
}

/** Counts what each process sends. */
export class Costs {
  readonly #time: VirtualTime;
  readonly #checker: Checker;
  readonly #spans = new Map<string, readonly Span[]>();

  constructor(time: VirtualTime, checker: Checker) {
    this.#time = time;
    this.#checker = checker;
  }

  /** A command of a process has reached a server. */
  ran(process: string, script: string): void {
    const { nowUs } = this.#time;
    const spans = this.#spans.get(process) ?? BUDGETS.map(() => ({ fromUs: 0, count: 0 }));
    this.#spans.set(process, spans);
    BUDGETS.forEach(({ spanS, most }, at) => {
      const span = spans[at];
      if (span === undefined) return;
      if (nowUs - span.fromUs >= spanS * US_PER_S) {
        span.fromUs = nowUs;
        span.count = 0;
      }
      span.count += 1;
      if (span.count !== most) return;
      this.#checker.fail(
        "cost",
        `${process} has sent ${most} commands within ${spanS} s, the last ${script}`,
      );
    });
  }
}
