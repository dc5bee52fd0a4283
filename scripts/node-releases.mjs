// @ts-check
/** Other releases of Node than the one at hand: npm ships their binaries as packages. */
import { existsSync, mkdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { mustRun } from "./run-command.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const cache = join(root, "node_modules", ".cache", "holdfast-nodes");

/**
 * @param {number | string} release as 26 or "20.19"
 * @returns {Promise<string>} the path of its binary
 */
export async function installedNode(release) {
  const platform = process.platform === "win32" ? "win" : process.platform;
  const name = `node-${platform}-${process.arch}`;
  const folder = join(cache, String(release));
  const binary = join(folder, "node_modules", name, "bin", platform === "win" ? "node.exe" : "node");
  if (!existsSync(binary)) {
    mkdirSync(folder, { recursive: true });
    await mustRun("npm", ["install", "--prefix", folder, "--no-save", `${name}@${release}`]);
  }
  return binary;
}

/**
 * @param {string} node the path of its binary
 * @returns {NodeJS.ProcessEnv} in which it is first on PATH too, for whatever starts "node" by its name
 */
export function withNode(node) {
  return { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env["PATH"]}` };
}
