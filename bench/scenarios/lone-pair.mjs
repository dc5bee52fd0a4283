import { rawHash, rawHashNodeRedis } from "../libraries/raw-hash.mjs";
import { rawIoredis } from "../libraries/raw-ioredis.mjs";
import { rawNodeRedis } from "../libraries/raw-node-redis.mjs";
import { alternatingOrders } from "../support/batches.mjs";

/** @import { Done, Library, Scenario } from "../support/contracts.js" */
/** @import { Alternated } from "../support/batches.mjs" */

/**
 * What the same client is measured with, by the package that it is of.
 *
 * @type {Readonly<Record<string, readonly [Library, Library]>>}
 */
const OTHERS = { ioredis: [rawIoredis, rawHash], redis: [rawNodeRedis, rawHashNodeRedis] };

/** @param {readonly string[]} packages */
function othersFor(packages) {
  return packages.flatMap((name) => OTHERS[name] ?? []);
}

/** @type {Scenario} */
export const lonePair = {
  name: "lone-pair",
  title: "One task with one lock, in alternating batches",
  about:
    "One process does 100 pairs with holdfast, then as many with the raw pair (`SET NX PX`, compare and delete) and with two scripts that only store and free the hash, each on a connection of its own, and so on in turn. The ratios are medians over such rounds: they say what one uncontended pair costs, whatever else the machine does.",
  columns: [
    { metric: "perSecond", heading: "lock + unlock, pairs/s" },
    { metric: "rawPerSecond", heading: "the raw pair" },
    { metric: "hashPerSecond", heading: "two scripts that store and free" },
    { metric: "toRaw", heading: "to the raw pair", digits: 3 },
    { metric: "toHash", heading: "to the two scripts", digits: 3 },
  ],
  tries: "acquiring",
  contestants: (libraries) =>
    libraries.filter(
      ({ role, variant, packages }) =>
        role === "ours" && variant !== "lease" && variant !== "kind" && othersFor(packages).length > 0,
    ),

  async measure(stage, { quick, forMs }, { packages }) {
    const worker = await stage.worker();
    const { value } = /** @type {Done<Alternated>} */ (
      await worker.order("alternate", { forMs, quick, packages })
    );
    const [perSecond, rawPerSecond, hashPerSecond] = value.perSecond;
    const [toRaw, toHash] = value.ratios;
    return definite({ perSecond, rawPerSecond, hashPerSecond, toRaw, toHash });
  },

  orders: alternatingOrders(othersFor),
};

/**
 * @param {Record<string, number | undefined>} metrics
 * @returns {Record<string, number>}
 */
function definite(metrics) {
  return Object.fromEntries(Object.entries(metrics).map(([name, value = Number.NaN]) => [name, value]));
}
