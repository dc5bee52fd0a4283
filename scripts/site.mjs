// @ts-check
/**
 * Builds the site from the documents: the package (for its declarations), the reference of the API as Markdown, then the pages, in
 * build/site/dist. Installs the packages of site/ where they are missing. A link that leads nowhere fails the build.
 *
 *   node scripts/site.mjs                     builds
 *   node scripts/site.mjs --base /holdfast/   for a server that has the site below this path
 *   node scripts/site.mjs --dev               serves it, and follows changes of the documents
 *   node scripts/site.mjs --look              builds, and takes pictures of pages in Chromium, from 320 to 1,600 px, light and dark
 *   HOLDFAST_NO_INSTALL=1                     installs nothing: says what is missing and stops
 */
import { join } from "node:path";
import { build } from "./build.mjs";
import { provideFolderPackages } from "./folder-packages.mjs";
import { runCommand } from "./run-command.mjs";
import { root } from "./tiers.mjs";

const folder = join(root, "site");
const compiler = join(root, "node_modules/typescript/bin/tsc");
const vitepress = join(folder, "node_modules/vitepress/bin/vitepress.js");
const args = process.argv.slice(2);
const [dev, look] = ["--dev", "--look"].map((option) => args.includes(option));
const others = args.filter((arg) => arg !== "--dev" && arg !== "--look");

const steps = [
  [compiler, "-p", folder],
  [join(folder, "api.mjs")],
  [vitepress, dev ? "dev" : "build", folder, ...others],
  ...(look
    ? [[join(root, "scripts/setup.mjs"), "--chromium"], [join(root, "scripts/site-pictures.mjs")]]
    : []),
];
process.exitCode = (await run()) ? 0 : 1;

async function run() {
  if (!(await provideFolderPackages("site")) || !(await build({ packageOnly: true }))) return false;
  for (const step of steps) if (!(await runCommand(process.execPath, step, { cwd: root })).ok) return false;
  return true;
}
