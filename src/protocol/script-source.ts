import { createHash } from "node:crypto";
import type { ScriptSource } from "./script-call.js";

/** A Lua script under the name that servers know it by. */
export function scriptSource(name: string, lua: string): ScriptSource {
  return { name, lua, sha1: createHash("sha1").update(lua).digest("hex") };
}
