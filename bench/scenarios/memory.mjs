import { setTimeout as sleep } from "node:timers/promises";
import { waitingHere } from "../support/contestants.mjs";

/** @import { Connection, Done, Scenario, Worker } from "../support/contracts.js" */

/** The difference of two sizes: what a client takes whatever it holds cancels out. */
const HELD = { few: 2_000, many: 12_000 };
const QUICK_HELD = { few: 200, many: 1_200 };
/** Fewer, because some peers ask for each of them a hundred times in a second. */
const WAITING = { few: 100, many: 600 };
const QUICK_WAITING = { few: 20, many: 120 };
const AT_ONCE = 200;
const TTL_MS = 600_000;
/** Until timers and connections have come to rest. */
const SETTLE_MS = 300;
const QUICK_SETTLE_MS = 20;

/** @typedef {{ few: number, many: number }} Sizes */

/** @type {Scenario} */
export const memory = {
  name: "memory",
  title: "Memory of held locks and of waiters",
  about:
    "Heap of the client after a garbage collection, for each lock (with its name and its handle) and each waiter of one lock.",
  columns: [
    { metric: "fixedBytes", heading: "bytes per held lock: fixed lease" },
    { metric: "renewedBytes", heading: "renewed" },
    { metric: "waiterBytes", heading: "bytes per waiter" },
  ],
  tries: "waiting",
  contestants: (libraries) => waitingHere(libraries).filter(({ variant }) => variant === undefined),

  async measure(stage, { quick }, { claims }) {
    const held = quick ? QUICK_HELD : HELD;
    const waiting = quick ? QUICK_WAITING : WAITING;
    const settleMs = quick ? QUICK_SETTLE_MS : SETTLE_MS;

    // One would leave to the next what it has once needed.
    const inItsOwnProcess = async (/** @type {Sizes} */ sizes, /** @type {object} */ options) => {
      const worker = await stage.worker();
      const done = /** @type {Done<number>} */ (
        await worker.order("bytesEach", { ...sizes, ...options, settleMs })
      );
      await worker.stop();
      return done.value;
    };

    const holder = await stage.worker();
    await holder.order("hold");
    return {
      fixedBytes: await inItsOwnProcess(held, { prefix: "fixed", ttlMs: TTL_MS }),
      ...(claims.renews ? { renewedBytes: await inItsOwnProcess(held, { prefix: "renewed" }) } : {}),
      waiterBytes: await inItsOwnProcess(waiting, { name: "lock", ttlMs: TTL_MS }),
    };
  },

  orders: {
    async hold(connection) {
      await connection.acquire("lock", { ttlMs: TTL_MS });
    },

    bytesEach,
  },
};

/**
 * With a name: of each who waits for that lock. With a prefix: of each lock that is held.
 *
 * @param {Connection} connection
 * @param {Sizes & { name?: string, prefix?: string, ttlMs?: number, settleMs: number }} options
 */
async function bytesEach(connection, { few, many, name, prefix, settleMs, ...lease }) {
  /** @type {unknown[]} */
  const kept = new Array(many).fill(undefined);

  /** @type {(from: number, to: number) => Promise<number>} */
  async function heapWith(from, to) {
    for (let first = from; first < to; first += AT_ONCE) {
      const some = Array.from({ length: Math.min(AT_ONCE, to - first) }, (_, i) =>
        connection.acquire(name ?? `${prefix}:${first + i}`, lease),
      );
      const handles = name === undefined ? await Promise.all(some) : some;
      handles.forEach((handle, i) => {
        kept[first + i] = handle;
      });
    }
    await sleep(settleMs);
    globalThis.gc?.();
    await sleep(settleMs);
    globalThis.gc?.();
    return process.memoryUsage().heapUsed;
  }

  const fewBytes = await heapWith(0, few);
  const manyBytes = await heapWith(few, many);
  // Read once more, so that they are kept until here.
  return kept.length === many ? (manyBytes - fewBytes) / (many - few) : Number.NaN;
}
