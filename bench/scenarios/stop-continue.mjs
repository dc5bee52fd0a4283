import { setTimeout as sleep } from "node:timers/promises";
import { counterOrders } from "../support/counter.mjs";
import { redisServer } from "../support/redis-server.mjs";

/** @import { Done, Scenario, Size, Stage } from "../support/contracts.js" */
/** @import { Stopped } from "../support/counter.mjs" */

const PROCESSES = 4;
const QUICK_PROCESSES = 2;
const TTL_MS = 1_000;
const QUICK_TTL_MS = 400;
/** So many times its lease the holder stands still. */
const STANDS_STILL = 1.5;
const RENEWALS_PER_LEASE = 3;
/** A command on a busy machine. */
const AT_ONCE_MS = 50;
/** The others go on for so long when it has written and released. */
const AFTERWARDS_MS = 500;
const QUICK_AFTERWARDS_MS = 100;

/** @type {Scenario} */
export const stopContinue = {
  name: "stop-continue",
  title: "A holder is stopped past its lease, and goes on",
  about: `${PROCESSES} processes add to a counter, which they read and write within the lock; one is stopped (SIGSTOP) between the two for ${STANDS_STILL} times its lease. Told: the next line that looks at the lease sees that it is lost. It writes all the same, as a holder does that does not look. Lost are all writes of the others meanwhile, or its own, when one of them was about to write as well.`,
  columns: [
    { metric: "told", heading: "told on the next line" },
    { metric: "release", heading: "what its release reports" },
    { metric: "releaseMs", heading: "after ms", digits: 1 },
    { metric: "meanwhile", heading: "writes in all" },
    { metric: "lost", heading: "updates lost" },
    { metric: "lostWithToken", heading: "with the token checked at the resource" },
  ],
  tries: "losing",
  contestants: (libraries) =>
    libraries.filter(
      ({ role, server, claims, variant, elsewhere }) =>
        claims.waits &&
        !elsewhere &&
        role !== "raw" &&
        // Where the counter is.
        server === redisServer &&
        (variant === undefined || variant === "lease"),
    ),

  async measure(stage, size, { claims }) {
    const plain = await countTogether(stage, size, "plain");
    if (!claims.kinds.includes("fenced")) return plain;
    const { told, lost } = await countTogether(stage, size, "fenced");
    return { ...plain, told: Math.min(plain.told, told), lostWithToken: lost };
  },

  orders: counterOrders,
};

/**
 * @param {Stage} stage
 * @param {Size} size
 * @param {"plain" | "fenced"} kind
 */
async function countTogether(stage, { quick }, kind) {
  const ttlMs = quick ? QUICK_TTL_MS : TTL_MS;
  const renewEachMs = Math.floor(ttlMs / RENEWALS_PER_LEASE);
  const length = (quick ? QUICK_PROCESSES : PROCESSES) - 1;
  const [victim, ...others] = await Promise.all([
    stage.worker({ renewEachMs }),
    ...Array.from({ length }, () => stage.worker({ renewEachMs })),
  ]);

  const standsStill = victim.announced("stopping");
  const stopping = /** @type {Promise<Done<Stopped>>} */ (victim.order("countAndStop", { kind, ttlMs }));
  const counting = others.map(
    (worker) => /** @type {Promise<Done<number>>} */ (worker.order("countOn", { kind, ttlMs })),
  );
  await Promise.race([standsStill, stopping]);
  await sleep(ttlMs * STANDS_STILL);
  process.kill(victim.pid, "SIGCONT");
  const { value: stopped } = await stopping;
  await sleep(quick ? QUICK_AFTERWARDS_MS : AFTERWARDS_MS);
  for (const worker of others) await worker.order("finish");

  const written = (await Promise.all(counting)).reduce((sum, { value }) => sum + value, stopped.writes);
  const { value: counted } = /** @type {Done<number>} */ (await victim.order("read", { kind }));
  await Promise.all([victim, ...others].map((worker) => worker.stop()));
  return {
    told: stopped.told ? 1 : 0,
    release: stopped.release,
    releaseMs: stopped.releaseMs,
    reportedAtOnce: stopped.reported && stopped.releaseMs <= AT_ONCE_MS ? 1 : 0,
    meanwhile: written,
    lost: written - counted,
  };
}
