import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { buildSimulation } from "../../scripts/build.mjs";
import { Campaign } from "./campaign/campaign.js";

/**
 * Played by processes of their own: the test framework's way of loading modules makes code that is run in it half as fast.
 */
const programs = join(import.meta.dirname, "../../build/simulation/test/simulation/campaign");
const FIRST_SEED = 1;
const SCHEDULES = 400;
const PLAYED_AGAIN = 40;

describe("400 schedules", () => {
  const digests = new Map<number, string>();
  let campaign: Campaign;

  beforeAll(async () => {
    expect(await buildSimulation()).toBe(true);
    campaign = new Campaign(
      {
        firstSeed: FIRST_SEED,
        schedules: SCHEDULES,
        minutes: Number.POSITIVE_INFINITY,
        workers: 2,
        shrinkSeconds: 5,
        longestSilenceMs: 20_000,
      },
      join(programs, "worker.js"),
      { played: (seed, digest) => digests.set(seed, digest) },
    );
    await campaign.play();
  }, 300_000);

  it("keep all promises", () => {
    expect(campaign.tally.broken, "npm run simulate -- --replay SEED --trace").toEqual([]);
    expect(campaign.tally.schedules).toBe(SCHEDULES);
  });

  it("use each kind, and meet faults", () => {
    expect(campaign.tally.medianCommands).toBeGreaterThanOrEqual(40);
    expect(campaign.tally.medianFaults).toBeGreaterThanOrEqual(2);
  });

  it("are the same in another process, from the seed and from the choices", { timeout: 300_000 }, () => {
    const args = [join(programs, "digests.js"), String(FIRST_SEED), String(PLAYED_AGAIN)];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    expect(stderr).toBe("");
    const expected = Array.from({ length: PLAYED_AGAIN }, (_, nth) => {
      const digest = digests.get(FIRST_SEED + nth);
      return `${FIRST_SEED + nth} ${digest} ${digest}`;
    });
    expect(stdout.trimEnd().split("\n")).toEqual(expected);
    expect(new Set(digests.values()).size).toBeGreaterThan(0.99 * digests.size);
  });
});
