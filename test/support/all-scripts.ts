import { sources as later } from "../../src/protocol/later-scripts.js";
import { sources as first } from "../../src/protocol/scripts.js";

/** All scripts of the package, by name. */
export const sources = { ...first, ...later };

export type ScriptName = keyof typeof sources;
