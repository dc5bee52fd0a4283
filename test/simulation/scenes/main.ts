import { parseArgs } from "node:util";
import type { HistoryLine } from "../outcome.js";
import { replay, type SceneResult } from "./explore.js";
import { choicesOf, playScenes, scenesOf } from "./run.js";
import { isWell, sceneTable } from "./table.js";

const known = {
  only: { type: "string" },
  named: { type: "string" },
  small: { type: "boolean" },
  list: { type: "string" },
} as const;

/**
 * Explores small scenes, and prints what that came to:
 * - `--only fair,latch`: those of these kinds
 * - `--named TEXT`: those of which the name has this in it
 * - `--small`: those that `npm test` plays
 * - `--list 0,2,1`: plays one list of choices of one scene, and shows what happens
 * @returns the exit code
 */
export async function runScenes(
  args: readonly string[],
  show: (history: readonly HistoryLine[]) => string = plainTimeline,
): Promise<number> {
  const { only, named, small, list } = parseArgs({ args: [...args], options: known }).values;
  const options = {
    ...(only === undefined ? {} : { only: only.split(",").map((kind) => kind.trim()) }),
    ...(named === undefined ? {} : { named }),
    ...(small === undefined ? {} : { small }),
  };
  const scenes = scenesOf(options);
  const [scene] = scenes;
  if (scene === undefined) throw new TypeError("there is no such scene");
  if (list !== undefined) {
    const exact = scenes.find(({ name }) => name === named) ?? scene;
    const { history, violations } = await replay(exact, choicesOf(list));
    process.stdout.write(`${exact.name}\n${show(history)}\n`);
    return violations.length === 0 ? 0 : 1;
  }
  const results = await playScenes({
    ...options,
    played: (result) => {
      process.stderr.write(`${result.scene.name}: ${result.lists} lists, ${result.seconds.toFixed(1)} s\n`);
      if (result.failure !== undefined) process.stdout.write(`${told(result, show)}\n`);
    },
  });
  process.stdout.write(`${sceneTable(results)}\n`);
  return results.every(isWell) ? 0 : 1;
}

/** How a promise was broken, and how to see that again. */
export function told(
  { scene, lists, failure }: SceneResult,
  show: (history: readonly HistoryLine[]) => string = plainTimeline,
): string {
  if (failure === undefined) return "";
  const choices = (failure.choices["order"] ?? []).join(",");
  return [
    `${scene.name}: after ${lists} lists`,
    show(failure.history),
    ...failure.violations.map(({ rule, text }) => `VIOLATION of ${rule}: ${text}`),
    `To play it again: npm run simulate -- --scenes --named "${scene.name}" --list ${choices}`,
  ].join("\n");
}

function plainTimeline(history: readonly HistoryLine[]): string {
  return history
    .map(({ atUs, column, text }) => `${(atUs / 1_000).toFixed(3).padStart(12)}  ${column.padEnd(6)} ${text}`)
    .join("\n");
}
