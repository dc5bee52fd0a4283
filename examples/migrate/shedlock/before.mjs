// @ts-check
/** Stands for a JVM: what ShedLock's provider for Redis sends, `SET … NX PX` with a string, and a script that deletes it. */
import { setTimeout as pause } from "node:timers/promises";
import { Redis } from "ioredis";

const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
const KEY = "job-lock:prod:nightly";

/** @param {() => Promise<unknown>} work */
export async function deposit(work) {
  const value = `ADDED:${Math.random()}`;
  while ((await redis.set(KEY, value, "PX", 5_000, "NX")) !== "OK") await pause(10);
  try {
    await work();
  } finally {
    await redis.eval(
      "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end",
      1,
      KEY,
      value,
    );
  }
}

export const end = () => redis.quit();
