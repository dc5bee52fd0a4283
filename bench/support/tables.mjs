/** @import { Library, Scenario } from "./contracts.js" */
/** @import { Results, Spread } from "./results.mjs" */

/**
 * @param {readonly string[]} headings
 * @param {readonly (readonly string[])[]} rows
 */
export function markdownTable(headings, rows) {
  const line = (/** @type {readonly string[]} */ cells) => `| ${cells.join(" | ")} |`;
  return [line(headings), line(headings.map(() => "---")), ...rows.map(line)].join("\n");
}

/**
 * @param {Scenario} scenario
 * @param {readonly Library[]} libraries
 * @param {Results} results
 */
export function scenarioTable(scenario, libraries, results) {
  const headings = ["", ...scenario.columns.map(({ heading }) => heading)];
  const rows = libraries.map(({ name }) => [
    name,
    ...scenario.columns.map(({ metric, digits = 0 }) => {
      const words = results.words(scenario.name, name, metric);
      return words.length > 0
        ? words.join(", ")
        : spreadCell(results.spread(scenario.name, name, metric), digits);
    }),
  ]);
  return `## ${scenario.title}\n\n\`${scenario.name}\`: ${scenario.about}\n\n${markdownTable(headings, rows)}`;
}

/**
 * @param {Spread | undefined} spread
 * @param {number} digits
 */
function spreadCell(spread, digits) {
  if (spread === undefined) return "–";
  const { median, least, most } = spread;
  const middle = figure(median, digits);
  const range = `${figure(least, digits)}–${figure(most, digits)}`;
  return range === `${middle}–${middle}` ? middle : `${middle} [${range}]`;
}

/**
 * @param {number} value
 * @param {number} digits
 */
export function figure(value, digits) {
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
