import { crowdColumns } from "../support/columns.mjs";
import { waitingWithoutVariants } from "../support/contestants.mjs";
import { crowdOrders, measureCrowd } from "../support/crowd.mjs";

/** @type {import("../support/contracts.js").Scenario} */
export const fairContended = {
  name: "fair-contended",
  title: "4 processes with 8 tasks each on one fair lock",
  about: "No peer has a fair lock.",
  columns: crowdColumns,
  contestants: (libraries) =>
    waitingWithoutVariants(libraries).filter(({ claims }) => claims.kinds.includes("fair")),
  measure: (stage, size) =>
    measureCrowd(stage, size, { processes: 4, tasks: 8, locks: "one", kinds: ["fair"] }),
  orders: crowdOrders,
};
