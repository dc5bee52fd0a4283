import { appendFileSync } from "node:fs";
import type { Reporter, TestModule } from "vitest/node";

/**
 * Ends the output with one plain line, which a script can look for without knowing Vitest's own summary. The names of failed tests go to the
 * file that HOLDFAST_FAILURES names as well, since `.ci/run` prints them once more at its end.
 */
export class ClosingLineReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    const failures: string[] = [];
    for (const module of modules) {
      // A file that does not load has no tests to fail.
      if (module.state() === "failed" && module.children.size === 0) {
        counts.failed += 1;
        failures.push(module.moduleId);
      }
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state !== "pending") counts[state] += 1;
        if (state === "failed") failures.push(`${module.moduleId} > ${test.fullName}`);
      }
    }
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
    process.stdout.write(`\ntests: ${counts.passed} passed, ${counts.failed} failed${skipped}\n`);
    const target = process.env["HOLDFAST_FAILURES"];
    if (target !== undefined) for (const failure of failures) appendFileSync(target, `${failure}\n`);
  }
}
