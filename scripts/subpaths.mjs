// @ts-check
/**
 * What users can import, and from which source each subpath is built. A new subpath is one line here: `npm run generate` writes the
 * `exports` of package.json and tsconfig.paths.json from it, and the build, the tests and knip read it. It also needs a limit in
 * size-limits.json.
 */
export const subpaths = {
  ".": "src/index.ts",
  "./ioredis": "src/driver/ioredis/index.ts",
  "./node-redis": "src/driver/node-redis/index.ts",
  "./valkey-glide": "src/driver/valkey-glide/index.ts",
  "./memory": "src/memory/index.ts",
  "./inspector": "src/inspector/index.ts",
  "./otel": "src/otel/index.ts",
  "./recipes": "src/recipes/index.ts",
  "./redlock": "src/redlock/index.ts",
  "./watch": "src/watch/index.ts",
  "./driver-test": "src/driver/conformance/index.ts",
};

/**
 * @param {string} subpath
 * @returns {string} the name of its files in dist/
 */
export function fileNameOf(subpath) {
  return subpath === "." ? "index" : subpath.slice("./".length);
}

/**
 * @param {string} subpath
 * @returns {string} what a program imports
 */
export function specifierOf(subpath) {
  return subpath.replace(/^\./, "holdfast");
}
