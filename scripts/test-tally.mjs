// @ts-check
/**
 * Compares what the tiers have run since `.ci/run` began with what is recorded: no test may fall out of all of them, and `npm test` may
 * not take more than a quarter more processor time.
 *
 *   --write   records what has run: counts, processor time, and how long each file took, by which Vitest sorts them
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root, tallies } from "./tiers.mjs";

/**
 * @typedef {{ tests: string[], durations: Record<string, number>, processorSeconds?: number }} Tally what a tier has left
 * @typedef {{ processorSeconds: number, distinct: number, tiers: Record<string, number> }} Recorded numbers of tests
 */

const recordedFile = join(root, "test/recorded/tests.json");
const durationsFile = join(root, "test/recorded/durations.json");
/** Only where Maven and a JDK are, or a clone with its history. */
const OPTIONAL = /^(?:interop-|neighbours$)/;
/** By how much the processor time may grow. */
const GROWTH = 1.25;
/** What takes less is sorted well enough anyway. */
const TELLING_MS = 200;

/**
 * @param {Recorded} recorded
 * @param {Recorded} seen
 * @returns {string[]} what is wrong
 */
export function complaints(recorded, seen) {
  const tiers = Object.entries(recorded.tiers);
  const missing = tiers.filter(([tier]) => seen.tiers[tier] === undefined && !OPTIONAL.test(tier));
  const fewer = tiers.filter(([tier, count]) => (seen.tiers[tier] ?? count) < count);
  const isWhole = tiers.every(([tier]) => seen.tiers[tier] !== undefined);
  const most = recorded.processorSeconds * GROWTH;
  return [
    ...missing.map(([tier]) => `the tier ${tier} has not run`),
    ...fewer.map(([tier, count]) => `the tier ${tier} has ${seen.tiers[tier]} tests, and had ${count}`),
    ...(isWhole && seen.distinct < recorded.distinct
      ? [`all tiers together have ${seen.distinct} tests, and had ${recorded.distinct}`]
      : []),
    ...(seen.processorSeconds > most
      ? [
          `npm test took ${Math.round(seen.processorSeconds)} s of processor time, and may take ${Math.round(most)} s`,
        ]
      : []),
  ];
}

/**
 * @param {Record<string, Tally>} byTier
 * @returns {Recorded}
 */
export function summed(byTier) {
  const tiers = Object.entries(byTier).map(([tier, { tests }]) => [tier, new Set(tests).size]);
  return {
    processorSeconds: Math.round(byTier["first"]?.processorSeconds ?? 0),
    distinct: new Set(Object.values(byTier).flatMap(({ tests }) => tests)).size,
    tiers: Object.fromEntries(tiers),
  };
}

/** @returns {Record<string, Tally>} */
function readTallies() {
  const files = readdirSync(tallies).filter((file) => file.endsWith(".json"));
  return Object.fromEntries(
    files.map((file) => [file.replace(/\.json$/, ""), JSON.parse(readFileSync(join(tallies, file), "utf8"))]),
  );
}

/** @param {Record<string, Tally>} byTier */
function durationsOf(byTier) {
  // A campaign of `npm run test:long` and another release of Node say nothing about the file as it is run else.
  const usual = Object.entries(byTier).filter(([tier]) => !/^(?:long|nodes-)/.test(tier));
  const all = usual.flatMap(([, { durations }]) => Object.entries(durations));
  return Object.fromEntries(all.filter(([, ms]) => ms >= TELLING_MS).sort(([a], [b]) => a.localeCompare(b)));
}

function main() {
  const byTier = readTallies();
  const seen = summed(byTier);
  for (const [tier, count] of Object.entries(seen.tiers)) console.log(`${tier}: ${count} tests`);
  console.log(`all tiers: ${seen.distinct} tests; npm test: ${seen.processorSeconds} s of processor time`);
  if (process.argv.includes("--write")) {
    writeFileSync(recordedFile, `${JSON.stringify(seen, null, 2)}\n`);
    writeFileSync(durationsFile, `${JSON.stringify(durationsOf(byTier), null, 2)}\n`);
    return;
  }
  const wrong = complaints(JSON.parse(readFileSync(recordedFile, "utf8")), seen);
  for (const complaint of wrong) console.error(complaint);
  if (wrong.length > 0) {
    console.error("npm run test:tally -- --write records this instead");
    process.exitCode = 1;
  }
}

if (process.argv[1] === import.meta.filename) main();
