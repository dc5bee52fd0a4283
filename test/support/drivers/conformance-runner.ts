import { describe, expect, it } from "vitest";
import {
  type ConformanceHarness,
  conformanceCases,
  missingAbilities,
} from "../../../src/driver/conformance/index.js";
import { type Played, plays } from "../run/played.js";
import { isBefore7, NO_SHARDED_MESSAGES } from "../servers/redis-program.js";

/** Makes a test of each case. One that the harness can not set up is reported as skipped, with the reason. */
export function runConformance(
  driverName: string,
  harness: ConformanceHarness,
  pair?: Pick<Played, "client" | "topology">,
): void {
  const isSharded = harness.family === "sharded";
  describe(`${driverName} keeps the promises of the port`, () => {
    if (pair !== undefined) plays({ ...pair, what: isSharded ? "sharded conformance" : "conformance" });
    for (const conformanceCase of conformanceCases) {
      it(conformanceCase.name, async ({ skip }) => {
        skip(isSharded && isBefore7(), NO_SHARDED_MESSAGES);
        const missing = missingAbilities(conformanceCase, harness);
        skip(missing.length > 0, `not applicable: the harness can not ${missing.join(", ")}`);
        await expect(conformanceCase.run(harness)).resolves.toBeUndefined();
      });
    }
  });
}
