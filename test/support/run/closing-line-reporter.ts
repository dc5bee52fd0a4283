import { appendFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import type { Reporter, TestModule } from "vitest/node";

/** Of what is said about a failure in the file of failures: enough for a message with the two values, and where it was. */
const MOST_CHARACTERS = 600;

/**
 * Ends the output with one plain line, which a script can look for without knowing Vitest's own summary. The names of failed tests, and why
 * they have failed, go to the file that HOLDFAST_FAILURES names as well, since `.ci/run` prints them once more at its end: that is what is
 * kept of a long log.
 */
export class ClosingLineReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    const failures: string[] = [];
    for (const module of modules) {
      // A file that does not load has no tests to fail.
      if (module.state() === "failed" && module.children.size === 0) {
        counts.failed += 1;
        failures.push(`${module.moduleId}${reasons(module.errors())}`);
      }
      for (const test of module.children.allTests()) {
        const { state, errors } = test.result();
        if (state !== "pending") counts[state] += 1;
        if (state === "failed") failures.push(`${module.moduleId} > ${test.fullName}${reasons(errors)}`);
      }
    }
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
    process.stdout.write(`\ntests: ${counts.passed} passed, ${counts.failed} failed${skipped}\n`);
    const target = process.env["HOLDFAST_FAILURES"];
    if (target !== undefined) for (const failure of failures) appendFileSync(target, `${failure}\n`);
  }
}

/** Each on lines of its own: the message, the difference of the values, and where it was thrown. */
function reasons(errors: ReadonlyArray<{ message: string; diff?: string; stack?: string }> = []): string {
  return errors
    .map(({ message, diff = "", stack = "" }) => {
      const [place = ""] = stack.match(/^ +at .*$/m) ?? [];
      const text = [message, diff, place.trim()].filter((part) => part !== "").join("\n");
      return `\n${stripVTControlCharacters(text).slice(0, MOST_CHARACTERS)}`.replaceAll("\n", "\n    ");
    })
    .join("");
}
