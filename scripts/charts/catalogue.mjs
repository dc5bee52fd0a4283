// @ts-check

/**
 * What the median of each library is divided by: that of a library, or that of the peer which has the most or least of a metric.
 *
 * @typedef {{ readonly library: string } | { readonly peerWith: "most" | "least", readonly of: string }} Reference
 */

/**
 * One metric of one scenario of bench/scenarios.
 *
 * @typedef {object} Chart
 * @property {string} name of its files
 * @property {string} title
 * @property {string} scenario
 * @property {string} metric
 * @property {string} measure what the metric is
 * @property {string} unit of the metric; a ratio has none
 * @property {Reference} [to] the chart shows ratios to this. Default: it shows the metric itself
 * @property {"more" | "less"} better
 * @property {true} [loops] a round is a loop that lasts as long as `--seconds` says
 * @property {"linear" | "log"} scale log: where values differ by powers of ten
 * @property {Beside} [beside]
 */

/**
 * Another metric, which a reader needs in order to judge the first: written beside it.
 *
 * @typedef {object} Beside
 * @property {string} metric
 * @property {"median" | "sum"} take of the rounds
 * @property {string} text with {} for the figure
 * @property {number} [digits] after the point. Default: 0
 */

/** @type {Beside} */
const jainIndex = { metric: "jain", take: "median", text: "Jain {}", digits: 2 };
/** @type {Beside} */
const lost = { metric: "lost", take: "sum", text: "{} lost" };
/** @type {Beside} */
const handOvers = { metric: "handOvers", take: "sum", text: "{} samples" };

/**
 * The main results of the bench, in the order of its scenarios.
 *
 * @type {readonly Chart[]}
 */
export const charts = [
  {
    name: "one-at-a-time",
    title: "One lock at a time",
    scenario: "one-at-a-time",
    metric: "perSecond",
    measure: "Pairs of lock and unlock in a second",
    unit: "pairs/s",
    to: { library: "raw-ioredis" },
    better: "more",
    loops: true,
    scale: "linear",
  },
  {
    name: "256-at-once",
    title: "256 locks at once",
    scenario: "256-at-once",
    metric: "perSecond",
    measure: "Pairs of lock and unlock in a second",
    unit: "pairs/s",
    to: { library: "raw-ioredis" },
    better: "more",
    loops: true,
    scale: "linear",
  },
  {
    name: "64-tasks",
    title: "64 tasks of one process, one lock",
    scenario: "64-tasks",
    metric: "perSecond",
    measure: "Acquisitions in a second",
    unit: "acquisitions/s",
    to: { peerWith: "most", of: "perSecond" },
    better: "more",
    loops: true,
    scale: "linear",
    beside: jainIndex,
  },
  {
    name: "64-tasks-commands",
    title: "64 tasks, one lock: commands",
    scenario: "64-tasks",
    metric: "commandsEach",
    measure: "Commands for each acquisition",
    unit: "commands",
    better: "less",
    loops: true,
    scale: "log",
  },
  {
    name: "4-processes",
    title: "4 processes, 32 tasks, one lock",
    scenario: "4-processes",
    metric: "perSecond",
    measure: "Acquisitions in a second",
    unit: "acquisitions/s",
    to: { peerWith: "most", of: "perSecond" },
    better: "more",
    loops: true,
    scale: "linear",
    beside: jainIndex,
  },
  {
    name: "4-processes-waits",
    title: "4 processes, 32 tasks: long waits",
    scenario: "4-processes",
    metric: "p99Us",
    measure: "99th percentile of the waits",
    unit: "µs",
    to: { peerWith: "most", of: "perSecond" },
    better: "less",
    loops: true,
    scale: "log",
    beside: { metric: "served", take: "median", text: "{} served" },
  },
  {
    name: "hand-over",
    title: "Hand-over between two processes",
    scenario: "hand-over",
    metric: "p50Us",
    measure: "Time from release to acquisition, median",
    unit: "µs",
    to: { library: "node-redisson" },
    better: "less",
    loops: true,
    scale: "log",
    beside: handOvers,
  },
  {
    name: "hand-over-fair",
    title: "Hand-over of a fair lock",
    scenario: "hand-over-fair",
    metric: "p50Us",
    measure: "Time from release to acquisition, median",
    unit: "µs",
    to: { library: "grant-probe" },
    better: "less",
    loops: true,
    scale: "linear",
    beside: handOvers,
  },
  {
    name: "idle-waiters",
    title: "200 tasks wait for one lock",
    scenario: "idle-waiters",
    metric: "commandsPerSecond",
    measure: "Commands in a second, of all together",
    unit: "commands/s",
    better: "less",
    scale: "log",
  },
  {
    name: "renewing-commands",
    title: "5,000 locks renewed: commands",
    scenario: "renewing-5000",
    metric: "commandsPerSecond",
    measure: "Commands in a second, for all together",
    unit: "commands/s",
    better: "less",
    scale: "log",
    // Who does not renew in time sends few commands.
    beside: lost,
  },
  {
    name: "renewing-cpu",
    title: "5,000 locks renewed: client time",
    scenario: "renewing-5000",
    metric: "clientCpuPercent",
    measure: "Processor time of the client",
    unit: "%",
    to: { peerWith: "least", of: "clientCpuPercent" },
    better: "less",
    scale: "linear",
    beside: lost,
  },
  {
    name: "memory",
    title: "Memory of a held lock",
    scenario: "memory",
    metric: "renewedBytes",
    measure: "Heap of the client for each renewed lock",
    unit: "bytes",
    better: "less",
    scale: "linear",
  },
];
