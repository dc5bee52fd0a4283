// @ts-check
/** Runs the tests that start a server and are not in `npm test`. Arguments go to Vitest. */
import { runTier } from "./tiers.mjs";

const args = process.argv.slice(2);
const { ok } = await runTier("redis", ["--project", "redis*", ...args], {
  isWhole: args.length === 0,
});
process.exitCode = ok ? 0 : 1;
