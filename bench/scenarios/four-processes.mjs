import { crowdColumns } from "../support/columns.mjs";
import { waiting } from "../support/contestants.mjs";
import { crowdOrders, measureCrowd } from "../support/crowd.mjs";

/** @import { Scenario } from "../support/contracts.js" */

/** @type {Scenario} */
export const fourProcesses = {
  name: "4-processes",
  title: "4 processes with 8 tasks each on one lock",
  about: "As the one above; the index and the waits are those of all 32 tasks.",
  columns: crowdColumns,
  tries: "waiting",
  contestants: waiting,
  measure: (stage, size) => measureCrowd(stage, size, { processes: 4, tasks: 8, locks: "one" }),
  orders: crowdOrders,
};
