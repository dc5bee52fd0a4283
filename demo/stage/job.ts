import type { Note, Report, ReportOf } from "../tasks/task.js";

/** One job of a worker, as seen by the scene that ordered it. */
export class Job<Result> {
  /** Everything the worker has told so far. */
  readonly reports: Report[] = [];
  readonly result: Promise<Result>;
  readonly #goOn: () => void;
  readonly #onReport: ((report: Report) => void) | undefined;
  readonly #watchers = new Set<() => void>();
  readonly #seen = new Set<Report>();
  #settle: { resolve: (result: Result) => void; reject: (error: Error) => void } | undefined;
  #over = false;

  /** @param goOn tells the worker to go on */
  constructor(goOn: () => void, onReport?: (report: Report) => void) {
    this.#goOn = goOn;
    this.#onReport = onReport;
    this.result = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    // Who is interested awaits it; a scene that was given up is not.
    this.result.catch(() => undefined);
  }

  goOn(): void {
    this.#goOn();
  }

  /** The first report of this kind that was not asked for yet. Rejects when the job ends without another. */
  async next<What extends Note["what"]>(what: What): Promise<ReportOf<What>> {
    for (;;) {
      const found = this.all(what).find((report) => !this.#seen.has(report));
      if (found !== undefined) {
        this.#seen.add(found);
        return found;
      }
      if (this.#over) {
        await this.result;
        throw new Error(`a worker ended its job without a report of "${what}"`);
      }
      await new Promise<void>((resolve) => this.#watchers.add(resolve));
    }
  }

  all<What extends Note["what"]>(what: What): ReportOf<What>[] {
    return this.reports.filter((report): report is ReportOf<What> => report.what === what);
  }

  add(report: Report): void {
    this.reports.push(report);
    this.#onReport?.(report);
    this.#wakeWatchers();
  }

  finish(result: Result): void {
    this.#over = true;
    this.#settle?.resolve(result);
    this.#wakeWatchers();
  }

  fail(error: Error): void {
    this.#over = true;
    this.#settle?.reject(error);
    this.#wakeWatchers();
  }

  #wakeWatchers(): void {
    for (const wake of this.#watchers) wake();
    this.#watchers.clear();
  }
}
