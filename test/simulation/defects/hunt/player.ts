/**
 * Plays schedules of the tree that it lies in, by seed, and scenes, until one breaks a promise or its time is over. A process of
 * its own, as a variant may hang or crash.
 */
import { readdirSync } from "node:fs";
import { seededChooser } from "../../chooser/seeded.js";
import type { Violation } from "../../outcome.js";
import { explore } from "../../scenes/explore.js";
import type { SceneDefinition } from "../../scenes/scene.js";
import { runSchedule } from "../../schedule.js";
import type { PlayOrder, PlayReport } from "./finding.js";

/** Most changes show at once, in schedules of any sort: these are played before the scenes. */
const FIRST_SCHEDULES = 60;
/** So many orders of a scene are played, and all scenes together have this part of the time. */
const MOST_LISTS = 400;
/** It is told each time that so many orders of a scene are done: many of them take long on a busy machine. */
const SIGN_OF_LIFE_LISTS = 20;
const SCENES_PART = 1 / 3;
const SCENES = new URL("../../scenes/", import.meta.url);

// While a schedule is played, no real clock may be read.
const { hrtime } = process;

function realMs(): number {
  return Number(hrtime.bigint() / 1_000_000n);
}

function tell(report: PlayReport): Promise<void> {
  return new Promise((resolve) => process.send?.(report, () => resolve()));
}

/** Resolves when the one who watches has heard of what was found and says that it is not to count. */
function toGoOn(): Promise<void> {
  return new Promise((resolve) => process.once("message", () => resolve()));
}

/** Tells what was found; goes on if that does not count. */
async function tellFound(
  schedules: number,
  where: number | string,
  { rule, text }: Violation,
): Promise<void> {
  const goesOn = toGoOn();
  await tell({ what: "found", schedules, where, rule, text });
  await goesOn;
}

async function play(order: PlayOrder): Promise<PlayReport> {
  const { firstSeed, stride, schedules: most, seconds } = order;
  const endMs = realMs() + 1_000 * seconds;
  await tell({ what: "playing", schedules: 0, where: "" });
  let schedules = 0;
  const playUpTo = async (many: number) => {
    while (schedules < many && realMs() < endMs) {
      schedules += 1;
      await playSeed(firstSeed + stride * (schedules - 1), schedules, order);
    }
  };
  await playUpTo(Math.min(FIRST_SCHEDULES, most));
  await playScenes(order, schedules, realMs() + 1_000 * seconds * SCENES_PART);
  await playUpTo(most);
  return { what: "clean", schedules };
}

async function playSeed(
  seed: number,
  schedules: number,
  { kinds, topologies = [] }: PlayOrder,
): Promise<void> {
  await tell({ what: "playing", schedules, where: seed });
  const chooser = seededChooser(seed);
  const topology = topologies[seed % topologies.length];
  const first = await firstOf(async () => {
    const only = kinds === undefined ? {} : { only: kinds };
    const { violations } = await runSchedule({ chooser, topology, ...only });
    return violations;
  });
  if (first !== undefined) await tellFound(schedules, seed, first);
}

async function playScenes({ scenes, kinds }: PlayOrder, schedules: number, endMs: number): Promise<void> {
  if (scenes === "none") return;
  const wanted = (await allScenes()).filter(({ name, kind }) =>
    scenes === "all" ? kinds === undefined || kinds.includes(kind) : name === scenes.name,
  );
  for (const scene of wanted) {
    if (realMs() >= endMs) return;
    const isAtWork = () => tell({ what: "playing", schedules, where: scene.name });
    await isAtWork();
    const first = await firstOf(async () => {
      const { failure } = await explore(scene, {
        mostLists: MOST_LISTS,
        whenPlayed: (lists) => {
          if (lists % SIGN_OF_LIFE_LISTS === 0) void isAtWork();
        },
      });
      return failure?.violations ?? [];
    });
    if (first !== undefined) await tellFound(schedules, scene.name, first);
  }
}

/** What was violated first. What throws is no run of the simulator at all. */
async function firstOf(work: () => Promise<readonly Violation[]>): Promise<Violation | undefined> {
  try {
    return (await work())[0];
  } catch (error) {
    return { rule: "world", text: String(error), atUs: 0 };
  }
}

/** Each file of scenes exports lists of them. */
async function allScenes(): Promise<readonly SceneDefinition[]> {
  const files = readdirSync(SCENES).filter((file) => file.endsWith("-scenes.js"));
  const modules = await Promise.all(files.sort().map((file) => import(new URL(file, SCENES).href)));
  return modules.flatMap((lists: Record<string, unknown>) =>
    Object.values(lists).filter(Array.isArray).flat(),
  );
}

process.once("message", (order: PlayOrder) => {
  void play(order)
    .then(tell)
    .then(() => process.exit(0));
});
