import { handOverColumns, handOverOrders, measureHandOver } from "../support/hand-over.mjs";

/** @import { Scenario } from "../support/contracts.js" */

/** @type {Scenario} */
export const handOverFair = {
  name: "hand-over-fair",
  title: "Hand-over of a fair lock between two processes",
  about:
    "As above. grant-probe is a sketch without safety: a script that writes the next holder and publishes, a subscriber that hears of it. No peer has a fair lock.",
  columns: handOverColumns,
  tries: "fairness",
  contestants: (libraries) =>
    libraries.filter(
      ({ claims, variant }) => claims.kinds.includes("fair") && variant !== "lease" && variant !== "kind",
    ),
  measure: (stage, size) => measureHandOver(stage, size, "fair"),
  orders: handOverOrders,
};
