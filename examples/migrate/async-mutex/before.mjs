// @ts-check
// #region program
import { Mutex } from "async-mutex";

const mutex = new Mutex();

/** @param {() => Promise<unknown>} work */
export async function deposit(work) {
  await mutex.runExclusive(work);
}

export const end = () => undefined;
// #endregion
