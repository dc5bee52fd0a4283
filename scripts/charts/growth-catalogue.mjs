// @ts-check

/**
 * One metric over scenarios of bench/scenarios that differ in the number of clients alone, with a line for each library.
 *
 * @typedef {object} GrowthChart
 * @property {string} name of its files
 * @property {string} title
 * @property {readonly Step[]} steps
 * @property {string} metric
 * @property {string} measure what is shown
 * @property {"more" | "less"} better
 * @property {"linear" | "log"} scale log: where values differ by powers of ten
 */

/** @typedef {{ readonly scenario: string, readonly clients: number }} Step */

/** @type {readonly Step[]} */
const hotLock = [8, 32, 128, 400].map((clients) => ({ scenario: `hot-lock-${clients}`, clients }));

/** @type {readonly GrowthChart[]} */
export const growthCharts = [
  {
    name: "hot-lock-commands",
    title: "One lock for a fleet: commands",
    steps: hotLock,
    metric: "commandsEach",
    measure: "Commands for each acquisition",
    better: "less",
    scale: "log",
  },
  {
    name: "hot-lock-speed",
    title: "One lock for a fleet: speed",
    steps: hotLock,
    metric: "toFew",
    measure: "Acquisitions/s, to those of 8 of the clients",
    better: "more",
    scale: "log",
  },
  {
    name: "hot-lock-fairness",
    title: "One lock for a fleet: fairness",
    steps: hotLock,
    metric: "jain",
    measure: "Jain's index over the clients",
    better: "more",
    scale: "linear",
  },
];
