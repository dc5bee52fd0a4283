import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * A subpath of the build that is measured. An older build has other files, which its own manifest names.
 *
 * @param {{ readonly dist: string }} settings
 * @param {string} subpath
 */
export function builtModule({ dist }, subpath) {
  const folder = join(dist, "../..");
  const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const entry = exports[subpath].default;
  return import(pathToFileURL(join(folder, entry.default ?? entry)).href);
}
