import { describe, it } from "vitest";
import {
  type ConformanceHarness,
  conformanceCases,
  missingAbilities,
} from "../../src/driver/conformance/index.js";

/** Makes a test of each case. One that the harness can not set up is reported as skipped, with the reason. */
export function runConformance(driverName: string, harness: ConformanceHarness): void {
  describe(`${driverName} keeps the promises of the port`, () => {
    for (const conformanceCase of conformanceCases) {
      it(conformanceCase.name, async ({ skip }) => {
        const missing = missingAbilities(conformanceCase, harness);
        skip(missing.length > 0, `not applicable: the harness can not ${missing.join(", ")}`);
        await conformanceCase.run(harness);
      });
    }
  });
}
