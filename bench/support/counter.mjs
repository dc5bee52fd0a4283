import { Redis } from "ioredis";

/** @import { Connection, Scenario } from "./contracts.js" */

/** So many sections pass before one is stopped in its own. */
const SECTIONS_BEFORE = 20;

/** Refuses whoever comes with an older token than it has seen. */
const WRITE_WITH_TOKEN = `
if tonumber(ARGV[2]) < tonumber(redis.call("GET", KEYS[2]) or "0") then return 0 end
redis.call("SET", KEYS[2], ARGV[2])
redis.call("SET", KEYS[1], ARGV[1])
return 1`;

/**
 * @typedef {{ kind: "plain" | "fenced", ttlMs: number }} Section
 */

/**
 * @typedef {object} Stopped
 * @property {number} writes how many the resource has accepted
 * @property {boolean} told
 * @property {string} release what it reported
 * @property {boolean} reported that it was the loss
 * @property {number} releaseMs
 */

let finishing = false;
/** @type {Redis | undefined} */
let resource;

/**
 * A counter in Redis, which a lock alone protects; with the kind "fenced", a token as well.
 *
 * @type {Scenario["orders"]}
 */
export const counterOrders = {
  /** Some sections, and one in which this process is stopped. */
  async countAndStop(connection, /** @type {Section} */ section, { port, announce }) {
    let writes = 0;
    for (let i = 0; i < SECTIONS_BEFORE; i += 1) writes += await count(connection, section, port);
    const handle = await enter(connection, section);
    const before = await readCounter(section, port);
    await announce("stopping");
    process.kill(process.pid, "SIGSTOP");
    const told = connection.isHeld?.(handle) === false;
    writes += await write(connection, section, port, handle, before + 1);
    return { writes, told, ...(await reportOf(() => connection.release(handle))) };
  },

  /** Section after section, until it is to finish. */
  async countOn(connection, /** @type {Section} */ section, { port }) {
    finishing = false;
    let writes = 0;
    while (!finishing) writes += await count(connection, section, port);
    return writes;
  },

  async finish() {
    finishing = true;
  },

  read: (_, /** @type {Section} */ section, { port }) => readCounter(section, port),
};

/**
 * @param {Connection} connection
 * @param {Section} section
 * @param {number} port
 * @returns {Promise<number>} 1 when it was written
 */
async function count(connection, section, port) {
  const handle = await enter(connection, section);
  const before = await readCounter(section, port);
  const written = await write(connection, section, port, handle, before + 1);
  // One whose lease is over by now, on a slow machine, is what this is about; it is counted as written.
  await reportOf(() => connection.release(handle));
  return written;
}

/**
 * @param {Connection} connection
 * @param {Section} section
 */
function enter(connection, { kind, ttlMs }) {
  return connection.acquire(`lock:${kind}`, { kind, ttlMs });
}

/**
 * @param {Section} section
 * @param {number} port
 */
async function readCounter({ kind }, port) {
  return Number((await resourceAt(port).get(`counter:${kind}`)) ?? 0);
}

/**
 * @param {Connection} connection
 * @param {Section} section
 * @param {number} port
 * @param {unknown} handle
 * @param {number} value
 * @returns {Promise<number>} 1 when it was accepted
 */
async function write(connection, { kind }, port, handle, value) {
  const key = `counter:${kind}`;
  if (kind === "plain") {
    await resourceAt(port).set(key, value);
    return 1;
  }
  const token = String(connection.token?.(handle));
  return Number(await resourceAt(port).eval(WRITE_WITH_TOKEN, 2, key, `${key}:token`, value, token));
}

/** @param {number} port */
function resourceAt(port) {
  resource ??= new Redis({ host: "127.0.0.1", port });
  return resource;
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
