import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { buildSimulation } from "../../../scripts/build.mjs";
import { seededChooser } from "../chooser/seeded.js";
import { Campaign, type End } from "./campaign.js";
import type { Failure } from "./failure.js";
import type { CampaignOptions } from "./options.js";
import type { Tally } from "./tally.js";

const program = fileURLToPath(
  new URL("../../../build/simulation/test/simulation/campaign/toy-worker.js", import.meta.url),
);

const dies = 3;
const hangs = 4;
const throws = 5;
const breaks = 6;
const resists = 500;

/** The seeds from 1 on with which the toy does what the number stands for. */
function seedsOf(behaviour: number, upTo: number): number[] {
  const seeds = Array.from({ length: upTo }, (_, at) => at + 1);
  return seeds.filter((seed) => seededChooser(seed).stream("toy").choose(1_000) === behaviour);
}

interface Played {
  readonly end: End;
  readonly tally: Tally;
  readonly found: readonly Failure[];
}

async function play(
  options: Partial<CampaignOptions>,
  behaviours: readonly number[] = [],
  during: (campaign: Campaign) => void = () => {},
): Promise<Played> {
  process.env["HOLDFAST_TOY"] = behaviours.join(",");
  const found: Failure[] = [];
  const campaign = new Campaign(
    {
      firstSeed: 1,
      schedules: 3_000,
      minutes: Number.POSITIVE_INFINITY,
      workers: 2,
      shrinkSeconds: 5,
      longestSilenceMs: 30_000,
      ...options,
    },
    program,
    { glance: () => during(campaign), found: (failure) => found.push(failure) },
  );
  const end = await campaign.play();
  return { end, tally: campaign.tally, found };
}

beforeAll(async () => {
  expect(await buildSimulation()).toBe(true);
}, 60_000);

afterEach(() => {
  delete process.env["HOLDFAST_TOY"];
});

describe("a campaign", () => {
  it("plays each seed once, and counts", async () => {
    const { end, tally } = await play({ schedules: 500 });
    const drawn = Array.from({ length: 500 }, (_, at) =>
      seededChooser(at + 1)
        .stream("toy")
        .choose(1_000),
    );
    expect(end).toBe("all were played");
    expect(tally.schedules).toBe(500);
    expect(tally.commands).toBe(drawn.reduce((sum, what) => sum + 40 + (what % 3), 0));
    expect(tally.hits.get("cut")).toBe(drawn.filter((what) => what % 2 === 1).length);
    expect(tally.states.count).toBe(new Set(drawn).size);
    expect(tally.longestWaitMs).toBe(Math.max(...drawn));
    expect(tally.broken).toEqual([]);
    expect([...tally.memory.keys()].sort()).toEqual(["worker 1", "worker 2"]);
  });

  it("names the seed of a worker that dies, and goes on with the others", async () => {
    const { end, tally } = await play({}, [dies]);
    const seeds = seedsOf(dies, 3_000);
    expect(seeds).not.toEqual([]);
    expect(end).toBe("all were played");
    expect(tally.broken.map(({ seed }) => seed).sort((one, other) => one - other)).toEqual(seeds);
    expect(tally.broken[0]).toMatchObject({ rule: "world", text: expect.stringContaining("exit code 7") });
    expect(tally.schedules).toBe(3_000 - seeds.length);
  });

  it("names the seed of a worker that hangs, and goes on with the others", async () => {
    const [first = 0] = seedsOf(hangs, 10_000);
    const { end, tally } = await play({ firstSeed: first - 30, schedules: 100, longestSilenceMs: 3_000 }, [
      hangs,
    ]);
    expect(end).toBe("all were played");
    expect(tally.broken).toEqual([
      { seed: first, rule: "world", text: expect.stringContaining("finished nothing in 3 s") },
    ]);
    expect(tally.schedules).toBe(99);
  });

  it("tells of an error of the simulator as of a broken promise", async () => {
    const { tally } = await play({}, [throws]);
    expect(tally.broken.length).toBe(seedsOf(throws, 3_000).length);
    expect(tally.broken[0]).toMatchObject({ rule: "world", text: expect.stringContaining("toy trouble") });
  });

  it("shrinks the first of each sort of broken promise", async () => {
    const { tally, found } = await play({}, [breaks, throws]);
    expect(tally.broken.length).toBe([...seedsOf(breaks, 3_000), ...seedsOf(throws, 3_000)].length);
    expect(found.map(({ rule }) => rule).sort()).toEqual(["exclusion", "world"]);
    expect(found.find(({ rule }) => rule === "exclusion")?.choices).toEqual({ toy: [breaks] });
    expect(found.find(({ rule }) => rule === "world")?.choices).toEqual({ toy: [throws] });
  });

  it("tells of a failure as it was found, when the worker is lost that shrinks it", async () => {
    const [first = 0] = seedsOf(resists, 10_000);
    const { tally, found } = await play({ firstSeed: first - 5, schedules: 10 }, [resists]);
    expect(found).toEqual([expect.objectContaining({ rule: "exclusion", seed: first })]);
    expect(found[0]?.choices["padding"]).toHaveLength(20);
    expect(tally.broken).toHaveLength(1);
    expect(tally.schedules).toBe(10);
  });

  it("ends when the time is over, or when it is told to", async () => {
    const endless = { schedules: Number.POSITIVE_INFINITY };
    expect(await play({ ...endless, minutes: 0.005 })).toMatchObject({ end: "the time is over" });
    const { end, tally } = await play(endless, [], (campaign) => campaign.interrupt());
    expect(end).toBe("interrupted");
    expect(tally.schedules).toBeLessThan(1e6);
  });
});
