import { waitingWithoutVariants } from "../support/contestants.mjs";
import { measureRenewing, renewingColumns, renewingOrders } from "../support/renewing.mjs";

/** @import { Scenario } from "../support/contracts.js" */

const LOAD = { locks: 5_000, renewEachMs: 1_000 };
const QUICK_LOAD = { locks: 100, renewEachMs: 200 };

/** @type {Scenario} */
export const renewingThousands = {
  name: "renewing-5000",
  title: "5,000 held locks renewed each second",
  about: "One process keeps them. redlock-universal renews at the earliest after 1,040 ms.",
  columns: renewingColumns,
  tries: "renewing",
  contestants: (libraries) => waitingWithoutVariants(libraries).filter(({ claims }) => claims.renews),
  measure: (stage, { quick }) => measureRenewing(stage, quick ? QUICK_LOAD : LOAD),
  orders: renewingOrders,
};
