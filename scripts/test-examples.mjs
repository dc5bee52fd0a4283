// @ts-check
/**
 * Installs, checks the types of, and runs each example that has a `lastLine` in its package.json, on a Redis server of its own: that is to be
 * the last line which it prints, or which the script prints that `lastLineOf` names. An example is skipped where a program is missing that it
 * `needs`. Names of examples as arguments choose among them. Needs the registry of npm.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildNest } from "./build.mjs";
import { runCommand } from "./run-command.mjs";
import { findProgram, isExecutable } from "./setup.mjs";
import { root } from "./tiers.mjs";

const folder = join(root, "examples");
/** @param {string} name @returns {{ lastLine?: string, lastLineOf?: string, needs?: readonly string[] }} */
const packageOf = (name) => {
  const file = join(folder, name, "package.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
};
const all = readdirSync(folder).filter((name) => packageOf(name).lastLine !== undefined);
const chosen = process.argv.slice(2);
const strangers = chosen.filter((name) => !all.includes(name));
if (strangers.length > 0) {
  console.error(`there is no example ${strangers.join(", ")}: choose among ${all.join(", ")}`);
  process.exit(2);
}
const named = chosen.length === 0 ? all : chosen;
const examples = named.filter((name) => {
  const { needs = [] } = packageOf(name);
  const missing = needs.filter(
    (program) => findProgram([program], process.env["PATH"], isExecutable) === undefined,
  );
  if (missing.length > 0) console.log(`${name}: skipped, as ${missing.join(" and ")} is not on PATH`);
  return missing.length === 0;
});

const { status } = spawnSync(process.execPath, [join(root, "scripts/setup.mjs"), "--redis"], {
  stdio: "inherit",
});
if (status !== 0 || !(await buildNest())) process.exit(1);

const { REDIS_URL: _, ...env } = process.env;
/** @type {string[]} */
const failed = [];

for (const name of examples) await passes(`${name}: npm ci`, "npm", ["ci", "--no-audit", "--no-fund"], name);
// All at once, and those that were not chosen as well, where they are installed.
const isWhole = examples.length === all.length;
if (isWhole)
  await passes("types", join(root, "node_modules/.bin/tsc"), ["-p", "examples/tsconfig.json"], "..");
for (const name of examples) {
  const { lastLine: wanted, lastLineOf: script = "start" } = packageOf(name);
  const output = await passes(`${name}: npm run ${script}`, "npm", ["run", "--silent", script], name);
  const lastLine = output.trimEnd().split("\n").at(-1) ?? "";
  if (lastLine === wanted) console.log(`  ${lastLine}`);
  else {
    failed.push(`${name}: its last line`);
    console.log(`its last line is not "${wanted}":\n${output}`);
  }
}

console.log(failed.length === 0 ? "examples: all passed" : `\nFailed:\n  ${failed.join("\n  ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;

/**
 * @param {string} title
 * @param {string} command
 * @param {readonly string[]} args
 * @param {string} cwd
 */
async function passes(title, command, args, cwd) {
  const startMs = performance.now();
  const { ok, output } = await runCommand(command, args, { cwd: join(folder, cwd), env, quiet: true });
  console.log(
    `${title}: ${ok ? "passed" : "FAILED"} in ${((performance.now() - startMs) / 1_000).toFixed(1)} s`,
  );
  if (!ok) {
    failed.push(title);
    console.log(output);
  }
  return output;
}
