import { channelCases } from "./channel-cases.js";
import type { ConformanceAbility, ConformanceCase, ConformanceHarness } from "./conformance-case.js";
import { masterCases } from "./master-cases.js";
import { moveCases } from "./move-cases.js";
import { replicaCases } from "./replica-cases.js";
import { scriptCases } from "./script-cases.js";

export type { ConformanceAbility, ConformanceCase, ConformanceHarness } from "./conformance-case.js";

/**
 * The duties of every driver, as plain values for any test runner:
 *
 * ```ts
 * for (const { name, needs, run } of conformanceCases) {
 *   const missing = missingAbilities({ needs }, harness);
 *   test(name, { skip: missing.length > 0 && `not applicable: the harness cannot ${missing}` }, () => run(harness));
 * }
 * ```
 *
 * A case rejects when the driver fails it. It waits for events without a limit of its own, so the runner must have a limit. It leaves no
 * key and no open driver behind, even when it fails.
 */
export const conformanceCases: readonly ConformanceCase[] = [
  ...scriptCases,
  ...channelCases,
  ...replicaCases,
  ...moveCases,
  ...masterCases,
];

/**
 * The abilities that a case needs and a harness does not offer. If there are any, report the case as not applicable; do not drop it.
 * @example const skip = missingAbilities({ needs }, harness).length > 0;
 */
export function missingAbilities(
  { needs }: Pick<ConformanceCase, "needs">,
  harness: ConformanceHarness,
): readonly ConformanceAbility[] {
  const offered: Readonly<Record<ConformanceAbility, unknown>> = {
    "count-receivers": harness.countsReceivers,
    "cut-command": harness.cutCommand,
    "cut-subscriber": harness.cutSubscriber,
    "end-client": harness.endClient,
    "flush-scripts": harness.flushScripts,
    "keep-order": harness.keepsOrder,
    "lose-master": harness.loseMaster,
    "move-key": harness.moveKey,
    "reaches-every-master": harness.masters,
    replicate: harness.replicas,
  };
  return needs.filter((ability) => offered[ability] === undefined);
}
