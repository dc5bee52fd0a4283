// @ts-check
// #region program

import Redlock from "holdfast/redlock";
import { Redis } from "ioredis";

const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
const redlock = new Redlock([redis], { retryCount: -1, retryDelay: 20, retryJitter: 10 });

/** @param {() => Promise<unknown>} work */
export async function deposit(work) {
  await redlock.using(["account:42"], 5_000, async (signal) => {
    await work();
    if (signal.aborted) throw signal.error;
  });
}

export const end = () => redlock.quit();
// #endregion
