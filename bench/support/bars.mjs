import { ratio } from "./look.mjs";

/** @import { Look } from "./look.mjs" */

/**
 * What holdfast is to reach, as ratios of medians of one run on one machine.
 *
 * @typedef {object} Bar
 * @property {string} scenario
 * @property {string} text
 * @property {(look: Look) => number | undefined} measured undefined: not enough was measured
 * @property {number} [atLeast]
 * @property {number} [atMost]
 * @property {number} [digits] of what was measured. Default: 2
 */

/** @type {readonly Bar[]} */
export const bars = [
  ...["ioredis", "node-redis", "glide"].map((client) => ({
    scenario: "one-at-a-time",
    text: `to the raw pair on ${client}, pairs/s`,
    measured: (/** @type {Look} */ { to }) =>
      to(client === "ioredis" ? "holdfast" : `holdfast-${client}`, `raw-${client}`, "perSecond"),
    atLeast: 0.9,
  })),
  {
    scenario: "one-at-a-time",
    text: "to a raw pair of EVALSHA, pairs/s",
    measured: ({ to }) => to("holdfast", "raw-scripts", "perSecond"),
    atLeast: 0.95,
  },
  {
    scenario: "lone-pair",
    text: "to the raw pair",
    measured: ({ ours }) => ours("toRaw"),
    atLeast: 0.85,
  },
  {
    scenario: "lone-pair",
    text: "to two scripts that only store and free the hash",
    measured: ({ ours }) => ours("toHash"),
    atLeast: 0.92,
  },
  {
    scenario: "256-at-once",
    text: "to the raw pair on ioredis, pairs/s",
    measured: ({ to }) => to("holdfast", "raw-ioredis", "perSecond"),
    atLeast: 4,
  },
  {
    scenario: "256-at-once",
    text: "to a client that only sends such groups, pairs/s",
    measured: ({ to }) => to("holdfast", "raw-groups", "perSecond"),
    atLeast: 0.85,
  },
  {
    scenario: "256-at-once",
    text: "to the best peer, pairs/s",
    measured: ({ toBest }) => toBest("perSecond", "most"),
    atLeast: 5,
  },
  {
    scenario: "64-tasks",
    text: "to the best peer, acquisitions/s",
    measured: ({ toBest }) => toBest("perSecond", "most"),
    atLeast: 8,
  },
  {
    scenario: "64-tasks",
    text: "commands each",
    measured: ({ ours }) => ours("commandsEach"),
    atMost: 0.3,
  },
  {
    scenario: "64-tasks",
    text: "tasks served",
    measured: ({ ours }) => ours("served"),
    atLeast: 64,
    digits: 0,
  },
  { scenario: "64-tasks", text: "Jain index", measured: ({ ours }) => ours("jain"), atLeast: 0.98 },
  {
    scenario: "4-processes",
    text: "to the best peer, acquisitions/s",
    measured: ({ toBest }) => toBest("perSecond", "most"),
    atLeast: 5,
  },
  { scenario: "4-processes", text: "Jain index", measured: ({ ours }) => ours("jain"), atLeast: 0.95 },
  {
    scenario: "4-processes",
    text: "to the shortest p99 of a peer's waits",
    measured: ({ toBest }) => toBest("p99Us", "least"),
    atMost: 1,
  },
  {
    scenario: "4-processes",
    // One that starves most of its tasks has short waits to show.
    text: "p99 of waits to that of the best peer",
    measured: ({ toLeader }) => toLeader("p99Us", "perSecond"),
    atMost: 1,
  },
  ...[8, 32, 128, 400].map((clients) => ({
    scenario: `hot-lock-${clients}`,
    text: "commands each",
    measured: (/** @type {Look} */ { ours }) => ours("commandsEach"),
    atMost: 4,
  })),
  ...[8, 32, 128].map((clients) => ({
    scenario: `hot-lock-${clients}`,
    text: "Jain index",
    measured: (/** @type {Look} */ { ours }) => ours("jain"),
    atLeast: 0.95,
  })),
  {
    scenario: "killed-holder",
    text: "commands in the second after the TTL, above those of the second before",
    measured: ({ ours }) => ours("commandsAbove"),
    atMost: 50,
    digits: 0,
  },
  {
    scenario: "killed-holder",
    text: "ms until the first is in",
    measured: ({ ours }) => ours("firstInMs"),
    atMost: 50,
    digits: 1,
  },
  {
    scenario: "hand-over",
    text: "to node-redisson's median",
    measured: ({ to }) => to("holdfast", "node-redisson", "p50Us"),
    atMost: 0.95,
  },
  {
    scenario: "hand-over-fair",
    text: "to node-redisson's median of a plain lock",
    measured: ({ ours, of }) => ratio(ours("p50Us"), of("node-redisson", "p50Us", "hand-over")),
    atMost: 0.85,
  },
  {
    scenario: "hand-over-fair",
    text: "to the bare probe's median",
    measured: ({ to }) => to("holdfast", "grant-probe", "p50Us"),
    atMost: 1.25,
  },
  {
    scenario: "idle-waiters",
    text: "commands/s",
    measured: ({ ours }) => ours("commandsPerSecond"),
    atMost: 1,
  },
  ...["renewing-5000", "renewing-50000"].flatMap((scenario) => [
    {
      scenario,
      text: "to the peer with the fewest commands",
      measured: (/** @type {Look} */ { toBest }) => toBest("commandsPerSecond", "least"),
      atMost: 1 / 50,
      digits: 4,
    },
    {
      scenario,
      text: "to the peer with the least client CPU",
      measured: (/** @type {Look} */ { toBest }) => toBest("clientCpuPercent", "least"),
      atMost: 1 / 4,
    },
    {
      scenario,
      text: "locks lost",
      measured: (/** @type {Look} */ { worst }) => worst("lost", "most"),
      atMost: 0,
      digits: 0,
    },
  ]),
  {
    scenario: "memory",
    text: "bytes per held lock, with a watchdog",
    measured: ({ ours }) => ours("renewedBytes"),
    atMost: 700,
    digits: 0,
  },
  {
    scenario: "stop-continue",
    text: "told on the next line, in the worst round",
    measured: ({ worst }) => worst("told", "least"),
    atLeast: 1,
    digits: 0,
  },
  {
    scenario: "stop-continue",
    text: "its release reports the loss at once, in the worst round",
    measured: ({ worst }) => worst("reportedAtOnce", "least"),
    atLeast: 1,
    digits: 0,
  },
  {
    scenario: "stop-continue",
    text: "updates lost with the token checked, in the worst round",
    measured: ({ worst }) => worst("lostWithToken", "most"),
    atMost: 0,
    digits: 0,
  },
];
