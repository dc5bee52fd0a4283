// What a pending timer costs: HashedWheelTimer beside setTimeout, in time and in memory.
//
//   npm run bench [-- --quick] [--rounds=5]
//
// Each measurement is a process of its own, because a million timers leave a heap and optimized code behind that
// the next one would inherit. Rounds go through all of them in turn, so that a busy machine hits all alike.

import { execFileSync } from "node:child_process";
import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    rounds: { type: "string" },
    dist: { type: "string", default: fileURLToPath(new URL("../dist/esm", import.meta.url)) },
    measure: { type: "string" },
  },
});

const TIMERS = options.quick ? 100_000 : 1_000_000;
const ROUNDS = Number(options.rounds ?? (options.quick ? 3 : 5));
const LONGEST_DELAY_MS = 60_000;
/** No timer is due while one is measured: what is compared is keeping and dropping them. */
const SHORTEST_DELAY_MS = 20_000;
/** Long enough for the wheel to move a million new timeouts into its buckets, 100,000 each 100 ms. */
const SETTLE_MS = options.quick ? 400 : 1_500;
const CHURN_WINDOW = 1_000;

const SCENARIOS = {
  "hold, mixed delays": { run: hold, delayOf: mixedDelay },
  "hold, one delay": { run: hold, delayOf: () => 30_000 },
  "churn, mixed delays": { run: churn, delayOf: mixedDelay },
  "churn, one delay": { run: churn, delayOf: () => 30_000 },
};

const CONTESTANTS = {
  setTimeout: async () => ({ schedule: (delayMs, task) => setTimeout(task, delayMs), cancel: clearTimeout }),
  wheel: async () => {
    const load = (file) => import(pathToFileURL(`${options.dist}/${file}`).href);
    const [{ HashedWheelTimer }, { systemClock }] = await Promise.all([
      load("runtime/hashed-wheel-timer.js"),
      load("clock.js"),
    ]);
    const wheel = new HashedWheelTimer(systemClock);
    return {
      schedule: (delayMs, task) => wheel.schedule(delayMs, task),
      cancel: (timeout) => timeout.cancel(),
    };
  },
};

if (options.measure === undefined) compare();
else console.log(JSON.stringify(await measure(...options.measure.split("/"))));

function compare() {
  const jobs = Object.keys(SCENARIOS).flatMap((scenario) =>
    Object.keys(CONTESTANTS).map((contestant) => ({ scenario, contestant, samples: [] })),
  );
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const job of jobs) job.samples.push(measureInProcess(`${job.contestant}/${job.scenario}`));
  }
  const table = Object.keys(SCENARIOS).map((scenario) => {
    const [timeout, wheel] = jobs
      .filter((job) => job.scenario === scenario)
      .map(({ samples }) => medians(samples));
    return {
      scenario,
      "setTimeout ns": timeout.ns.toFixed(0),
      "wheel ns": wheel.ns.toFixed(0),
      "times faster": (timeout.ns / wheel.ns).toFixed(1),
      "setTimeout bytes": timeout.bytes?.toFixed(0) ?? "",
      "wheel bytes": wheel.bytes?.toFixed(0) ?? "",
      "times smaller": wheel.bytes === undefined ? "" : (timeout.bytes / wheel.bytes).toFixed(1),
    };
  });
  console.log(
    `${TIMERS.toLocaleString("en")} timers, median of ${ROUNDS} rounds; Node ${process.version}, ${cpus()[0]?.model}`,
  );
  console.table(table);
  console.log(
    "ns: processor time per timer scheduled and cancelled. bytes: heap per pending timer, without its task.",
  );
}

function measureInProcess(measure) {
  const args = [
    "--expose-gc",
    fileURLToPath(import.meta.url),
    `--measure=${measure}`,
    `--dist=${options.dist}`,
  ];
  if (options.quick) args.push("--quick");
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }));
}

async function measure(contestant, scenario) {
  const timers = await CONTESTANTS[contestant]();
  const { run, delayOf } = SCENARIOS[scenario];
  const random = lcg(42);
  const delays = Array.from({ length: TIMERS }, () => delayOf(random));
  // One small round first, so that both are measured as optimized code.
  await run(timers, delays.slice(0, 20_000), 0);
  return run(timers, delays, SETTLE_MS);
}

/** All pending at once, long enough that the wheel has sorted them into buckets, then all cancelled. */
async function hold(timers, delays, settleMs) {
  const handles = new Array(delays.length).fill(null);
  globalThis.gc();
  const heapBefore = process.memoryUsage().heapUsed;
  const scheduleStartNs = cpuNs();
  for (let i = 0; i < delays.length; i += 1) handles[i] = timers.schedule(delays[i], task);
  await sleep(settleMs);
  const scheduleNs = cpuNs() - scheduleStartNs;

  globalThis.gc();
  const bytes = (process.memoryUsage().heapUsed - heapBefore) / delays.length;

  const cancelStartNs = cpuNs();
  for (let i = 0; i < delays.length; i += 1) timers.cancel(handles[i]);
  return { ns: (scheduleNs + cpuNs() - cancelStartNs) / delays.length, bytes };
}

/** A few pending, each new one replacing the oldest: what time limits on short work do. */
async function churn(timers, delays) {
  const handles = Array.from({ length: CHURN_WINDOW }, (_, i) => timers.schedule(delays[i], task));
  globalThis.gc();
  const startNs = cpuNs();
  for (let i = 0; i < delays.length; i += 1) {
    const slot = i % CHURN_WINDOW;
    timers.cancel(handles[slot]);
    handles[slot] = timers.schedule(delays[i], task);
  }
  const ns = (cpuNs() - startNs) / delays.length;
  for (const handle of handles) timers.cancel(handle);
  return { ns };
}

/** Time on all processors, garbage collection included: unlike time on the wall, other processes do not lengthen it. */
function cpuNs() {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1_000;
}

function task() {}

function medians(samples) {
  const median = (key) =>
    samples.map((sample) => sample[key]).sort((a, b) => a - b)[Math.floor(samples.length / 2)];
  return { ns: median("ns"), bytes: median("bytes") };
}

function mixedDelay(random) {
  return SHORTEST_DELAY_MS + Math.floor(random() * (LONGEST_DELAY_MS - SHORTEST_DELAY_MS));
}

/** The same delays in every process. */
function lcg(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
