import { pairColumns } from "../support/columns.mjs";
import { uncontended } from "../support/contestants.mjs";
import { crowdOrders, measureCrowd } from "../support/crowd.mjs";

/** @import { Scenario } from "../support/contracts.js" */

/** @type {Scenario} */
export const manyAtOnce = {
  name: "256-at-once",
  title: "Uncontended, 256 at once",
  about: "256 tasks of one process, each with a lock of its own, which it takes and releases in a loop.",
  columns: pairColumns,
  tries: "acquiring",
  contestants: uncontended,
  measure: (stage, size) => measureCrowd(stage, size, { processes: 1, tasks: 256, locks: "each" }),
  orders: crowdOrders,
};
