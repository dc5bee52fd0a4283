// @ts-check
/**
 * Lets processes of the last release and of the working tree fight for the same locks while some of them are stopped and killed:
 * SUPPORT.md promises that they exclude and wake each other.
 *
 *   node scripts/test-neighbours.mjs                    ten seconds, beside the last tag
 *   node scripts/test-neighbours.mjs --seconds 60
 *   node scripts/test-neighbours.mjs --beside v1.2.0    beside another tag or commit
 *   node scripts/test-neighbours.mjs --if-possible      does nothing where the history does not reach back so far
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "./build.mjs";
import { installFor, neighbourCommit, packCommit, packHere } from "./neighbours.mjs";
import { runTier } from "./tiers.mjs";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "10" },
    beside: { type: "string" },
    "if-possible": { type: "boolean", default: false },
  },
});
const commit = await neighbourCommit(values.beside);
if (commit !== undefined) process.exitCode = (await fight(commit)) ? 0 : 1;
else {
  console.error(
    `The history of this clone has no ${values.beside ?? "earlier version"}: git fetch --unshallow --tags`,
  );
  if (!values["if-possible"]) process.exitCode = 1;
}

/**
 * @param {string} commit
 * @returns {Promise<boolean>}
 */
async function fight(commit) {
  if (!(await build())) return false;
  const folder = mkdtempSync(join(tmpdir(), "holdfast-neighbours-"));
  try {
    const [before, now] = [join(folder, "before"), join(folder, "now")];
    await installFor(await packCommit(commit), before);
    await installFor(await packHere(folder), now);
    console.log(`Beside ${commit.slice(0, 12)}, for ${values.seconds} s`);
    const env = {
      HOLDFAST_NEIGHBOURS: JSON.stringify({ before, now }),
      HOLDFAST_NEIGHBOURS_MS: `${Number(values.seconds) * 1000}`,
    };
    return (await runTier("neighbours", ["--project", "neighbours*"], { env })).ok;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
