// Measures libraries in scenarios, each run in processes of its own, and says what they cost.
// `npm run bench -- --help` lists the options; from the root it builds, installs, and then runs this.

import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { relative } from "node:path";
import { checkMetrics, emptyColumns } from "./support/checks.mjs";
import { jobsFor, obstacles } from "./support/jobs.mjs";
import { libraryVersions, machineClass, machineLine } from "./support/machine.mjs";
import { readOptions } from "./support/options.mjs";
import { reportOf } from "./support/report.mjs";
import { ResultFile, Results } from "./support/results.mjs";
import { stopSharedServers } from "./support/servers.mjs";
import { runOnStage } from "./support/stage.mjs";

/** @import { Job } from "./support/jobs.mjs" */

/** Far longer than anything takes that a worker is ordered to do. */
const LIMIT_MS = 120_000;
const QUICK_LIMIT_MS = 30_000;

const options = readOptions(process.argv.slice(2));
const jobs = jobsFor(options);
const leftOut = obstacles(options);
for (const line of leftOut) console.error(line);
const results = new Results();
const file = new ResultFile(options.results);
file.write({ machine: machineLine(), ...machineClass(), versions: libraryVersions(jobs), options });
/** @type {string[]} */
const failures = [];

const queue = Array.from({ length: options.rounds }, (_, round) =>
  jobs.map((job) => ({ ...job, round })),
).flat();
const total = queue.length;
// Side by side they disturb each other, which does not matter where the figures mean nothing. Half of the time they wait.
const lanes = options.quick ? 2 * availableParallelism() : 1;
await Promise.all(Array.from({ length: lanes }, runAll));
await stopSharedServers();

for (const { scenario, metric } of options.libraries === undefined ? emptyColumns(jobs, results) : []) {
  failures.push(`${scenario.name}: nobody has measured ${metric}`);
}
const report = reportOf(options, jobs, results, leftOut);
console.log(report);
if (options.markdown !== undefined) writeFileSync(options.markdown, `${report}\n`);
console.error(`Each run is a line of ${relative(process.cwd(), options.results)}`);
for (const failure of failures) console.error(`FAILED: ${failure}`);
process.exit(failures.length === 0 ? 0 : 1);

async function runAll() {
  for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
    await runOne(job, `${total - queue.length}`);
  }
}

/**
 * @param {Job & { round: number }} job
 * @param {string} run
 */
async function runOne({ scenario, library, round }, run) {
  const line = { scenario: scenario.name, library: library.name, round };
  const name = `${scenario.name} / ${library.name}`;
  const startMs = performance.now();
  try {
    const { metrics, server } = await runOnStage(scenario, library, options, {
      run,
      dist: options.dist,
      holdfastOptions: options.holdfastOptions,
      limitMs: options.quick ? QUICK_LIMIT_MS : LIMIT_MS,
    });
    checkMetrics(metrics);
    results.add(scenario, library, metrics, server);
    file.write({ ...line, server, metrics });
    console.error(`${run}/${total} ${name}: ${Math.round(performance.now() - startMs)} ms`);
  } catch (error) {
    failures.push(name);
    file.write({ ...line, failed: String(error) });
    console.error(`${run}/${total} ${name} FAILED: ${error instanceof Error ? error.stack : error}`);
  }
}
