import { setTimeout as sleep } from "node:timers/promises";
import { Histogram } from "./histogram.mjs";

/** @import { Connection, Kind, TaskPlan, TaskReport } from "./contracts.js" */

/** What the last call has left running. */
let loops = Promise.resolve(/** @type {unknown} */ (undefined));

/**
 * Tasks that take locks and release them, each in a loop, until the time is over. Those that still wait then are left
 * waiting: their waits count with what they have lasted.
 *
 * @param {Connection} connection
 * @param {TaskPlan} plan
 * @returns {Promise<TaskReport>}
 */
export async function doTasks(connection, plan) {
  if (connection.doTasks !== undefined) return connection.doTasks(plan);
  const waits = new Histogram();
  const counts = /** @type {number[]} */ (new Array(plan.tasks).fill(0));
  /** @type {Map<number, number>} since when a task waits */
  const waiting = new Map();
  const inside = new Inside();
  const startMs = performance.now();
  const endMs = startMs + plan.forMs;

  /** @param {number} task */
  async function loop(task) {
    const name = plan.locks === "one" ? "lock" : `lock:${task}`;
    for (let turn = task; performance.now() < endMs; turn += 1) {
      const kind = plan.kinds[turn % plan.kinds.length] ?? "plain";
      const askedMs = performance.now();
      waiting.set(task, askedMs);
      const handle = await connection.acquire(name, { ttlMs: plan.ttlMs, kind });
      waits.add((performance.now() - askedMs) * 1_000);
      waiting.delete(task);
      counts[task] = (counts[task] ?? 0) + 1;
      inside.enter(name, kind);
      if (plan.holdMs > 0) await sleep(plan.holdMs);
      inside.leave(name, kind);
      await connection.release(handle);
    }
  }

  loops = Promise.all(counts.map((_, task) => loop(task)));
  // On a slow machine a short time may be over before anybody has had a lock.
  await Promise.race([loops, Promise.all([sleep(plan.forMs), inside.entered])]);
  const nowMs = performance.now();
  for (const askedMs of waiting.values()) waits.add((nowMs - askedMs) * 1_000);
  return { tookMs: nowMs - startMs, counts: [...counts], waits: waits.counts };
}

/**
 * Waits until those that were left waiting have had their locks.
 *
 * @param {Connection} _
 * @param {{ atMostMs: number }} options
 */
export async function drain(_, { atMostMs }) {
  await Promise.race([loops, sleep(atMostMs)]);
}

/** What is measured must at least be a lock among the tasks of one process. */
class Inside {
  /** Resolves when somebody is. */
  entered;
  #enteredNow = () => {};
  /** @type {Map<string, number>} how many readers, or -1 for another holder */
  #holders = new Map();

  constructor() {
    this.entered = new Promise((resolve) => {
      this.#enteredNow = () => resolve(undefined);
    });
  }

  /**
   * @param {string} name
   * @param {Kind} kind
   */
  enter(name, kind) {
    const holders = this.#holders.get(name) ?? 0;
    if (kind === "read" ? holders < 0 : holders !== 0) throw new Error(`two holders of ${name}`);
    this.#holders.set(name, kind === "read" ? holders + 1 : -1);
    this.#enteredNow();
  }

  /**
   * @param {string} name
   * @param {Kind} kind
   */
  leave(name, kind) {
    this.#holders.set(name, kind === "read" ? (this.#holders.get(name) ?? 0) - 1 : 0);
  }
}
