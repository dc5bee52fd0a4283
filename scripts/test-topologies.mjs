// @ts-check
/** Runs the tests of topologies and of connection settings with every client that an adapter claims, and the conformance cases of each. */
import { spawnSync } from "node:child_process";

const args = [
  "vitest",
  "run",
  "test/topology",
  "test/connections",
  "test/conformance",
  ...process.argv.slice(2),
];
const { status } = spawnSync("npx", args, {
  env: { ...process.env, HOLDFAST_PAIRS: "all" },
  stdio: "inherit",
  shell: process.platform === "win32",
});
process.exitCode = status ?? 1;
