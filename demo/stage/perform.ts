import { type Driver, Holdfast } from "holdfast";
import { machineMs } from "../machine-time.js";
import type { Report, Stock, Workplace } from "../tasks/task.js";
import { type ResultOf, type TaskName, tasks } from "../tasks/task-table.js";
import type { OrderOf } from "./worker.js";

/** What a worker brings to a job, in whichever process it is. */
export interface Equipment {
  /** For this job alone. */
  readonly driver: Driver;
  readonly stock: Stock;
  readonly prefix: string;
  report(report: Report): void;
  told(): Promise<void>;
}

/** Does one job with a client of its own, which is closed at the end. */
export async function perform<Name extends TaskName>(
  { task, input, tuning }: OrderOf<Name>,
  { driver, stock, prefix, report, told }: Equipment,
): Promise<ResultOf<Name>> {
  const holdfast = new Holdfast(driver, { ...tuning, nameMapper: (name) => prefix + name });
  const workplace: Workplace = {
    holdfast,
    stock,
    note: (note) => report({ ...note, atMs: machineMs() }),
    told,
  };
  try {
    return await tasks[task](workplace, input);
  } finally {
    await holdfast.close();
  }
}
