import { waitingWithoutVariants } from "../support/contestants.mjs";
import { measureRenewing, renewingColumns, renewingOrders } from "../support/renewing.mjs";

/** @import { Scenario } from "../support/contracts.js" */

/** Ten thousand renewals in a second are what all can do. */
const LOAD = { locks: 50_000, renewEachMs: 5_000 };
const QUICK_LOAD = { locks: 500, renewEachMs: 200 };

/** @type {Scenario} */
export const renewingTensOfThousands = {
  name: "renewing-50000",
  title: "50,000 held locks renewed each five seconds",
  about: "One process keeps them.",
  columns: renewingColumns,
  tries: "renewing",
  contestants: (libraries) => waitingWithoutVariants(libraries).filter(({ claims }) => claims.renews),
  measure: (stage, { quick }) => measureRenewing(stage, quick ? QUICK_LOAD : LOAD),
  orders: renewingOrders,
};
