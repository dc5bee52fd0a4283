import { median } from "./statistics.mjs";

/** @import { Connection, Library, Scenario, WorkerSelf } from "./contracts.js" */

export const PAIRS_PER_BATCH = 100;
/** Code is optimized by then. */
const WARM_UP_BATCHES = 100;
const QUICK_WARM_UP_BATCHES = 1;

/** @param {boolean} quick */
export function warmUpBatches(quick) {
  return quick ? QUICK_WARM_UP_BATCHES : WARM_UP_BATCHES;
}

/**
 * How many pairs per second each contestant has done, and how ours is to each other one: medians over all rounds.
 *
 * @typedef {object} Alternated
 * @property {readonly number[]} perSecond ours first
 * @property {readonly number[]} ratios ours to each of the others
 */

/** A contestant, and what a batch of it took in each round. */
export class Contestant {
  /** @type {number[]} */
  tookMs = [];
  #connection;
  #lock;

  /**
   * @param {Connection} connection
   * @param {string} lock
   */
  constructor(connection, lock) {
    this.#connection = connection;
    this.#lock = lock;
  }

  /** Takes one lock and releases it, so often as a batch has pairs. @returns {Promise<number>} what that took */
  async batch() {
    const connection = this.#connection;
    const startMs = performance.now();
    for (let pair = 0; pair < PAIRS_PER_BATCH; pair += 1) {
      await connection.release(await connection.acquire(this.#lock, {}));
    }
    return performance.now() - startMs;
  }
}

/**
 * The orders of a scenario that measures batches of several contestants in turn, in one process: what slows the machine
 * down for a while slows all of them down, so that their ratios are steadier than those of processes that run one after the other.
 *
 * @param {(packages: readonly string[]) => readonly Library[]} othersFor contestants beside the worker's own library
 * @returns {Scenario["orders"]}
 */
export function alternatingOrders(othersFor) {
  return {
    /**
     * @param {Connection} connection
     * @param {{ forMs: number, quick: boolean, packages: readonly string[] }} options
     * @param {WorkerSelf} worker
     * @returns {Promise<Alternated>}
     */
    async alternate(connection, { forMs, quick, packages }, { settings }) {
      const others = await Promise.all(othersFor(packages).map((library) => library.open(settings)));
      const contestants = [connection, ...others].map((one, at) => new Contestant(one, `lone-pair-${at}`));
      for (let round = 0; round < warmUpBatches(quick); round += 1) {
        for (const contestant of contestants) await contestant.batch();
      }
      const endMs = performance.now() + forMs;
      for (let round = 0; round === 0 || performance.now() < endMs; round += 1) {
        // Each goes first as often as the others.
        for (let turn = 0; turn < contestants.length; turn += 1) {
          const contestant = contestants[(round + turn) % contestants.length];
          contestant?.tookMs.push(await contestant.batch());
        }
      }
      return summed(contestants.map(({ tookMs }) => tookMs));
    },
  };
}

/**
 * @param {readonly (readonly number[])[]} times of each contestant, by round
 * @returns {Alternated}
 */
function summed(times) {
  const [ours = [], ...others] = times;
  const ratioIn = (/** @type {readonly number[]} */ other) =>
    median(ours.map((ourMs, round) => (other[round] ?? Number.NaN) / ourMs));
  return {
    perSecond: times.map((tookMs) => (PAIRS_PER_BATCH / median(tookMs)) * 1_000),
    ratios: others.map(ratioIn),
  };
}
