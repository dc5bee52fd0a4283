import { isBuilt, newest } from "../../scripts/redisson.mjs";
import { Histogram } from "../support/histogram.mjs";
import { Jvm } from "../support/jvm.mjs";
import { redisServer } from "../support/redis-server.mjs";

/** @import { Kind, Library } from "../support/contracts.js" */

/** @typedef {{ thread: string, kind: string, name: string, ns: number }} Taken */

/**
 * Redisson itself, in a JVM of its own for each worker, by the program of interop/.
 *
 * @type {Library}
 */
export const redisson = {
  name: "redisson-jvm",
  role: "other",
  server: redisServer,
  packages: [],
  version: `Redisson ${newest}`,
  claims: { kinds: ["fair", "read", "write"], waits: true, renews: false },
  elsewhere: true,
  obstacle: () => (isBuilt(newest) ? undefined : "it is not built (node scripts/redisson.mjs)"),

  async open({ port }) {
    const jvm = new Jvm(newest);
    const client = "bench";
    const addresses = [`redis://127.0.0.1:${port}`];
    await jvm.order("connect", { client, addresses, defaults: true });
    let threads = 0;
    return {
      /** @returns {Promise<Taken>} */
      async acquire(name, { ttlMs = 30_000, kind = "plain" }) {
        threads += 1;
        const lock = { thread: `thread-${threads}`, kind: kindOf(kind), name };
        const { endedNs } = await jvm.order("lock", { client, ...lock, leaseMs: ttlMs });
        return { ...lock, ns: endedNs };
      },

      async release(/** @type {Taken} */ { thread, kind, name }) {
        const { startedNs } = await jvm.order("unlock", { client, thread, kind, name });
        return { ns: startedNs };
      },

      momentOf: (/** @type {{ ns: number }} */ { ns }) => BigInt(ns),

      async doTasks({ kinds, ...plan }) {
        const { value } = await jvm.order("measure", { client, ...plan, kinds: kinds.map(kindOf) });
        const waitsUs = /** @type {number[][]} */ (value.waitsUs);
        const waits = new Histogram();
        for (const us of waitsUs.flat()) waits.add(us);
        const counts = waitsUs.map((all) => all.length);
        return { tookMs: value.tookUs / 1_000, counts, waits: waits.counts, cpuUs: value.cpuUs };
      },
    };
  },
};

/** @param {Kind} kind */
function kindOf(kind) {
  return kind === "plain" ? "lock" : kind;
}
