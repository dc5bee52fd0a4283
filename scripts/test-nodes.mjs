// @ts-check
/**
 * Runs the packed package (smoke) and all tests, against what is built, on other releases of Node. Arguments go to
 * Vitest.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSimulation } from "./build.mjs";
import { installedNode, withNode } from "./node-releases.mjs";
import { mustRun, runCommand } from "./run-command.mjs";
import { runTier } from "./tiers.mjs";

const releases = [22, 24, 26];
/** What works on the oldest release, which `npm test` has, and on the newest is tried in part on these. */
const between = new Set([22, 24]);
const aPart = ["test/conformance", "test/unit", "test/locks"];
/**
 * Most of these test JVMs, scripts, servers and processes, which do not depend on the release of Node. Long histories are played once:
 * `simulatesAlike` compares short ones between the releases.
 */
const independent = [
  "test/interop/**",
  "test/**/redisson-records.test.ts",
  "test/conformance/differential.test.ts",
  "test/conformance/names-differential.test.ts",
  "test/kinds/read-write-model.test.ts",
  "test/demo/**",
  "test/simulation/schedules.test.ts",
  "test/topology/**",
];
const root = fileURLToPath(new URL("..", import.meta.url));

for (const release of releases) {
  const node = await installedNode(release);
  const version = (await mustRun(node, ["--version"])).trim();
  console.log(`\n== Node ${version} ==`);
  const ok =
    (await run(node, ["scripts/smoke.mjs"])) &&
    (between.has(release) || (await simulatesAlike(node))) &&
    (await runTests(node, release));
  if (!ok) {
    console.error(`FAILED on Node ${version}`);
    process.exitCode = 1;
  }
}

/**
 * @param {string} node
 * @param {number} release
 */
async function runTests(node, release) {
  const files = between.has(release) ? aPart : [];
  const args = process.argv.slice(2);
  const { ok } = await runTier(
    `nodes-${release}`,
    ["--project", "first*", "--project", "redis*", ...files, ...args],
    {
      env: { ...environment(node), HOLDFAST_LEAVE_OUT: independent.join(",") },
      isWhole: args.length === 0,
      node,
    },
  );
  return ok;
}

/**
 * Whether the simulator's seeds have the same histories on another release as on the one at hand, to the byte.
 *
 * @param {string} node
 */
async function simulatesAlike(node) {
  if (!(await buildSimulation())) return false;
  const program = join(root, "build/simulation/test/simulation/campaign/digests.js");
  const seeds = 800;
  const args = [program, "1", `${seeds}`];
  const here = (await mustRun(process.execPath, args)).trimEnd().split("\n");
  const there = (await mustRun(node, args)).trimEnd().split("\n");
  const other = here.find((line, nth) => line !== there[nth]);
  if (other !== undefined) console.error(`Seed ${other.split(" ")[0]} has another history than here`);
  else console.log(`${here.length} seeds of the simulator have the same histories as here`);
  return other === undefined && here.length === seeds && there.length === seeds;
}

/**
 * @param {string} node
 * @param {readonly string[]} args
 */
async function run(node, args) {
  return (await runCommand(node, args, { cwd: root, env: environment(node) })).ok;
}

/** @param {string} node */
function environment(node) {
  return { ...withNode(node), HOLDFAST_TEST_BUILT: "1" };
}
