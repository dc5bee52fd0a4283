import { setTimeout as sleep } from "node:timers/promises";
import type { LockName } from "../names.js";
import { PATIENCE_MS, type Task } from "./task.js";

export interface SellInput {
  /** Without one nothing protects the counter. */
  readonly lock: LockName | undefined;
  readonly times: number;
  /** How long each sale takes between reading the counter and writing it. */
  readonly thinkMs: number;
}

/** Sells from the stock, one by one. @returns how many it has sold by its own count */
export const sell: Task<SellInput, number> = async ({ holdfast, stock }, { lock, times, thinkMs }) => {
  const sellOne = async () => {
    const left = await stock.read();
    await sleep(thinkMs);
    await stock.write(left - 1);
  };
  let sold = 0;
  for (; sold < times; sold += 1) {
    if (lock === undefined) await sellOne();
    else await holdfast.getLock(lock).using({ waitMs: PATIENCE_MS }, sellOne);
  }
  return sold;
};
