import { allScenes } from "./scenes/all-scenes.js";
import type { Scene } from "./scenes/scene.js";
import type { Stage } from "./stage/stage.js";
import { allTrue, type Played, showSummary } from "./summary.js";
import type { Screen } from "./terminal/screen.js";

/** Plays all scenes. @returns whether all checks were true */
export async function play(stage: Stage, screen: Screen): Promise<boolean> {
  screen.line();
  screen.line(
    `  ${screen.paint("bold", "holdfast")}: distributed locks, in ${allScenes.length} scenes and less than a minute`,
  );
  screen.line();
  await stage.open();
  introduce(stage, screen);
  const startMs = performance.now();
  const played: Played[] = [];
  for (const scene of allScenes) played.push(await playScene(scene, played.length + 1, stage, screen));
  showSummary(screen, played, performance.now() - startMs);
  return allTrue(played);
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

async function playScene(scene: Scene, number: number, stage: Stage, screen: Screen): Promise<Played> {
  screen.heading(`${number} of ${allScenes.length}  ${scene.title}`);
  screen.prose(scene.intro);
  screen.line();
  await screen.readingPause();
  const outcome = await scene.play(stage, screen);
  screen.line();
  for (const { says, holds } of outcome.checks) screen.verdict(holds, says);
  screen.line();
  screen.code(scene.code);
  return { scene, outcome };
}
