// @ts-check
/** Writes docs/reference/kinds.md and docs/reference/refused-commands.md anew: the tests know what they say. */
import { spawnSync } from "node:child_process";

const { status } = spawnSync(
  "npx",
  ["vitest", "run", "test/kinds/kinds-table.test.ts", "test/faults/refused-commands-all.test.ts"],
  {
    env: { ...process.env, HOLDFAST_WRITE_TABLE: "1" },
    stdio: "inherit",
    shell: process.platform === "win32",
  },
);
process.exitCode = status ?? 1;
