import { crowdColumns } from "../support/columns.mjs";
import { waiting } from "../support/contestants.mjs";
import { crowdOrders, measureCrowd } from "../support/crowd.mjs";

/** @import { Scenario } from "../support/contracts.js" */

/** @type {Scenario} */
export const oneProcess = {
  name: "64-tasks",
  title: "64 tasks of one process on one lock",
  about:
    "Each takes the lock and releases it at once, in a loop. Waits that had not ended count with what they have lasted. A library that polls looks fast where the task that has released takes the lock again: the index says so.",
  columns: crowdColumns,
  tries: "waiting",
  contestants: waiting,
  measure: (stage, size) => measureCrowd(stage, size, { processes: 1, tasks: 64, locks: "one" }),
  orders: crowdOrders,
};
