// @ts-check
import { median } from "../../bench/support/statistics.mjs";

/** @import { Growth, GrowthData } from "./growth-data.mjs" */
/** @import { Theme } from "./themes.mjs" */

/** Lines are told apart without their colour as well. */
const SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left"];
/** From name to name. */
const NAME_GAP = 19;

/**
 * @typedef {object} Point
 * @property {string} library
 * @property {string} color
 * @property {string} shape
 * @property {number} clients
 * @property {number} median
 * @property {number} least
 * @property {number} most
 */

/** @typedef {Pick<Growth, "library" | "role"> & { readonly color: string, readonly points: readonly Point[] }} Line */

/**
 * @param {GrowthData} data
 * @param {Theme} theme
 * @returns {readonly Line[]}
 */
export function linesOf({ clients, series }, theme) {
  const others = series.filter(({ role }) => role !== "ours");
  return series.map(({ library, role, values }, i) => {
    const place = others.findIndex((one) => one.library === library);
    const color = (place < 0 ? undefined : theme.lines[place % theme.lines.length]) ?? theme.roles[role];
    const shape = SHAPES[i % SHAPES.length] ?? "circle";
    const points = values.flatMap((rounds, step) =>
      rounds.length === 0
        ? []
        : [
            {
              library,
              color,
              shape,
              clients: clients[step] ?? 0,
              median: median(rounds),
              least: Math.min(...rounds),
              most: Math.max(...rounds),
            },
          ],
    );
    return { library, role, color, points };
  });
}

/**
 * Where the names stand, beside the last points of their lines, and apart from each other.
 *
 * @param {readonly Line[]} lines
 * @param {(value: number) => number} placeOf
 * @param {number} height
 */
export function placeNames(lines, placeOf, height) {
  const names = lines
    .map(({ library, role, color, points }) => {
      const lastY = placeOf(points.at(-1)?.median ?? 1);
      return { library, role, color, lastY, y: lastY };
    })
    .sort((a, b) => a.y - b.y);
  let leastY = 0;
  for (const name of names) {
    name.y = Math.max(name.y, leastY);
    leastY = name.y + NAME_GAP;
  }
  let mostY = height;
  for (const name of names.toReversed()) {
    name.y = Math.min(name.y, mostY);
    mostY = name.y - NAME_GAP;
  }
  return names;
}
