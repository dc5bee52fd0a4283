import type { Scene } from "./scenes/scene.js";
import type { Stage } from "./stage/stage.js";
import { allTrue, type Played, showSummary } from "./summary.js";
import type { Screen } from "./terminal/screen.js";

/** Plays the scenes. @returns whether all checks were true */
export async function play(scenes: readonly Scene[], stage: Stage, screen: Screen): Promise<boolean> {
  screen.line();
  screen.line(`  ${screen.paint("bold", "holdfast")}: distributed locks, in ${lengthOf(scenes)}`);
  screen.line();
  await stage.open();
  introduce(stage, screen);
  const startMs = performance.now();
  const played = await playScenes(scenes, stage, screen);
  showSummary(screen, played, performance.now() - startMs);
  return allTrue(played);
}

/** The scenes alone, one after the other. */
export async function playScenes(
  scenes: readonly Scene[],
  stage: Stage,
  screen: Screen,
): Promise<readonly Played[]> {
  const played: Played[] = [];
  for (const scene of scenes) {
    if (played.length > 0) await screen.pause();
    played.push(await playScene(scene, `${played.length + 1} of ${scenes.length}`, stage, screen));
  }
  return played;
}

function lengthOf({ length }: readonly Scene[]): string {
  return length === 1 ? "one scene" : `${length} scenes of a few seconds each`;
}

function introduce({ introduction }: Stage, screen: Screen): void {
  const labelColumns = Math.max(...introduction.map(([label]) => label.length));
  for (const [label, text] of introduction) {
    screen.line(
      `  ${screen.paint("dim", label.padEnd(labelColumns))}  ${text}`,
      " ".repeat(labelColumns + 4),
    );
  }
}

/** One scene under its heading. */
async function playScene(scene: Scene, place: string, stage: Stage, screen: Screen): Promise<Played> {
  screen.heading(`${place}  ${scene.title}`);
  screen.prose(scene.intro);
  screen.line();
  await screen.readingPause();
  const outcome = await scene.play(stage, screen);
  await screen.pause();
  screen.line();
  for (const { says, holds } of outcome.checks) screen.verdict(holds, says);
  screen.line();
  screen.code(scene.code);
  return { scene, outcome };
}
