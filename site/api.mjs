// @ts-check
/**
 * Writes the reference of the API as Markdown to build/site/api, from the declarations in dist/: a folder for each subpath of the package.
 * TypeDoc can not read TypeScript 7 yet, so this folder has a compiler of its own.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Application, LogLevel } from "typedoc";
import { fileNameOf, specifierOf, subpaths } from "../scripts/subpaths.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const out = join(root, "build/site/api");
/** What users import, by the name of its declarations. */
const specifiers = new Map(
  Object.keys(subpaths).map((subpath) => [fileNameOf(subpath), specifierOf(subpath)]),
);

/** Options of the plugin, which the types of TypeDoc do not know. */
const asMarkdown = {
  plugin: ["typedoc-plugin-markdown"],
  entryFileName: "index",
  hideBreadcrumbs: true,
  hidePageHeader: true,
  parametersFormat: "table",
  useCodeBlocks: true,
};
const app = await Application.bootstrapWithPlugins({
  ...asMarkdown,
  entryPoints: [...specifiers.keys()].map((file) => join(root, `dist/esm/${file}.d.ts`)),
  tsconfig: fileURLToPath(new URL("tsconfig.api.json", import.meta.url)),
  name: "API",
  readme: "none",
  router: "member",
  out,
  disableSources: true,
  excludeExternals: true,
  excludeInternal: true,
  excludePrivate: true,
  logLevel: LogLevel.Warn,
});
const project = await app.convert();
if (project === undefined) throw new Error("TypeDoc could not read the declarations");

// TypeDoc calls a module by its file.
for (const module of project.children ?? []) {
  const name = specifiers.get(module.name);
  if (name === undefined) throw new Error(`TypeDoc found a module ${module.name} that no subpath has`);
  module.name = name;
}

rmSync(out, { recursive: true, force: true });
await app.generateOutputs(project);
if (app.logger.hasWarnings() || app.logger.hasErrors()) process.exitCode = 1;
