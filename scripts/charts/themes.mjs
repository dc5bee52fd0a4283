// @ts-check

/** @import { Series } from "./chart-data.mjs" */

/**
 * @typedef {object} Theme
 * @property {string} name
 * @property {string} background
 * @property {string} text
 * @property {string} quietText
 * @property {string} grid
 * @property {Readonly<Record<Series["role"], string>>} roles told apart with any kind of colour vision: they differ in lightness too
 * @property {readonly string[]} lines of libraries other than holdfast, which have symbols and names beside
 */

/**
 * On GitHub's own backgrounds. The colours of the roles are, or are near to, those of Okabe and Ito.
 *
 * @type {readonly Theme[]}
 */
export const themes = [
  {
    name: "light",
    background: "#ffffff",
    text: "#1f2328",
    quietText: "#59636e",
    grid: "#d1d9e0",
    roles: { ours: "#0072b2", peer: "#e07b00", raw: "#8c959f", other: "#452d1b" },
    lines: ["#c96a00", "#007f5f", "#b5488a", "#7d6500", "#6f42c1", "#59636e"],
  },
  {
    name: "dark",
    background: "#0d1117",
    text: "#f0f6fc",
    quietText: "#9198a1",
    grid: "#30363d",
    roles: { ours: "#56b4e9", peer: "#d9730d", raw: "#7d8590", other: "#f2e58b" },
    lines: ["#e5862b", "#2fc59b", "#e58bc0", "#e3cf5b", "#b091f5", "#9198a1"],
  },
];

/** What the legend says of each role. */
export const roleNames = /** @type {const} */ ({
  ours: "holdfast",
  peer: "other libraries",
  raw: "bare commands",
  other: "other systems",
});
