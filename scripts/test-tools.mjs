// @ts-check
/** Builds the command line, and runs the tests that start it as a process of its own. Arguments go to Vitest. */
import { buildCommandLine } from "./build.mjs";
import { runTier } from "./tiers.mjs";

const args = process.argv.slice(2);
const ok =
  (await buildCommandLine()) &&
  (await runTier("tools", ["--project", "tools*", ...args], { isWhole: args.length === 0 })).ok;
process.exitCode = ok ? 0 : 1;
