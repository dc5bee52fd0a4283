// @ts-check
/** Writes docs/reference/kinds.md anew: the tests know what it says. */
import { spawnSync } from "node:child_process";

const { status } = spawnSync("npx", ["vitest", "run", "test/kinds/kinds-table.test.ts"], {
  env: { ...process.env, HOLDFAST_WRITE_TABLE: "1" },
  stdio: "inherit",
  shell: process.platform === "win32",
});
process.exitCode = status ?? 1;
