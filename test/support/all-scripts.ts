import * as later from "../../src/protocol/later-scripts.js";
import * as first from "../../src/protocol/scripts.js";

export type ScriptName = first.ScriptName | later.ScriptName;

/** All scripts of the package, by name. */
export const sources = { ...first.sources, ...later.sources };
