// @ts-check

/** @import { Chart } from "./catalogue.mjs" */
/** @import { ChartData } from "./chart-data.mjs" */
/** @import { Row } from "./rows.mjs" */

/**
 * What stands below the axis: how to read the picture, and what was measured with what.
 *
 * @param {Chart} chart
 * @param {ChartData} data
 * @param {readonly Row[]} rows
 * @returns {readonly string[]}
 */
export function notesOf({ scale }, data, rows) {
  const { rounds } = data;
  const middle = scale === "linear" ? "Bar" : "Diamond";
  const hasZero = rows.some(({ least }) => least <= 0);
  return [
    `${middle}: median of ${counted(rounds, "round")}. Dot: a round.`,
    ...(rounds === 1 ? [] : ["Line, and in brackets: from the least to the most."]),
    ...(scale === "log" && hasZero ? ["0 is drawn at the left end."] : []),
    ...measuredWords(data),
  ];
}

/**
 * @param {Pick<ChartData, "cores" | "load" | "node" | "servers" | "loopMs">} data
 * @returns {readonly string[]}
 */
export function measuredWords({ cores, load, node, servers, loopMs }) {
  return [
    ...(loopMs === undefined ? [] : [`A round is a loop of ${loopMs / 1_000} s.`]),
    `${counted(cores, "core")}, which had a load of ${load} when the run began,`,
    `Node ${node.replace(/^v/, "")}, ${servers.join(", ")}`,
  ];
}

/**
 * @param {number} count
 * @param {string} noun
 */
function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
