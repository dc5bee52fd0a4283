// @ts-check
/**
 * Writes what has to name each subpath as JSON, from scripts/subpaths.mjs: the `exports` of package.json and tsconfig.paths.json.
 *
 *   node scripts/generate-exports.mjs
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fileNameOf, specifierOf, subpaths } from "./subpaths.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * `module-sync` comes first: on Node 20.19 and later `import` and `require` then load one ES module, so that a process has one copy of the
 * state and of each class. `require` is for Jest and older tools. TypeScript finds the declarations beside each file.
 *
 * @returns {Record<string, unknown>}
 */
export function exportsField() {
  const entries = Object.keys(subpaths).map((subpath) => {
    const name = fileNameOf(subpath);
    const esm = `./dist/esm/${name}.js`;
    return [subpath, { "module-sync": esm, require: `./dist/cjs/${name}.cjs`, default: esm }];
  });
  return { ...Object.fromEntries(entries), "./package.json": "./package.json" };
}

/** So that demo and child programs are checked against the sources, without a build. */
export function typescriptPaths() {
  const paths = Object.entries(subpaths).map(([subpath, source]) => [specifierOf(subpath), [`./${source}`]]);
  return { compilerOptions: { paths: Object.fromEntries(paths) } };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  write("package.json", textOf({ ...manifest, exports: exportsField() }));
  // As the formatter has it.
  write("tsconfig.paths.json", textOf(typescriptPaths()).replace(/\[\s+("[^"]+")\s+\]/g, "[$1]"));
}

/** @param {unknown} value */
function textOf(value) {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/**
 * @param {string} file
 * @param {string} text
 */
function write(file, text) {
  writeFileSync(join(root, file), text);
}
