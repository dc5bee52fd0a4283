// @ts-check
/**
 * Runs the tests of packages/nestjs: those of its sources, and those of a shop that is compiled to ES modules and to CommonJS against the
 * packed packages on each release of Nest. Arguments go to Vitest.
 *
 *   HOLDFAST_NO_INSTALL=1   installs nothing: says what is missing and stops
 */
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildNest } from "./build.mjs";
import { provideFolderPackages } from "./folder-packages.mjs";
import { installPacked } from "./install-packed.mjs";
import { runCommand } from "./run-command.mjs";
import { root, runTier } from "./tiers.mjs";

const tests = "packages/nestjs/test";
const releases = readdirSync(join(root, tests, "releases"));
const compiler = join(root, "node_modules/typescript/bin/tsc");
const moduleSystems = {
  esm: { type: "module", options: ["--module", "nodenext"] },
  cjs: { type: "commonjs", options: ["--module", "commonjs", "--moduleResolution", "bundler"] },
};

/** @param {string} release a folder with the packages that the shop needs */
async function provideShop(release) {
  const folder = join(tests, "releases", release);
  if (!(await provideFolderPackages(folder))) return false;
  await installPacked(join(root, folder));
  const compiled = Object.entries(moduleSystems).map(async ([name, { type, options }]) => {
    const build = join(root, folder, "build", name);
    rmSync(build, { recursive: true, force: true });
    mkdirSync(build, { recursive: true });
    // Beside its packages, so that they are found from there.
    cpSync(join(root, tests, "shop"), build, { recursive: true });
    writeFileSync(join(build, "package.json"), JSON.stringify({ type }));
    const decorators = ["--experimentalDecorators", "--emitDecoratorMetadata"];
    const checks = ["--target", "es2022", "--strict", "--skipLibCheck", "--types", "node"];
    const { ok } = await runCommand(
      process.execPath,
      [compiler, "--ignoreConfig", ...options, ...decorators, ...checks, "main.ts"],
      { cwd: build },
    );
    return ok;
  });
  cpSync(join(root, tests, "jest"), join(root, folder, "build/jest"), { recursive: true });
  return (await Promise.all(compiled)).every(Boolean);
}

const args = process.argv.slice(2);
let ok = await buildNest();
for (const release of releases) ok = ok && (await provideShop(release));
ok = ok && (await runTier("nest", ["--project", "nest*", ...args], { isWhole: args.length === 0 })).ok;
process.exitCode = ok ? 0 : 1;
