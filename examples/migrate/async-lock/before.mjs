// @ts-check
// #region program
import AsyncLock from "async-lock";

const lock = new AsyncLock();

/** @param {() => Promise<unknown>} work */
export async function deposit(work) {
  await lock.acquire("account:42", work);
}

export const end = () => undefined;
// #endregion
