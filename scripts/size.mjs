// @ts-check
/**
 * Fails when what a subpath costs its users (bundled, minified and gzipped, peers left out) is above its limit
 * in size-limits.json, or when a subpath has no limit.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, minifySync } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
/** @param {string} file */
const readJson = (file) => JSON.parse(readFileSync(join(root, file), "utf8"));

const { exports, peerDependencies } = readJson("package.json");
const limits = readJson("scripts/size-limits.json");

/**
 * @param {string} entry
 * @returns {Promise<number>} bytes
 */
async function gzippedSize(entry) {
  const result = await build({
    root,
    configFile: false,
    logLevel: "error",
    build: {
      write: false,
      target: "es2022",
      // Vite spares the whitespace of ESM libraries, so minify afterwards.
      minify: false,
      lib: { entry: join(root, entry), formats: ["es"] },
      rolldownOptions: { external: [/^node:/, ...Object.keys(peerDependencies)] },
    },
  });
  const outputs = [result].flat().flatMap((bundle) => ("output" in bundle ? bundle.output : []));
  const code = outputs.map((chunk) => (chunk.type === "chunk" ? chunk.code : "")).join("");
  return gzipSync(minifySync("bundle.js", code).code).length;
}

for (const subpath of Object.keys(exports)) {
  if (subpath === "./package.json") continue;
  const size = await gzippedSize(exports[subpath].default.default);
  const limit = limits[subpath];
  const fits = size <= limit;
  console.log(`${subpath.padEnd(14)} ${size} bytes gzipped, limit ${limit}${fits ? "" : "  TOO LARGE"}`);
  if (!fits) process.exitCode = 1;
}
