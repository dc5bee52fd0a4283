// @ts-check
// #region program
import { Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";

const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
const holdfast = new Holdfast(ioredisDriver(redis));
const permits = holdfast.getPermitExpirableSemaphore("deposits");
// The first process sets how many run at once, in all processes together.
await permits.trySetPermits(1);

/** @param {() => Promise<unknown>} work */
export async function deposit(work) {
  // A watchdog: a process that dies gives its permit back.
  await permits.using(1, { watchdog: true }, async () => {
    await work();
  });
}

export async function end() {
  await holdfast.close();
  redis.disconnect();
}
// #endregion
