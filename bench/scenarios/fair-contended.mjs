import { crowdColumns } from "../support/columns.mjs";
import { waitingWithoutVariants } from "../support/contestants.mjs";
import { crowdOrders, measureCrowd } from "../support/crowd.mjs";

/** @import { Scenario } from "../support/contracts.js" */

/** @type {Scenario} */
export const fairContended = {
  name: "fair-contended",
  title: "4 processes with 8 tasks each on one fair lock",
  about: "No peer has a fair lock.",
  columns: crowdColumns,
  tries: "fairness",
  contestants: (libraries) =>
    waitingWithoutVariants(libraries).filter(({ claims }) => claims.kinds.includes("fair")),
  measure: (stage, size) =>
    measureCrowd(stage, size, { processes: 4, tasks: 8, locks: "one", kinds: ["fair"] }),
  orders: crowdOrders,
};
