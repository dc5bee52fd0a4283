import { readdirSync } from "node:fs";
import { readFailure } from "../../campaign/failure.js";
import { replayFailure } from "../../campaign/replay.js";
import { seededChooser } from "../../chooser/seeded.js";
import type { Violation } from "../../outcome.js";
import { explore } from "../../scenes/explore.js";
import type { SceneDefinition } from "../../scenes/scene.js";
import { runSchedule } from "../../schedule.js";
import type { PlayOrder, PlayReport, Where } from "./finding.js";

/** Most changes show at once, in schedules of any sort: these are played before all else. */
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

/** Resolves when the one who watches has heard; of what was found, when it is not to count and the play is to go on. */
type Tell = (report: PlayReport) => Promise<void>;

/**
 * Plays schedules of the tree that it lies in, by seed and kept ones, and scenes, until its time is over. Where one breaks a
 * promise, it goes on only when it is to.
 *
 * @returns what it has to tell in the end
 */
export async function play(order: PlayOrder, tell: Tell): Promise<PlayReport> {
  const { firstSeed, stride, schedules: most, seconds } = order;
  const endMs = realMs() + 1_000 * seconds;
  let schedules = 0;
  const playUpTo = async (many: number) => {
    while (schedules < many && realMs() < endMs) {
      schedules += 1;
      const seed = firstSeed + stride * (schedules - 1);
      await look({ schedules, where: { seed }, tell }, () => violationsOf(seed, order));
    }
  };
  await playUpTo(Math.min(FIRST_SCHEDULES, most));
  for (const history of order.histories) {
    await look({ schedules, where: { history }, tell }, async () => {
      const { violations } = await replayFailure(readFailure(history));
      return violations;
    });
  }
  await playScenes(order, { schedules, endMs: realMs() + 1_000 * seconds * SCENES_PART, tell });
  await playUpTo(most);
  return { what: "clean", schedules };
}

async function violationsOf(
  seed: number,
  { kinds, topologies = [] }: PlayOrder,
): Promise<readonly Violation[]> {
  const chooser = seededChooser(seed);
  const topology = topologies[seed % topologies.length];
  const only = kinds === undefined ? {} : { only: kinds };
  const { violations } = await runSchedule({ chooser, topology, ...only });
  return violations;
}

interface ScenesParts {
  readonly schedules: number;
  readonly endMs: number;
  readonly tell: Tell;
}

async function playScenes(
  { scenes, kinds }: PlayOrder,
  { schedules, endMs, tell }: ScenesParts,
): Promise<void> {
  if (scenes === "none") return;
  const wanted = (await allScenes()).filter(({ name, kind }) =>
    scenes === "all" ? kinds === undefined || kinds.includes(kind) : name === scenes.name,
  );
  for (const scene of wanted) {
    if (realMs() >= endMs) return;
    const where = { scene: scene.name };
    await look({ schedules, where, tell }, async () => {
      const { failure } = await explore(scene, {
        mostLists: MOST_LISTS,
        whenPlayed: (lists) => {
          if (lists % SIGN_OF_LIFE_LISTS === 0) void tell({ what: "playing", schedules, where });
        },
      });
      return failure?.violations ?? [];
    });
  }
}

interface Looked {
  /** How many were played by seed, this one included. */
  readonly schedules: number;
  readonly where: Where;
  readonly tell: Tell;
}

/** Tells what is played, and what was violated first there. What throws is no run of the simulator at all. */
async function look(
  { schedules, where, tell }: Looked,
  work: () => Promise<readonly Violation[]>,
): Promise<void> {
  await tell({ what: "playing", schedules, where });
  const first = await work().then(
    (violations) => violations[0],
    (error: unknown) => ({ rule: "world", text: String(error) }),
  );
  if (first === undefined) return;
  await tell({ what: "found", schedules, where, rule: first.rule, text: first.text });
}

/** Each file of scenes exports lists of them. Those with the fewest tasks, which have the fewest orders, come first. */
async function allScenes(): Promise<readonly SceneDefinition[]> {
  const files = readdirSync(SCENES).filter((file) => file.endsWith("-scenes.js"));
  const modules = await Promise.all(files.sort().map((file) => import(new URL(file, SCENES).href)));
  const scenes: SceneDefinition[] = modules.flatMap((lists: Record<string, unknown>) =>
    Object.values(lists).filter(Array.isArray).flat(),
  );
  const tasksOf = ({ processes }: SceneDefinition) => processes.flat().length;
  return scenes.sort((one, other) => tasksOf(one) - tasksOf(other));
}
