// @ts-check
/**
 * Plays two scenes of the demo and draws what it showed, for the README: docs/pictures/demo.svg. Times and process ids are those of the run.
 * Needs the built demo, which `npm run demo:record` makes.
 */
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { drawRecording } from "./recording/svg.mjs";
import { root } from "./tiers.mjs";

const SCENES = ["killed", "frozen"];
const MOST_BYTES = 150_000;
const picture = join(root, "docs/pictures/demo.svg");

/** @param {string} name of a module of the built demo */
const built = (name) => import(pathToFileURL(join(root, "build/demo", name)).href);
const [{ allScenes }, { playScenes }, { allTrue }, { EmbeddedStage }, { Screen }] = await Promise.all(
  ["scenes/all-scenes.js", "play.js", "summary.js", "stage/embedded-stage.js", "terminal/screen.js"].map(
    built,
  ),
);

/** @type {import("./recording/svg.mjs").RecordedLine[]} */
const lines = [{ atMs: 0, text: `$ npm run demo -- ${SCENES.map((name) => `--scene ${name}`).join(" ")}` }];
const startMs = performance.now();
/** As a terminal of 80 columns that has colours. */
const output = {
  isTTY: true,
  columns: 80,
  hasColors: () => true,
  /** @param {string} text whole lines */
  write: (text) => {
    const atMs = performance.now() - startMs;
    for (const line of text.split("\n").slice(0, -1)) lines.push({ atMs, text: line });
  },
};

const stage = new EmbeddedStage();
const scenes = allScenes.filter((/** @type {{ name: string }} */ { name }) => SCENES.includes(name));
const played = await playScenes(scenes, stage, new Screen(output, 1_500));
await stage.close();
if (!allTrue(played)) throw new Error("a check of the demo was not true: nothing was drawn");

writeFileSync(
  picture,
  drawRecording(lines, "The demo: a process with a lock is killed, another one is stopped and runs on"),
);
const { size } = statSync(picture);
console.log(`${lines.length} lines, ${size} bytes: docs/pictures/demo.svg`);
if (size > MOST_BYTES) throw new Error(`the picture has more than ${MOST_BYTES} bytes`);
