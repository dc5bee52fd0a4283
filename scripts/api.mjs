// @ts-check
/**
 * Keeps docs/reference/api.txt: what each subpath exports, and every declaration that is reachable from there,
 * without comments. A change of the public API so shows in review.
 *
 *   node scripts/api.mjs           writes the file
 *   node scripts/api.mjs --check   fails when it differs from what is built
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "./build.mjs";
import { publicApi } from "./declarations.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const target = join(root, "docs", "reference", "api.txt");

if (!(await build({ packageOnly: true }))) process.exit(1);
const wanted = render();
if (process.argv.includes("--check")) check();
else writeFileSync(target, wanted);

function render() {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const subpaths = Object.keys(exports).filter((subpath) => subpath !== "./package.json");
  const api = publicApi(
    subpaths.map((subpath) => join(root, exports[subpath].default.replace(/\.js$/, ".d.ts"))),
  );
  const lists = subpaths.map((subpath, i) => {
    const names = api.exported[i] ?? [];
    return `${subpath.replace(/^\./, "holdfast")}\n${names.map((name) => `  ${name}\n`).join("")}`;
  });
  const intro =
    "Written by `npm run api`. What each subpath exports, then all that is reachable from there.\n";
  return [intro, ...lists, ...api.declarations].join("\n");
}

function check() {
  const committed = existsSync(target) ? readFileSync(target, "utf8") : "";
  if (committed === wanted) return;
  const [old, fresh] = [new Set(committed.split("\n")), new Set(wanted.split("\n"))];
  for (const line of old) if (!fresh.has(line)) console.error(`- ${line}`);
  for (const line of fresh) if (!old.has(line)) console.error(`+ ${line}`);
  console.error(`The public API differs from ${relative(root, target)}. If that is meant: npm run api`);
  process.exitCode = 1;
}
