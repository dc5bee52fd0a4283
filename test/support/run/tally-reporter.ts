import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, relative } from "node:path";
import type { Reporter, TestModule, Vitest } from "vitest/node";

/** How many of the slowest files are told. */
const TOLD = 10;

/** What a run leaves for scripts/test-tally.mjs. */
export interface Tally {
  /** `file > suite > test` of all, those included that were skipped for a reason. */
  readonly tests: readonly string[];
  /** How long the tests of a file took, in milliseconds. */
  readonly durations: Readonly<Record<string, number>>;
}

/** Tells which files took longest, and writes what has run into the file that HOLDFAST_TALLY names. */
export class TallyReporter implements Reporter {
  #root = "";

  onInit(vitest: Vitest): void {
    this.#root = vitest.config.root;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const fileOf = (module: TestModule) => relative(this.#root, module.moduleId);
    const slowest = modules
      .map((module) => [fileOf(module), Math.round(module.diagnostic().duration)] as const)
      .sort(([, a], [, b]) => b - a);
    const told = slowest.slice(0, TOLD).map(([file, ms]) => `${(ms / 1_000).toFixed(1)} s  ${file}`);
    if (modules.length > TOLD) process.stdout.write(`\nslowest files:\n  ${told.join("\n  ")}\n`);
    const target = process.env["HOLDFAST_TALLY"];
    if (target === undefined) return;
    const tests = modules.flatMap((module) =>
      [...module.children.allTests()].map(({ fullName }) => `${fileOf(module)} > ${fullName}`),
    );
    const tally: Tally = { tests, durations: Object.fromEntries(slowest) };
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, JSON.stringify(tally));
  }
}
