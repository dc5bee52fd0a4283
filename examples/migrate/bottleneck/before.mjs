// @ts-check
// #region program
import Bottleneck from "bottleneck";

const limiter = new Bottleneck({ maxConcurrent: 1 });

/** @param {() => Promise<unknown>} work */
export async function deposit(work) {
  await limiter.schedule(work);
}

export const end = () => undefined;
// #endregion
