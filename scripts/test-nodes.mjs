// @ts-check
/**
 * Runs the packed package (smoke) and all tests, against what is built, on other releases of Node. Arguments go to
 * Vitest.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installedNode, withNode } from "./node-releases.mjs";
import { mustRun, runCommand } from "./run-command.mjs";

const releases = [22, 24, 26];
/** What works on the oldest release, which `npm test` has, and on the newest is tried in part on these. */
const between = new Set([22, 24]);
const aPart = ["test/conformance", "test/unit", "test/locks"];
/**
 * What a JVM sees of us, what scripts, servers and processes do to each other does not hang on the release of Node; long
 * histories are played once.
 */
const independent = [
  "test/interop/**",
  "test/**/redisson-records.test.ts",
  "test/conformance/differential.test.ts",
  "test/kinds/read-write-model.test.ts",
  "test/kinds/*random.test.ts",
  "test/demo/**",
  "test/topology/**",
];
const root = fileURLToPath(new URL("..", import.meta.url));

for (const release of releases) {
  const node = await installedNode(release);
  const version = (await mustRun(node, ["--version"])).trim();
  console.log(`\n== Node ${version} ==`);
  const ok = (await run(node, ["scripts/smoke.mjs"])) && (await run(node, vitest(release)));
  if (!ok) {
    console.error(`FAILED on Node ${version}`);
    process.exitCode = 1;
  }
}

/** @param {number} release */
function vitest(release) {
  const files = between.has(release) ? aPart : [];
  const args = [...files, ...independent.flatMap((some) => ["--exclude", some]), ...process.argv.slice(2)];
  return [join(root, "node_modules", "vitest", "vitest.mjs"), "run", ...args];
}

/**
 * @param {string} node
 * @param {readonly string[]} args
 */
async function run(node, args) {
  const env = { ...withNode(node), HOLDFAST_TEST_BUILT: "1" };
  return (await runCommand(node, args, { cwd: root, env })).ok;
}
