// @ts-check
/**
 * Builds the command line, and runs the tests that start it as a process of its own, and those of the alert rules by promtool, which is
 * installed where it may be. Arguments go to Vitest.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { buildCommandLine } from "./build.mjs";
import { runTier } from "./tiers.mjs";

const setup = fileURLToPath(new URL("setup.mjs", import.meta.url));
const { status } = spawnSync(process.execPath, [setup, "--prometheus"], { stdio: "inherit" });
if (status !== 0) process.exit(1);

const args = process.argv.slice(2);
const ok =
  (await buildCommandLine()) &&
  (await runTier("tools", ["--project", "tools*", ...args], { isWhole: args.length === 0 })).ok;
process.exitCode = ok ? 0 : 1;
