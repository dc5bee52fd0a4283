// @ts-check
/**
 * Bundles src/ into what is published: for each subpath one file of each kind (ES module, CommonJS, and declarations for both), and the
 * chunks that they share. See docs/decisions/056-one-file-for-each-subpath.md.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { dts } from "rolldown-plugin-dts";
import { exportedForms } from "./declarations.mjs";
import { AT_ONCE, lateBuiltins } from "./late-builtins.mjs";
import { plainExports } from "./plain-exports.mjs";
import { restorePrivateNames } from "./private-names.mjs";
import { fileNameOf, subpaths } from "./subpaths.mjs";

/** @import { ChunkingContext, InputOptions, OutputOptions } from "rolldown" */

const root = fileURLToPath(new URL("..", import.meta.url));
const peers = Object.keys(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).peerDependencies);
/** Stands for the subpaths where something is loaded by `import()`. */
const LATER = "later";
const DRIVERS = new Set(["./ioredis", "./node-redis", "./redlock"]);
const CLIENT = join(root, "src/holdfast.ts");
/** The page of the inspector: data of which one copy, as CommonJS, is for both. */
const page = { source: join(root, "src/inspector/assets.ts"), specifier: "./assets.js", file: "page.cjs" };
/** Stack traces have to name functions and classes. */
const keepNames = { function: true, class: true };

/** @satisfies {InputOptions} */
const reading = {
  cwd: root,
  input: Object.fromEntries(
    Object.entries(subpaths).map(([subpath, source]) => [fileNameOf(subpath), join(root, source)]),
  ),
  external: [/^node:/, ...peers],
  platform: "neutral",
  resolve: { extensionAlias: { ".js": [".ts"] } },
  onLog: (_, log) => {
    throw new Error(log.message);
  },
};

/**
 * @param {string} folder gets esm/ and cjs/
 * @param {string} declarations where the compiler has put those of src/, file by file
 * @throws Error for what the bundler refuses or warns of
 */
export async function bundlePackage(folder, declarations) {
  await Promise.all([
    writeCode(join(folder, "esm"), "es", reading.input, `../cjs/${page.file}`),
    writeCode(join(folder, "cjs"), "cjs", reading.input, `./${page.file}`),
    writeCode(join(folder, "cjs"), "cjs", { page: page.source }),
    writeDeclarations(join(folder, "esm"), declarations),
  ]);
  for (const name of Object.keys(reading.input)) {
    const { text, forms } = commonJsDeclarations(join(folder, "esm", `${name}.d.ts`), `../esm/${name}.js`);
    if (forms.size === 0) throw new Error(`${name} exports nothing`);
    writeFileSync(join(folder, "cjs", `${name}.d.cts`), text);
  }
}

/**
 * @param {string} dir
 * @param {"es" | "cjs"} format
 * @param {Record<string, string>} input
 * @param {string} [pageFile] where the page is found from there
 */
async function writeCode(dir, format, input, pageFile) {
  const extension = format === "es" ? ".js" : ".cjs";
  const findsPage = {
    name: "page",
    resolveId: (/** @type {string} */ specifier) =>
      specifier === page.specifier && pageFile
        ? { id: pageFile, external: /** @type {const} */ ("absolute") }
        : null,
  };
  const bundle = await rolldown({
    ...reading,
    input,
    external: [AT_ONCE, ...peers],
    plugins: [findsPage, lateBuiltins()],
    transform: { target: "es2022" },
  });
  /** @satisfies {OutputOptions} */
  const writing = {
    format,
    exports: "named",
    entryFileNames: `[name]${extension}`,
    chunkFileNames: `[name]${extension}`,
    // Users' bundlers leave out unused calls that are marked as pure; they take the ES modules.
    comments: { legal: true, annotation: format === "es", jsdoc: false },
  };
  const groups = () => [{ name: chunkOf(), debugName: "shared" }];
  const readable = await bundle.generate({ ...writing, codeSplitting: { groups: groups() } });
  const { output } = await bundle.generate({
    ...writing,
    codeSplitting: { groups: groups() },
    minify: { mangle: { toplevel: true, keepNames }, compress: { keepNames }, codegen: true },
  });
  mkdirSync(dir, { recursive: true });
  const originals = new Map(readable.output.map((file) => [file.fileName, "code" in file ? file.code : ""]));
  for (const file of output) {
    if (file.type !== "chunk") continue;
    const code = restorePrivateNames(originals.get(file.fileName) ?? "", file.code);
    writeFileSync(join(dir, file.fileName), format === "cjs" ? plainExports(code) : code);
  }
}

