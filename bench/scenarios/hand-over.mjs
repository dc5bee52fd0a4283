import { waiting } from "../support/contestants.mjs";
import { handOverColumns, handOverOrders, measureHandOver } from "../support/hand-over.mjs";

/** @import { Scenario } from "../support/contracts.js" */

/** @type {Scenario} */
export const handOver = {
  name: "hand-over",
  title: "Hand-over of a plain lock between two processes",
  about:
    "From the call of the release in one process to the return of the acquisition in the other, which has waited for tens of milliseconds.",
  columns: handOverColumns,
  tries: "waiting",
  contestants: waiting,
  measure: (stage, size) => measureHandOver(stage, size, "plain"),
  orders: handOverOrders,
};
