// @ts-check
/** Runs the tests whose length can be chosen for as long as a campaign should be. */
import { buildCommandLine } from "./build.mjs";
import { runTier } from "./tiers.mjs";

const campaigns = [
  "packages/cli/test/exec-leftovers.test.ts",
  "packages/cli/test/exec-loss.test.ts",
  "packages/cli/test/unlock-races.test.ts",
  "test/kinds/fair-lock-moments.test.ts",
  "test/kinds/fair-lock-processes.test.ts",
  "test/kinds/multi-lock-moments.test.ts",
  "test/kinds/multi-lock-processes.test.ts",
  "test/kinds/processes.test.ts",
  "test/kinds/read-write-model.test.ts",
  "test/kinds/read-write-processes.test.ts",
  "test/kinds/red-lock-moments.test.ts",
  "test/kinds/red-lock-processes.test.ts",
  "test/locks/processes.test.ts",
  "test/simulation/defects/mutants/mutants.test.ts",
  "test/synchronizers/permit-processes.test.ts",
  "test/synchronizers/processes.test.ts",
  "test/synchronizers/semaphore-moments.test.ts",
  "test/topology/failover-holders.test.ts",
  "test/topology/failover-sentinel.test.ts",
  "test/topology/faults-standalone.test.ts",
  "test/unit/server-record-model.test.ts",
];
const isBuilt = await buildCommandLine();
const { ok } = await runTier("long", campaigns, {
  env: {
    HOLDFAST_CAMPAIGN_MS: "20000",
    HOLDFAST_COUNTS: "2000",
    HOLDFAST_EXEC_ROUNDS: process.env["HOLDFAST_EXEC_ROUNDS"] ?? "20",
    HOLDFAST_FAILOVERS: "20",
    HOLDFAST_HOLDER_ROUNDS: process.env["HOLDFAST_HOLDER_ROUNDS"] ?? "4",
    HOLDFAST_MODEL_RUNS: "5000",
    HOLDFAST_RECORD_RUNS: "400000",
    HOLDFAST_STRIDE: "1",
  },
});
process.exitCode = isBuilt && ok ? 0 : 1;
