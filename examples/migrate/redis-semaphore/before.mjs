// @ts-check
// #region program
import { Redis } from "ioredis";
import { Mutex } from "redis-semaphore";

const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");

/** @param {() => Promise<unknown>} work */
export async function deposit(work) {
  const mutex = new Mutex(redis, "account:42", { acquireTimeout: 60_000, lockTimeout: 5_000 });
  await mutex.acquire();
  try {
    await work();
  } finally {
    await mutex.release();
  }
}

export const end = () => redis.quit();
// #endregion
