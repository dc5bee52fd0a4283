// @ts-check
// #region program

import Redlock from "holdfast/redlock";
import { Redis } from "ioredis";

const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
// While old processes run: it waits for locks that are strings, as those of redis-semaphore are.
const locks = new Redlock([redis], { retryCount: -1, retryDelay: 20 });

/** @param {() => Promise<unknown>} work */
export async function deposit(work) {
  await locks.using(["mutex:account:42"], 5_000, async () => {
    await work();
  });
}

export const end = () => locks.quit();
// #endregion
