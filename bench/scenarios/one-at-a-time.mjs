import { pairColumns } from "../support/columns.mjs";
import { uncontended } from "../support/contestants.mjs";
import { crowdOrders, measureCrowd } from "../support/crowd.mjs";

/** @import { Scenario } from "../support/contracts.js" */

/** @type {Scenario} */
export const oneAtATime = {
  name: "one-at-a-time",
  title: "Uncontended, one at a time",
  about: "One task takes one lock and releases it, in a loop.",
  columns: pairColumns,
  tries: "acquiring",
  contestants: uncontended,
  measure: (stage, size) => measureCrowd(stage, size, { processes: 1, tasks: 1, locks: "one" }),
  orders: crowdOrders,
};
