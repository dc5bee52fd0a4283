/** @import { Redis } from "ioredis" */
/** @import { Connection, Scenario } from "./contracts.js" */

/** So many sections pass before one is stopped in its own. */
const SECTIONS_BEFORE = 20;

/** Refuses whoever comes with an older token than it has seen. */
const WRITE_WITH_TOKEN = `
if tonumber(ARGV[2]) < tonumber(redis.call("GET", KEYS[2]) or "0") then return 0 end
redis.call("SET", KEYS[2], ARGV[2])
redis.call("SET", KEYS[1], ARGV[1])
return 1`;

/** @typedef {{ kind: "plain" | "fenced", ttlMs: number }} Section */
/** @typedef {{ connection: Connection, section: Section, redis: Redis }} Place */

/**
 * @typedef {object} Stopped
 * @property {number} writes how many the resource has accepted
 * @property {boolean} told
 * @property {string} release what it reported
 * @property {boolean} reported that it was the loss
 * @property {number} releaseMs
 */

let finishing = false;

/**
 * A counter in Redis, which a lock alone protects; with the kind "fenced", a token as well.
 *
 * @type {Scenario["orders"]}
 */
export const counterOrders = {
  /** Some sections, and one in which this process is stopped. */
  async countAndStop(connection, /** @type {Section} */ section, { port, announce }) {
    const place = { connection, section, redis: await resourceAt(port) };
    let writes = 0;
    for (let i = 0; i < SECTIONS_BEFORE; i += 1) writes += await count(place);
    const handle = await enter(place);
    const before = await readCounter(place);
    await announce("stopping");
    process.kill(process.pid, "SIGSTOP");
    const told = connection.isHeld?.(handle) === false;
    writes += await write(place, handle, before + 1);
    return { writes, told, ...(await reportOf(() => connection.release(handle))) };
  },

  /** Section after section, until it is to finish. */
  async countOn(connection, /** @type {Section} */ section, { port }) {
    const place = { connection, section, redis: await resourceAt(port) };
    let writes = 0;
    while (!finishing) writes += await count(place);
    return writes;
  },

  async finish() {
    finishing = true;
  },

  read: async (connection, /** @type {Section} */ section, { port }) =>
    readCounter({ connection, section, redis: await resourceAt(port) }),
};

/**
 * @param {Place} place
 * @returns {Promise<number>} 1 when it was written
 */
async function count(place) {
  const handle = await enter(place);
  const before = await readCounter(place);
  const written = await write(place, handle, before + 1);
  // One whose lease is over by now, on a slow machine, is what this is about; it is counted as written.
  await reportOf(() => place.connection.release(handle));
  return written;
}

/** @param {Place} place */
function enter({ connection, section: { kind, ttlMs } }) {
  return connection.acquire(`lock:${kind}`, { kind, ttlMs });
}

/** @param {Place} place */
async function readCounter({ section, redis }) {
  return Number((await redis.get(counterKey(section))) ?? 0);
}

/**
 * @param {Place} place
 * @param {unknown} handle
 * @param {number} value
 * @returns {Promise<number>} 1 when it was accepted
 */
async function write({ connection, section, redis }, handle, value) {
  const key = counterKey(section);
  if (section.kind === "plain") {
    await redis.set(key, value);
    return 1;
  }
  const token = String(connection.token?.(handle));
  return Number(await redis.eval(WRITE_WITH_TOKEN, 2, key, `${key}:token`, value, token));
}

/** @param {Section} section */
function counterKey({ kind }) {
  return `counter:${kind}`;
}

/**
 * A connection that has nothing to do with the library.
 *
 * @param {number} port
 */
async function resourceAt(port) {
  const { Redis } = await import("ioredis");
  return new Redis({ host: "127.0.0.1", port });
}

/**
 * What a release says, and after how long.
 *
 * @param {() => Promise<unknown>} release
 */
async function reportOf(release) {
  const startMs = performance.now();
  const report = await release().then(
    (value) => (value === false ? "false" : "nothing"),
    (error) => `error ${error instanceof Error ? error.name : error}`,
  );
  return { release: report, reported: report !== "nothing", releaseMs: performance.now() - startMs };
}
