import type { Finding } from "./finding.js";
import { isFound } from "./finding.js";

/** One that was hunted for. */
export interface Row {
  readonly name: string;
  readonly promise: string;
  readonly finding: Finding;
}

export function foundText({ how, rule, schedules, seconds }: Finding): string {
  const count = `${schedules} schedule${schedules === 1 ? "" : "s"}`;
  const inTime = `in ${seconds.toFixed(1)} s`;
  switch (how) {
    case "violation":
      return `found after ${count} ${inTime} (${rule})`;
    case "crash":
    case "hang":
      return `found after ${count} ${inTime} (${how})`;
    case "seen by a test":
      return `seen by ${rule}, not found in ${count}, ${seconds.toFixed(0)} s`;
    case "not found":
      return `not found in ${count}, ${seconds.toFixed(0)} s`;
    case "not built":
      return "could not be built";
    default:
      return how satisfies never;
  }
}

export function summary(rows: readonly Row[]): string {
  const found = rows.filter(({ finding }) => isFound(finding)).length;
  return `${found} of ${rows.length} found`;
}

/** For the terminal. */
export function textLine({ name, promise, finding }: Row): string {
  const said = finding.text === "" ? "" : `\n    ${finding.text.split("\n")[0]?.slice(0, 200)}`;
  return `${name}: ${foundText(finding)}\n    ${promise}${said}`;
}

/** For the page about the simulator. */
export function markdownTable(rows: readonly Row[]): string {
  const lines = rows.map(
    ({ name, promise, finding }) => `| \`${name}\` | ${promise} | ${markdownOf(finding)} |`,
  );
  return ["| Defect | The promise that it breaks | |", "| --- | --- | --- |", ...lines, ""].join("\n");
}

function markdownOf(finding: Finding): string {
  return isFound(finding) ? foundText(finding) : `*${foundText(finding)}*`;
}
