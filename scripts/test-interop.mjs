// @ts-check
/**
 * Tests against the real Redisson, in all releases that redisson.mjs names, with stress on the newest, and compares
 * docs/reference/interop.md with what was proven.
 *
 *   node scripts/test-interop.mjs                  fails when the page or the records say something else
 *   node scripts/test-interop.mjs --write          writes both anew
 *   node scripts/test-interop.mjs --if-possible    says so in one line, and is done, where there is no Maven or JDK
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { interopPage } from "./interop-page.mjs";
import { buildRedisson, leaveOut, newest, releases } from "./redisson.mjs";
import { root, runTier } from "./tiers.mjs";

const page = join(root, "docs/reference/interop.md");
const writes = process.argv.includes("--write");

const obstacle = await buildRedisson(releases);
if (obstacle !== undefined) {
  leaveOut(obstacle);
} else {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-interop-"));
  try {
    process.exitCode = (await testAll(folder)) ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @param {string} folder for what the runs leave */
async function testAll(folder) {
  let ok = true;
  for (const release of releases) {
    console.log(`\n== Redisson ${release} ==`);
    ok = (await testRelease(release, join(folder, `${release}.json`))) && ok;
  }
  if (!ok) return false;
  const reports = releases.map((release) => ({
    release,
    report: JSON.parse(readFileSync(join(folder, `${release}.json`), "utf8")),
  }));
  const text = interopPage(reports);
  if (writes) writeFileSync(page, text);
  if (existsSync(page) && readFileSync(page, "utf8") === text) return true;
  console.error(
    "docs/reference/interop.md says something else; npm run test:interop -- --write writes it anew",
  );
  return false;
}

/**
 * @param {string} release
 * @param {string} report where the outcomes are written
 */
async function testRelease(release, report) {
  const env = {
    HOLDFAST_REDISSON: release,
    HOLDFAST_REPORT: report,
    ...(release === newest ? { HOLDFAST_STRESS_MS: "20000" } : {}),
    ...(writes ? { HOLDFAST_WRITE_RECORDS: "1" } : {}),
  };
  return (await runTier(`interop-${release}`, ["--project", "interop*"], { env })).ok;
}
