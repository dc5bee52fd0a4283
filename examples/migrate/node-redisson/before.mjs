// @ts-check
// #region program
import { Redisson } from "node-redisson";

const { hostname, port } = new URL(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
const redisson = new Redisson({ redis: { options: { host: hostname, port: Number(port) } } });

/** @param {() => Promise<unknown>} work */
export async function deposit(work) {
  const lock = redisson.getLock("account:42");
  await lock.lock();
  try {
    await work();
  } finally {
    await lock.unlock();
  }
}

// It has no way to end its connections.
export const end = () => process.exit(0);
// #endregion
