// @ts-check
/**
 * What `npm test` does: provides what is missing, checks the sources, runs the first tier, and tells how much processor time all of
 * it took. Arguments go to Vitest, which then runs what they choose of all tiers.
 */
import { runMeasured } from "./run-measured.mjs";
import { noteProcessorSeconds, runTier } from "./tiers.mjs";

/** The first has to come first, the others are as good in any order. */
const checks = [
  ["node", "scripts/setup.mjs", "--redis"],
  ["npm", "run", "--silent", "lint"],
  ["npm", "run", "--silent", "types"],
  ["npm", "run", "--silent", "generate", "--", "--check"],
  // Two test files would build it at the same time, and one of them take away what the other one runs.
  ["node", "scripts/build.mjs", "--simulation"],
];
const chosen = process.argv.slice(2);

let sum = 0;
let isFine = true;
for (const [command = "", ...args] of checks) {
  const { ok, processorSeconds } = await runMeasured(command, args);
  sum += processorSeconds;
  isFine = ok;
  if (!ok) break;
}
if (isFine) {
  const isWhole = chosen.length === 0;
  const { ok, processorSeconds } = await runTier("first", isWhole ? ["--project", "first*"] : chosen, {
    isWhole,
  });
  sum += processorSeconds;
  isFine = ok;
  if (ok && isWhole) noteProcessorSeconds("first", sum);
}
console.log(`processor time: ${Math.round(sum)} s`);
process.exitCode = isFine ? 0 : 1;
