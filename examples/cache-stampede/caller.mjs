// @ts-check
/** A process with many callers that want one value. It tells play.mjs of each load, and how its callers fared. */
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { cached } from "./cached.mjs";

const CALLERS = 50;
const LOAD_MS = 500;

/** @typedef {{ key: string, way: "bare" | "cached" }} Order */

const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
// The lock of a loader that dies falls after 3 seconds, not after 30: for so long all callers wait.
const holdfast = new Holdfast(ioredisDriver(redis));

/** @param {object} message */
const tell = (message) => void process.send?.(message);

/** @param {string} key */
async function load(key) {
  tell({ type: "load", key });
  await pause(LOAD_MS);
  return { key, madeBy: process.pid };
}

/** What stands in most programs. @param {string} key */
async function bare(key) {
  const text = await redis.get(key);
  if (text !== null) return JSON.parse(text);
  const value = await load(key);
  await redis.set(key, JSON.stringify(value), "PX", 60_000);
  return value;
}

process.on("message", async (/** @type {Order} */ { key, way }) => {
  const call = () => (way === "bare" ? bare(key) : cached({ holdfast, redis }, key, () => load(key)));
  const outcomes = await Promise.allSettled(Array.from({ length: CALLERS }, call));
  const served = outcomes.filter(({ status }) => status === "fulfilled").length;
  tell({ type: "served", key, served, of: CALLERS });
});
if (redis.status !== "ready") await once(redis, "ready");
tell({ type: "ready" });
await once(process, "disconnect");
await holdfast.close();
redis.disconnect();
