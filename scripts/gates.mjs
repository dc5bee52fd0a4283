// @ts-check
/**
 * Runs what must hold before a change lands, to the end even when something fails, and counts.
 *
 *   node scripts/gates.mjs         the checks of the built package
 *   node scripts/gates.mjs --all   the tests as well, here and on other releases of Node
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installedNode, withNode } from "./node-releases.mjs";
import { runCommand } from "./run-command.mjs";
import { root, tallies } from "./tiers.mjs";

/** On it the simulator is twice as fast as on Node 20, and its histories are the same: test:nodes compares them. */
const SIMULATED_ON = 26;
const SIMULATOR = "simulate";
/** These gates run beside the gates that follow them, which mostly wait. The tests of the page mostly wait as well, for the browser. */
const BESIDE_OTHERS = new Set([SIMULATOR, "test:page"]);
/** In characters: the report of one violation. */
const LAST_WORDS = 6_000;

/** npm scripts with their arguments. `npm test` comes first: it also installs what is missing. */
const packageGates = [
  ["build"],
  ["publint"],
  ["attw"],
  ["knip"],
  ["size"],
  ["packed"],
  ["cold-import"],
  ["api", "--", "--check"],
  ["smoke"],
  ["bench", "--", "--quick"],
];
const onOthers = ["--", "--only", "6.2", "--only", "9.1"];
const gates = process.argv.includes("--all")
  ? [
      ["test"],
      ...packageGates,
      ["simulate", "--", "--schedules", "20000", "--seed", "day"],
      ["test:redis"],
      ["test:tools"],
      ["test:nest"],
      ["test:telemetry"],
      ["test:examples", "--", "nestjs"],
      ["test:page"],
      ["test:topologies"],
      // The oldest and the newest; each gate before has Redis 7.0. All suites on all of them take six times as long.
      ["test:servers", ...onOthers, "--suite", "conformance", "--suite", "kinds"],
      ["test:neighbours", "--", "--if-possible"],
      ["site"],
      ["test:long"],
      ["test:interop", "--", "--if-possible"],
      ["test:nodes"],
      ["test:tally"],
    ]
  : packageGates;

// What an earlier run has left is not of this one.
if (gates.length > packageGates.length) rmSync(tallies, { recursive: true, force: true });
const folder = mkdtempSync(join(tmpdir(), "holdfast-gates-"));
const failures = join(folder, "failures.txt");
/** @type {string[]} */
const failed = [];
/** What was printed last by those that failed beside others: a log of which only the end is kept still has it. */
/** @type {string[]} */
const lastWords = [];
/** @type {Promise<void>[]} */
const beside = [];
for (const gate of gates) {
  if (BESIDE_OTHERS.has(gate[0] ?? "")) beside.push(passes(gate, { quiet: true }));
  else await passes(gate);
}
await Promise.all(beside);

if (existsSync(failures))
  console.log(`\nFailed tests:\n${readFileSync(failures, "utf8").replaceAll(root, "")}`);
rmSync(folder, { recursive: true });
for (const words of lastWords) console.log(words);
console.log(failed.length === 0 ? "\nAll gates passed." : `\nFailed:\n  ${failed.join("\n  ")}`);
console.log(`gates: ${gates.length - failed.length} passed, ${failed.length} failed`);
process.exitCode = failed.length === 0 ? 0 : 1;

/**
 * Runs a gate to its end, and notes it if it fails.
 *
 * @param {readonly string[]} gate
 * @param {{ quiet?: boolean }} [options] quiet: its output is printed at its end
 */
async function passes(gate, { quiet = false } = {}) {
  const name = `npm run ${gate.join(" ")}`;
  const title = `\n======== ${name} ========`;
  if (!quiet) console.log(title);
  const startMs = performance.now();
  const run = ["npm", "run", "--silent", ...gate];
  // The simulator always has work: it takes the processor time that others leave.
  const [command = "", ...args] = gate[0] === SIMULATOR ? ["nice", ...run] : run;
  const { ok, output } = await runCommand(command, args, {
    env: { ...(await environmentOf(gate)), HOLDFAST_FAILURES: failures },
    quiet,
  });
  if (quiet) console.log(`${title}\n${output}`);
  const seconds = Math.round((performance.now() - startMs) / 1000);
  console.log(`-------- ${name}: ${ok ? "passed" : "FAILED"} in ${seconds} s`);
  if (ok) return;
  failed.push(name);
  if (quiet) lastWords.push(`\nThe end of ${name}:\n${output.slice(-LAST_WORDS)}`);
}

/**
 * Without that release, the simulator runs on the release at hand.
 *
 * @param {readonly string[]} gate
 */
async function environmentOf([script]) {
  if (script !== SIMULATOR) return process.env;
  return installedNode(SIMULATED_ON).then(withNode, () => process.env);
}
