// @ts-check
/**
 * Does the same as Account.java: reads, adds and writes. Only the lock keeps another process from writing in between.
 *
 * @param {{ holdfast: import("holdfast").Holdfast, redis: import("ioredis").Redis }} clients
 * @param {number} amount
 */
export function deposit({ holdfast, redis }, amount) {
  return holdfast.using("account:42", async () => {
    await redis.set("balance:42", Number(await redis.get("balance:42")) + amount);
  });
}
