import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { transformWithOxc } from "vite";
import { type Edit, edited } from "./defect.js";

const PROTOCOL = "src/protocol/";

/** The folder of the repository, from wherever this was compiled to. */
export const root: string = rootAbove(import.meta.dirname);

/** The simulator as it was compiled, with the sources beside it. */
export const compiledTree: string = join(root, "build/simulation");

/** The files that the edits change, by their paths. */
export function changedFiles(edits: readonly Edit[]): Map<string, string> {
  const changed = new Map<string, string>();
  for (const edit of edits) {
    const source = changed.get(edit.file) ?? readFileSync(join(root, edit.file), "utf8");
    changed.set(edit.file, edited(source, edit));
  }
  return changed;
}

/** The sources that are to be compiled anew. A changed Lua script changes a module that is generated from all of them. */
export async function changedSources(edits: readonly Edit[]): Promise<ReadonlyMap<string, string>> {
  const changed = changedFiles(edits);
  const scripts = [...changed.keys()].filter((file) => file.endsWith(".lua"));
  if (scripts.length === 0) return changed;
  const { renderModules } = await generator();
  const stale = Object.entries(renderModules(await readScripts(changed)))
    .map(([file, text]) => [PROTOCOL + file, text] as const)
    .filter(([file, text]) => text !== readFileSync(join(root, file), "utf8"));
  if (stale.length === 0)
    throw new Error(`what was changed in ${scripts.join(", ")} is not sent to the server`);
  for (const script of scripts) changed.delete(script);
  for (const [file, text] of stale) changed.set(file, text);
  return changed;
}

/** What is sent to a server of each script, where some of the files are other than on disk. */
export async function flatScripts(
  changed: ReadonlyMap<string, string>,
): Promise<readonly { readonly name: string; readonly lua: string }[]> {
  const scripts = await readScripts(changed);
  return scripts.map(({ name, parts }) => ({ name, lua: parts.map(({ text }) => text).join("\n") }));
}

async function readScripts(changed: ReadonlyMap<string, string>): Promise<readonly Script[]> {
  const { readScripts: read } = await generator();
  return read((file) => {
    const path = `${PROTOCOL}scripts/${file}`;
    return changed.get(path) ?? readFileSync(join(root, path), "utf8");
  });
}

/** What the compiler makes of a source. @throws Error where it is no TypeScript */
export async function compiled(file: string, source: string): Promise<string> {
  const { code } = await transformWithOxc(source, join(root, file), {
    target: "es2022",
    tsconfig: false,
    typescript: { onlyRemoveTypeImports: true },
  });
  return code;
}

/** Makes a copy of the compiled tree in which only the changed sources are compiled anew. */
export async function buildVariant(edits: readonly Edit[], folder: string): Promise<void> {
  const changed = await changedSources(edits);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(dirname(folder), { recursive: true });
  cpSync(compiledTree, folder, { recursive: true, filter: (path) => !path.endsWith(".map") });
  const { exposePrivates } = await exposer();
  for (const [file, source] of changed) {
    const target = join(folder, file.replace(/\.ts$/, ".js"));
    if (!existsSync(target)) throw new Error(`${target} is missing`);
    // As the build does: what the checker looks at from outside is found by these names.
    writeFileSync(target, exposePrivates(await compiled(file, source), file));
  }
}

interface Script {
  readonly name: string;
  readonly parts: readonly { readonly text: string }[];
}

interface Generator {
  readScripts(read: (file: string) => string): readonly Script[];
  renderModules(scripts: readonly Script[]): Readonly<Record<string, string>>;
}

interface Exposer {
  exposePrivates(code: string, file: string): string;
}

function exposer(): Promise<Exposer> {
  return import(pathToFileURL(join(root, "scripts/expose-privates.mjs")).href) as Promise<Exposer>;
}

/** A program of the repository, which is not compiled with the simulator. */
function generator(): Promise<Generator> {
  return import(pathToFileURL(join(root, "scripts/generate-scripts.mjs")).href) as Promise<Generator>;
}

function rootAbove(folder: string): string {
  if (existsSync(join(folder, "package-lock.json"))) return folder;
  const above = dirname(folder);
  if (above === folder) throw new Error("the repository has no package-lock.json");
  return rootAbove(above);
}
