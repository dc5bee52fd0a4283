// @ts-check
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runMeasured } from "./run-measured.mjs";

export const root = fileURLToPath(new URL("..", import.meta.url));
/** Where each tier leaves what has run; scripts/test-tally.mjs reads it. */
export const tallies = join(root, "build/tests");

/** @param {string} tier */
export function tallyOf(tier) {
  return join(tallies, `${tier}.json`);
}

/**
 * Runs files of tests with Vitest, as test/tiers.ts groups them. A run of all that the tier has leaves a tally.
 *
 * @param {string} tier
 * @param {readonly string[]} args of Vitest
 * @param {{ env?: NodeJS.ProcessEnv, isWhole?: boolean, node?: string }} [options] node: the program to run it with
 * @returns {Promise<{ ok: boolean, processorSeconds: number }>}
 */
export async function runTier(tier, args, { env = {}, isWhole = true, node = process.execPath } = {}) {
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const tally = isWhole ? { HOLDFAST_TALLY: tallyOf(tier) } : {};
  return runMeasured(node, [vitest, "run", ...args], {
    cwd: root,
    env: { ...process.env, ...env, ...tally },
  });
}

/**
 * @param {string} tier
 * @param {number} processorSeconds
 */
export function noteProcessorSeconds(tier, processorSeconds) {
  const tally = JSON.parse(readFileSync(tallyOf(tier), "utf8"));
  writeFileSync(tallyOf(tier), JSON.stringify({ ...tally, processorSeconds }));
}
