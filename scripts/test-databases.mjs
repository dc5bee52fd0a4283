// @ts-check
/**
 * Runs what docs/guide/fencing.md shows against real databases: checks the types of examples/fencing/, and runs its tests. PostgreSQL,
 * MariaDB and the packages of the example are installed where they may be. Arguments go to Vitest.
 *
 *   HOLDFAST_NO_INSTALL=1   installs nothing: says what is missing and stops
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { build } from "./build.mjs";
import { provideFolderPackages } from "./folder-packages.mjs";
import { runCommand } from "./run-command.mjs";
import { provideDatabases } from "./setup-databases.mjs";
import { root, runTier } from "./tiers.mjs";

const EXAMPLE = "examples/fencing";
const compiler = join(root, "node_modules/typescript/bin/tsc");

/** @param {...string} args */
async function compiles(...args) {
  const { ok } = await runCommand(process.execPath, [compiler, ...args]);
  return ok;
}

const { status } = spawnSync(process.execPath, [join(root, "scripts/setup.mjs"), "--redis"], {
  stdio: "inherit",
});
if (status !== 0) process.exit(1);
provideDatabases();
const isReady =
  // The example imports the built package, as its users do.
  (await build({ packageOnly: true })) &&
  (await provideFolderPackages(EXAMPLE)) &&
  // The programs that the tests start come from it.
  (await compiles("-p", join(root, EXAMPLE), "--noEmit", "false")) &&
  (await compiles("-p", join(root, "test/databases")));
const args = process.argv.slice(2);
// No gate runs this tier, so that it leaves no tally: test:tally would ask for it each time.
const ok =
  isReady && (await runTier("databases", ["--project", "databases*", ...args], { isWhole: false })).ok;
process.exitCode = ok ? 0 : 1;
