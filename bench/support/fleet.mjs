import { setTimeout as sleep } from "node:timers/promises";
import { Histogram } from "./histogram.mjs";

/** @import { Connection, Done, OpenSettings, Scenario, Stage, Worker, WorkerSelf } from "./contracts.js" */

/** So many connect at a time: a server accepts no more at once. */
const AT_ONCE = 50;
const PROCESSES = 4;
const NAME = "lock";
/** A client that sleeps through a message gets the lock when this is over. */
const TTL_MS = 3_000;

/** @typedef {{ counts: readonly number[], waits: readonly number[] }} FleetReport */

/**
 * Clients of the library, each with a connection of its own, spread evenly over processes. Ends when all have used it.
 *
 * @param {Stage} stage
 * @param {number} clients
 * @param {Partial<OpenSettings>} [settings]
 * @returns {Promise<readonly Worker[]>}
 */
export async function startFleet(stage, clients, settings = {}) {
  const length = Math.min(PROCESSES, clients);
  const workers = await Promise.all(Array.from({ length }, () => stage.worker(settings)));
  await Promise.all(
    workers.map((worker, i) =>
      worker.order("open", { clients: Math.floor((clients + i) / length), process: i }),
    ),
  );
  return workers;
}

/**
 * @template T
 * @param {readonly Worker[]} workers
 * @param {string} order
 * @param {object} [options]
 * @returns {Promise<readonly T[]>}
 */
export async function orderAll(workers, order, options = {}) {
  const all = await Promise.all(
    workers.map((worker) => /** @type {Promise<Done<T>>} */ (worker.order(order, options))),
  );
  return all.map(({ value }) => value);
}

/**
 * @typedef {object} Member
 * @property {Connection} connection
 * @property {number} count how often it has had the lock
 * @property {Histogram} waits
 * @property {number | undefined} [askedMs] since when it waits
 * @property {Promise<void> | undefined} [coming] until it comes back no more
 */

/** @type {Member[]} the clients of this process */
const fleet = [];

/** So many of them come back to the lock, the first ones. */
let wanted = 0;

/** @type {unknown[]} a lock that nobody keeps may be collected */
const held = [];

let isInside = false;

/** @type {Promise<string>} when a client of this process had the lock */
let firstIn;

/** @type {Scenario["orders"]} */
export const fleetOrders = {
  /**
   * @param {Connection} _
   * @param {{ clients: number, process: number }} options
   * @param {WorkerSelf} worker
   */
  async open(_, { clients, process }, { open }) {
    for (let first = 0; first < clients; first += AT_ONCE) {
      const length = Math.min(AT_ONCE, clients - first);
      const some = await Promise.all(Array.from({ length }, open));
      // Their first command connects them, and loads their scripts.
      await Promise.all(
        some.map(async (connection, i) => {
          await connection.release(
            await connection.acquire(`own:${process}:${first + i}`, { ttlMs: TTL_MS }),
          );
        }),
      );
      fleet.push(...some.map((connection) => ({ connection, count: 0, waits: new Histogram() })));
    }
  },

  /**
   * So many clients take the lock, release it and come back, again and again. The others have had it a last time when this
   * ends, unless they wait for longer than `atMostMs`.
   *
   * @param {Connection} _
   * @param {{ clients: number, atMostMs: number }} options
   */
  async contend(_, { clients, atMostMs }) {
    wanted = clients;
    for (const [i, member] of fleet.entries()) if (i < wanted) member.coming ??= comeBack(member, i);
    const leaving = fleet.flatMap(({ coming }, i) => (i < wanted || coming === undefined ? [] : [coming]));
    await Promise.race([Promise.all(leaving), sleep(atMostMs)]);
  },

  /**
   * What those that come back get from now on. A wait that has not ended counts with what it has lasted.
   *
   * @param {Connection} _
   * @param {{ ms: number }} options
   * @returns {Promise<FleetReport>}
   */
  async count(_, { ms }) {
    const counted = fleet.slice(0, wanted);
    const before = counted.map(({ count }) => count);
    for (const member of counted) member.waits = new Histogram();
    await sleep(ms);
    const nowMs = performance.now();
    const waits = new Histogram();
    for (const member of counted) {
      waits.addAll(member.waits.counts);
      if (member.askedMs !== undefined) waits.add((nowMs - member.askedMs) * 1_000);
    }
    return { counts: counted.map(({ count }, i) => count - (before[i] ?? 0)), waits: waits.counts };
  },

  /** Takes the lock, and keeps it. */
  async hold(connection, /** @type {{ ttlMs: number }} */ { ttlMs }) {
    await connection.acquire(NAME, { ttlMs });
  },

  /**
   * All clients begin to wait, evenly within `spreadMs`; the first that is in keeps the lock.
   *
   * @param {Connection} _
   * @param {{ ttlMs: number, spreadMs: number }} options
   */
  async wait(_, { ttlMs, spreadMs }) {
    firstIn = Promise.race(
      fleet.map(async ({ connection }, i) => {
        await sleep((spreadMs * i) / fleet.length);
        await connection.acquire(NAME, { ttlMs });
        return `${process.hrtime.bigint()}`;
      }),
    );
  },

  /**
   * Each client takes so many locks of its own, and keeps them, renewed.
   *
   * @param {Connection} _
   * @param {{ locks: number, process: number }} options
   */
  async holdMany(_, { locks, process }) {
    for (const [client, { connection }] of fleet.entries()) {
      const names = Array.from({ length: locks }, (_unused, i) => `held:${process}:${client}:${i}`);
      held.push(...(await Promise.all(names.map((name) => connection.acquire(name, {})))));
    }
  },

  /** @param {Connection} _ @param {{ ms: number }} options */
  idle: (_, { ms }) => sleep(ms),

  /**
   * @returns {Promise<string | undefined>} when a client of this process was in, by `process.hrtime.bigint()`
   */
  firstIn: (_, /** @type {{ withinMs: number }} */ { withinMs }) =>
    Promise.race([firstIn, sleep(withinMs).then(() => undefined)]),
};

/**
 * @param {Member} member
 * @param {number} i its place in the fleet
 */
async function comeBack(member, i) {
  while (i < wanted) {
    member.askedMs = performance.now();
    const handle = await member.connection.acquire(NAME, { ttlMs: TTL_MS });
    member.waits.add((performance.now() - member.askedMs) * 1_000);
    member.askedMs = undefined;
    member.count += 1;
    if (isInside) throw new Error(`two holders of ${NAME}`);
    isInside = true;
    await Promise.resolve();
    isInside = false;
    await member.connection.release(handle);
  }
  member.coming = undefined;
}
