// @ts-check
// #region program
import { Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";

const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
const holdfast = new Holdfast(ioredisDriver(redis));

/** @param {() => Promise<unknown>} work */
export async function deposit(work) {
  await holdfast.using("account:42", async () => {
    await work();
  });
}

export async function end() {
  await holdfast.close();
  redis.disconnect();
}
// #endregion
