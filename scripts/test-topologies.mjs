// @ts-check
/** Runs the tests of topologies and of connection settings with every client that an adapter claims, and the conformance cases of each. */
import { runTier } from "./tiers.mjs";

const args = process.argv.slice(2);
const { ok } = await runTier(
  "topologies",
  ["test/topology", "test/connections", "test/conformance", ...args],
  {
    env: { HOLDFAST_PAIRS: "all" },
    isWhole: args.length === 0,
  },
);
process.exitCode = ok ? 0 : 1;
