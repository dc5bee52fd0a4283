// @ts-check
/** Runs the tests whose length can be chosen for as long as a campaign should be. */
import { spawnSync } from "node:child_process";

const campaigns = [
  "test/kinds/fair-lock-moments.test.ts",
  "test/kinds/fair-lock-processes.test.ts",
  "test/kinds/multi-lock-processes.test.ts",
  "test/kinds/processes.test.ts",
  "test/kinds/read-write-model.test.ts",
  "test/kinds/read-write-processes.test.ts",
  "test/kinds/red-lock-processes.test.ts",
  "test/synchronizers/permit-processes.test.ts",
  "test/synchronizers/processes.test.ts",
  "test/topology/failover-holders.test.ts",
  "test/topology/failover-sentinel.test.ts",
  "test/topology/faults-standalone.test.ts",
];
const env = {
  ...process.env,
  HOLDFAST_CAMPAIGN_MS: "20000",
  HOLDFAST_FAILOVERS: "20",
  HOLDFAST_HOLDER_ROUNDS: process.env["HOLDFAST_HOLDER_ROUNDS"] ?? "4",
  HOLDFAST_MODEL_RUNS: "5000",
  HOLDFAST_STRIDE: "1",
};

// Files that the configuration leaves out would be left out here as well, and nobody would notice.
const listed = vitest("list", "--filesOnly", ...campaigns).stdout;
const missing = campaigns.filter((file) => !listed.includes(file));
if (missing.length > 0) {
  console.error(`Vitest does not run ${missing.join(", ")}`);
  process.exit(1);
}
process.exitCode = vitest("run", ...campaigns).status ?? 1;

/**
 * @param {"list" | "run"} command
 * @param {readonly string[]} args
 */
function vitest(command, ...args) {
  const stdio = command === "list" ? "pipe" : "inherit";
  const shell = process.platform === "win32";
  return spawnSync("npx", ["vitest", command, ...args], { env, stdio, shell, encoding: "utf8" });
}
