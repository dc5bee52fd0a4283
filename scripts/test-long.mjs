// @ts-check
/** Runs the tests whose length can be chosen for as long as a campaign should be. */
import { spawnSync } from "node:child_process";

const campaigns = [
  "test/kinds/multi-lock-processes.test.ts",
  "test/kinds/read-write-model.test.ts",
  "test/kinds/read-write-random.test.ts",
  "test/synchronizers/permit-processes.test.ts",
  "test/synchronizers/processes.test.ts",
  "test/synchronizers/semaphore-random.test.ts",
  "test/topology/failover-sentinel.test.ts",
  "test/topology/faults-standalone.test.ts",
];
const { status } = spawnSync("npx", ["vitest", "run", ...campaigns], {
  env: {
    ...process.env,
    HOLDFAST_CAMPAIGN_MS: "20000",
    HOLDFAST_FAILOVERS: "20",
    HOLDFAST_MODEL_RUNS: "8000",
    HOLDFAST_PERMIT_RUNS: "500",
    HOLDFAST_VISIT_RUNS: "2000",
  },
  stdio: "inherit",
  shell: process.platform === "win32",
});
process.exitCode = status ?? 1;
