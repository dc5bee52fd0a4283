import { crowdColumns } from "../support/columns.mjs";
import { waitingWithoutVariants } from "../support/contestants.mjs";
import { crowdOrders, measureCrowd } from "../support/crowd.mjs";

/** @import { Scenario } from "../support/contracts.js" */

const HOLD_MS = 1;

/** @type {Scenario} */
export const readWrite = {
  name: "read-write",
  title: "4 processes with 8 tasks each on one read-write lock",
  about: `Each fifth hold of a task is a write, and each hold lasts ${HOLD_MS} ms. No peer has a read-write lock.`,
  columns: crowdColumns,
  tries: "waiting",
  contestants: (libraries) =>
    waitingWithoutVariants(libraries).filter(({ claims }) => claims.kinds.includes("write")),
  measure: (stage, size) =>
    measureCrowd(stage, size, {
      processes: 4,
      tasks: 8,
      locks: "one",
      kinds: ["write", "read", "read", "read", "read"],
      holdMs: HOLD_MS,
    }),
  orders: crowdOrders,
};
