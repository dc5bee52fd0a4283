// @ts-check

/**
 * A line of a terminal, and when it was written.
 *
 * @typedef {object} RecordedLine
 * @property {number} atMs since the recording began
 * @property {string} text with the codes of colours
 */

const COLUMNS = 80;
const ROWS = 26;
const CELL_WIDTH = 8.4;
const LINE_HEIGHT = 18;
const PADDING = 14;
const WIDTH = Math.ceil(COLUMNS * CELL_WIDTH + 2 * PADDING);
const HEIGHT = ROWS * LINE_HEIGHT + 2 * PADDING;
/** How long the last line stays before all begins anew. */
const END_MS = 4_000;

/** What the codes of `util.styleText` turn on, as the class of a span. */
const TURNED_ON = new Map([
  [1, "b"],
  [2, "d"],
  [31, "r"],
  [32, "g"],
  [33, "y"],
  [34, "u"],
  [35, "m"],
  [36, "c"],
]);
const COLOURS = "rgyumc";

/** On the dark background of GitHub, each with a contrast of 4.5 at least. */
const STYLE = [
  "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d1d7e0;white-space:pre}",
  ".b{font-weight:700;fill:#f0f6fc}.d{fill:#9198a1}",
  ".r{fill:#ff7b72}.g{fill:#57c764}.y{fill:#e3b341}.u{fill:#79b8ff}.m{fill:#e48bd6}.c{fill:#56c8d8}",
].join("");

/**
 * Draws what a terminal has shown as an SVG that plays it again and again. Lines come one below the other, so one movement upwards is all that
 * there is to animate. For readers who want less motion it stands still at its end.
 *
 * @param {readonly RecordedLine[]} lines
 * @param {string} title what a screen reader says
 * @returns {string}
 */
export function drawRecording(lines, title) {
  const totalMs = (lines.at(-1)?.atMs ?? 0) + END_MS;
  const drawn = lines.map(({ text }, index) => drawLine(text, index)).filter((line) => line !== "");
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="${escaped(title)}">`,
    `<style>${STYLE}${movement(lines, totalMs)}</style>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" rx="8" fill="#0d1117"/>`,
    `<svg x="${PADDING}" y="${PADDING}" width="${WIDTH - 2 * PADDING}" height="${ROWS * LINE_HEIGHT}"><g class="p">`,
    ...drawn,
    "</g></svg></svg>\n",
  ].join("\n");
}

/**
 * The newest line stands at the bottom.
 *
 * @param {readonly RecordedLine[]} lines @param {number} totalMs
 */
function movement(lines, totalMs) {
  const at = (/** @type {number} */ shown) => `transform:translateY(${(ROWS - shown) * LINE_HEIGHT}px)`;
  /** @type {Map<string, number>} what is shown from which part of the time on; lines of one moment come together */
  const steps = new Map();
  for (const [index, { atMs }] of lines.entries()) steps.set(((100 * atMs) / totalMs).toFixed(2), index + 1);
  const frames = [...steps].map(([percent, shown]) => `${percent}%{${at(shown)}}`).join("");
  return [
    `.p{${at(lines.length)}}`,
    `@media (prefers-reduced-motion:no-preference){.p{animation:p ${(totalMs / 1_000).toFixed(1)}s step-end infinite}}`,
    `@keyframes p{${frames}100%{${at(lines.length)}}}`,
  ].join("");
}

/** @param {string} text @param {number} index */
function drawLine(text, index) {
  const spans = spansOf(text);
  const letters = [...spans.map((span) => span.text).join("")].length;
  if (letters === 0) return "";
  const inside = spans
    .map((span) =>
      span.classes === ""
        ? escaped(span.text)
        : `<tspan class="${span.classes}">${escaped(span.text)}</tspan>`,
    )
    .join("");
  const y = index * LINE_HEIGHT + 13;
  // The length makes columns stand below each other in any font.
  return `<text y="${y}" textLength="${(letters * CELL_WIDTH).toFixed(1)}" lengthAdjust="spacingAndGlyphs" xml:space="preserve">${inside}</text>`;
}

/**
 * @param {string} text
 * @returns {{ text: string, classes: string }[]}
 */
function spansOf(text) {
  /** @type {Set<string>} */
  const on = new Set();
  const [before = "", ...parts] = text.trimEnd().split("\u001b[");
  const spans = [{ text: before, classes: "" }];
  for (const part of parts) {
    const [, code = "", said = ""] = /^(\d+)m(.*)$/.exec(part) ?? [];
    turn(on, Number(code));
    spans.push({ text: said, classes: [...on].join(" ") });
  }
  return spans.filter((span) => span.text !== "");
}

/** @param {Set<string>} on @param {number} code */
function turn(on, code) {
  const name = TURNED_ON.get(code);
  if (code === 22) for (const weight of "bd") on.delete(weight);
  if (code === 39 || (name !== undefined && COLOURS.includes(name)))
    for (const colour of COLOURS) on.delete(colour);
  if (name !== undefined) on.add(name);
  else if (code !== 22 && code !== 39) throw new Error(`the recording has a code that is not known: ${code}`);
}

/** @param {string} text */
function escaped(text) {
  return text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