/**
 * @param {string} dir
 * @param {string} declarations
 */
async function writeDeclarations(dir, declarations) {
  const input = Object.fromEntries(
    Object.entries(reading.input).map(([name, source]) => [
      name,
      join(declarations, relative(join(root, "src"), source).replace(/\.ts$/, ".d.ts")),
    ]),
  );
  const plugins = [dts({ dtsOnly: true, generator: "oxc", tsconfig: false })];
  const bundle = await rolldown({ ...reading, input, plugins });
  const groups = [{ name: "types", minShareCount: 2 }];
  await bundle.write({ dir, format: "es", chunkFileNames: "[name].d.ts", codeSplitting: { groups } });
}

/** Names the chunk of each module that several files share, and of what is loaded later; null for what only one file has. */
function chunkOf() {
  /** @type {Map<string, string | null> | undefined} */
  let chunks;
  return (/** @type {string} */ id, /** @type {ChunkingContext} */ context) => {
    chunks ??= planChunks(context);
    return chunks.get(id) ?? null;
  };
}

/** @param {ChunkingContext} context */
function planChunks(context) {
  /** @type {Map<string, Set<string>>} */
  const reached = new Map();
  const walk = (/** @type {string} */ id, /** @type {string} */ from) => {
    const roots = reached.get(id) ?? new Set();
    if (roots.has(from)) return;
    reached.set(id, roots.add(from));
    for (const imported of context.getModuleInfo(id)?.importedIds ?? []) {
      // What other subpaths import of "holdfast" is an error or an event; where it is the client, they load the core.
      if (imported !== CLIENT || from === ".") walk(imported, from);
    }
  };
  for (const [subpath, source] of Object.entries(subpaths)) walk(join(root, source), subpath);
  for (const id of [...reached.keys()]) {
    for (const loaded of context.getModuleInfo(id)?.dynamicallyImportedIds ?? []) walk(loaded, LATER);
  }
  const chunks = [...reached].map(([id, roots]) => /** @type {const} */ ([id, chunkReachedFrom(roots)]));
  return new Map([...chunks, [join(root, subpaths["."]), "core"]]);
}

/**
 * `core` has what `holdfast` loads at once, `later` what it loads when that is first needed, `drivers` what the drivers of several clients
 * have in common, and `base` what the subpaths that do without the core share with it and with each other: the bundlers of users leave out
 * a chunk that is not used, but hardly the inside of one of which they use a part.
 *
 * @param {ReadonlySet<string>} roots
 */
function chunkReachedFrom(roots) {
  const parts = [...roots].filter((root) => root !== LATER && root !== ".");
  if (parts.length === 0) return roots.has(".") ? "core" : "later";
  if (roots.size === 1) return null;
  const isOfDrivers = parts.every((subpath) => DRIVERS.has(subpath)) && !roots.has(".");
  return isOfDrivers ? "drivers" : "base";
}

/**
 * The declarations for `require` stand on those for `import`, so that a program in which both occur has one type of each thing.
 *
 * @param {string} file the declarations for `import`
 * @param {string} specifier by which those for `require` find them
 */
function commonJsDeclarations(file, specifier) {
  const mode = 'with { "resolution-mode": "import" }';
  const forms = exportedForms(file);
  const types = [...forms].flatMap(([name, form]) => (form === "type" ? [name] : []));
  const lines = [`import type * as esm from "${specifier}" ${mode};`];
  if (types.length > 0) lines.push(`export type { ${types.join(", ")} } from "${specifier}" ${mode};`);
  for (const [name, form] of forms) {
    if (form === "type") continue;
    const local = name === "default" ? "byDefault" : name;
    lines.push(`declare const ${local}: typeof esm.${name};`);
    if (form === "class") lines.push(`type ${local} = esm.${name};`);
    lines.push(`export { ${name === local ? name : `${local} as ${name}`} };`);
  }
  return { text: `${lines.join("\n")}\n`, forms };
}
