import type { SceneResult } from "./explore.js";
import type { Bound } from "./scene.js";

const HEAD = ["scene", "bound", "lists", "merged", "end states", "longest", "seconds", ""] as const;

/** What was explored: a line for each scene, in Markdown. */
export function sceneTable(results: readonly SceneResult[]): string {
  const rows = results.map((result) => rowOf(result));
  const sum = (of: (result: SceneResult) => number) =>
    results.reduce((total, result) => total + of(result), 0);
  const total = [
    `${results.length} scenes`,
    "",
    spaced(sum(({ lists }) => lists)),
    spaced(sum(({ brokenOff }) => brokenOff)),
    spaced(sum(({ endStates }) => endStates.size)),
    "",
    sum(({ seconds }) => seconds).toFixed(1),
    results.every(isWell) ? "exhausted, all promises kept" : "",
  ];
  const table = [HEAD, HEAD.map((_, at) => (isNumber(at) ? "--:" : "---")), ...rows, total];
  return table.map((row) => `| ${row.join(" | ")} |`).join("\n");
}

export function isWell({ isExhausted, failure }: SceneResult): boolean {
  return isExhausted && failure === undefined;
}

function isNumber(column: number): boolean {
  return column >= 2 && column <= 6;
}

function rowOf(result: SceneResult): readonly string[] {
  const { scene, lists, brokenOff, endStates, longest, seconds } = result;
  return [
    scene.name,
    boundText(scene.bound),
    spaced(lists),
    spaced(brokenOff),
    spaced(endStates.size),
    String(longest),
    seconds.toFixed(1),
    verdict(result),
  ];
}

function verdict({ isExhausted, failure }: SceneResult): string {
  const [violation] = failure?.violations ?? [];
  if (violation !== undefined) return `VIOLATION of ${violation.rule}`;
  return isExhausted ? "" : "NOT EXHAUSTED";
}

function boundText({ overtakes, faults, sorts }: Bound): string {
  const struck = faults === 0 ? [] : [`${faults} × ${sorts.join(" or ")}`];
  const slow = overtakes === 0 ? [] : [`${overtakes} × slower than a timer`];
  return [...struck, ...slow].join(", ") || "all orders";
}

function spaced(count: number): string {
  return count.toLocaleString("en");
}
