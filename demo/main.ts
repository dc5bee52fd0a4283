/** A program from which a newcomer learns what holdfast does. `npm run demo -- --help` says how to run it. */
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { help, listOfScenes, type Playbill, readArguments } from "./arguments.js";
import { introduce, startInspection } from "./inspect/inspect.js";
import { play } from "./play.js";
import type { Scene } from "./scenes/scene.js";
import { EmbeddedStage } from "./stage/embedded-stage.js";
import { asError, StageError } from "./stage/failure.js";
import { RedisStage } from "./stage/redis-stage.js";
import type { Stage } from "./stage/stage.js";
import { showWayOn } from "./summary.js";
import { Screen } from "./terminal/screen.js";

const ENDED_BY = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const LONGEST_MS = 300_000;
const PAUSES_OF_A_SCENE = 3;

/** Somebody does not want to see more. */
class Interruption {
  constructor(readonly exitCode: number) {}
}

async function main(): Promise<number> {
  const wanted = readArguments(process.argv.slice(2));
  switch (wanted.kind) {
    case "help":
      process.stdout.write(help);
      return 0;
    case "mistake":
      process.stderr.write(`demo: ${wanted.complaint}\n`);
      return 2;
    case "scenes":
      process.stdout.write(listOfScenes());
      return 0;
    case "play":
      return run(wanted.playbill);
    case "inspect":
      return inspect();
    default:
      return wanted satisfies never;
  }
}

async function run(playbill: Playbill): Promise<number> {
  const { scenes, pauseMs = 0 } = playbill;
  const screen = new Screen(process.stdout, playbill.pauseMs);
  const interrupted = interruption(LONGEST_MS + scenes.length * PAUSES_OF_A_SCENE * pauseMs);
  let stage: Stage | undefined;
  let exitCode: number;
  try {
    stage = await Promise.race([stageFor(playbill.redisUrl), interrupted]);
    exitCode = await Promise.race([perform(scenes, stage, screen), interrupted]);
  } catch (error) {
    screen.mute();
    exitCode = error instanceof Interruption ? error.exitCode : complain(error);
  }
  try {
    const removed = await stage?.close();
    screen.line();
    if (stage?.kind === "redis") screen.line(screen.paint("dim", `  Keys removed at the end: ${removed}\n`));
  } catch (error) {
    // After another failure this one is no news.
    if (exitCode === 0) exitCode = complain(error);
  }
  return exitCode;
}

/** Until somebody ends it. */
async function inspect(): Promise<number> {
  const screen = new Screen(process.stdout);
  const interrupted = interruption(Number.POSITIVE_INFINITY);
  const inspection = await startInspection();
  introduce(screen, inspection.address);
  try {
    return await interrupted;
  } catch (error) {
    await inspection.close();
    return error instanceof Interruption ? error.exitCode : complain(error);
  }
}

async function stageFor(redisUrl: string | undefined): Promise<Stage> {
  return redisUrl === undefined ? new EmbeddedStage() : RedisStage.connect(redisUrl);
}

async function perform(scenes: readonly Scene[], stage: Stage, screen: Screen): Promise<number> {
  const allTrue = await play(scenes, stage, screen);
  showWayOn(screen, stage.kind);
  return allTrue ? 0 : 1;
}

function complain(error: unknown): number {
  process.stderr.write(`demo: ${asError(error).message}\n`);
  return 1;
}

/** Rejects when somebody ends the demo, when nobody reads it any more, and when it hangs. */
function interruption(longestMs: number): Promise<never> {
  return new Promise((_, reject) => {
    for (const signal of ENDED_BY) {
      // Also a second one is not to end us before all is tidied up, which takes a few seconds at most.
      process.on(signal, () => reject(new Interruption(128 + constants.signals[signal])));
    }
    process.stdout.on("error", () => reject(new Interruption(1)));
    if (longestMs === Number.POSITIVE_INFINITY) return;
    sleep(longestMs, undefined, { ref: false }).then(() =>
      reject(new StageError(`stuck for ${longestMs} ms`)),
    );
  });
}

const exitCode = await main();
// What was interrupted may still wait for something. But all that was written is to arrive.
process.stdout.write("", () => process.exit(exitCode));
