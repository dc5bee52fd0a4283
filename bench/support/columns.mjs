/** @import { Column } from "./contracts.js" */

/** @type {readonly Column[]} */
const costs = [
  { metric: "commandsEach", heading: "commands each", digits: 2 },
  { metric: "clientCpuUs", heading: "client CPU µs each", digits: 1 },
  { metric: "serverCpuUs", heading: "server CPU µs each", digits: 1 },
];

/** @type {readonly Column[]} */
export const pairColumns = [
  { metric: "perSecond", heading: "lock + unlock, pairs/s" },
  { metric: "p50Us", heading: "lock µs, p50" },
  { metric: "p99Us", heading: "p99" },
  ...costs,
];

/** @type {readonly Column[]} */
export const crowdColumns = [
  { metric: "perSecond", heading: "acquisitions/s" },
  { metric: "jain", heading: "Jain index", digits: 2 },
  { metric: "served", heading: "tasks served" },
  { metric: "p50Us", heading: "wait µs, p50" },
  { metric: "p99Us", heading: "p99" },
  ...costs,
];
