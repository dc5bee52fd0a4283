// @ts-check
/**
 * Builds what is stale: dist/ (the package, bundled from src/), build/ (the demo and the child programs of the
 * tests, which import the package by its name), build/modules/ (src/ module by module, for tests on other releases of Node),
 * build/simulation/ (the simulator, with a copy of src/), packages/cli/dist/ (the command line) and packages/nestjs/dist/. Fresh output is made
 * beside the old and then swapped in, folder by folder, so that a program started meanwhile, or a second build, never meets half of
 * one.
 *
 *   node scripts/build.mjs --package      dist/ alone
 *   node scripts/build.mjs --cli          dist/ and packages/cli/dist/
 *   node scripts/build.mjs --nest         dist/ and packages/nestjs/dist/
 *   node scripts/build.mjs --modules      build/modules/ alone
 *   node scripts/build.mjs --simulation   build/simulation/ alone
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundlePackage } from "./bundle.mjs";
import { exposeFolder } from "./expose-privates.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
const packageInputs = [
  "src",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "tsconfig.build.json",
  "scripts/bundle.mjs",
  "scripts/declarations.mjs",
  "scripts/late-builtins.mjs",
  "scripts/plain-exports.mjs",
  "scripts/private-names.mjs",
  "scripts/subpaths.mjs",
];
const moduleInputs = ["src", "tsconfig.json", "tsconfig.modules.json"];
const commandLineInputs = ["packages/cli/src", "packages/cli/tsconfig.json"];
const nestInputs = [
  "packages/nestjs/src",
  "packages/nestjs/tsconfig.json",
  "packages/nestjs/tsconfig.build.json",
];
const programInputs = ["demo", "test/support", "tsconfig.programs.json"];
const simulationInputs = [
  "src",
  "test/simulation",
  "test/support",
  "tsconfig.json",
  "tsconfig.simulation.json",
  "scripts/expose-privates.mjs",
];
/** Outside dist/, which is published, and outside build/, which is swapped. */
const stampFile = join(root, "node_modules", ".cache", "holdfast-build.json");

/**
 * @param {{ keepGoing?: boolean, packageOnly?: boolean }} [options] keepGoing: take output in spite of type
 *   errors and do not print them, so that tests can run on unfinished work; it counts as stale.
 * @returns {Promise<boolean>} false when the compiler found errors
 */
export async function build({ keepGoing = false, packageOnly = false } = {}) {
  const before = readStamp();
  const stamp = { package: digest(packageInputs), programs: digest([...packageInputs, ...programInputs]) };
  let sound = before.package === stamp.package && existsSync(join(root, "dist"));
  if (!sound) {
    writeStamp({ package: undefined, programs: undefined });
    sound = await produce("dist", keepGoing, [bundled]);
    if (sound) writeStamp({ package: stamp.package });
    else if (!keepGoing) return false;
  }
  if (packageOnly) return sound;
  sound = (await buildModules({ keepGoing })) && sound;
  if (sound && before.programs === stamp.programs && existsSync(join(root, "build/demo"))) return true;
  writeStamp({ programs: undefined });
  sound = (await produce("build", keepGoing, [compiled("tsconfig.programs.json")])) && sound;
  if (sound) writeStamp(stamp);
  return sound;
}

/**
 * The command line imports the built package, as its users do.
 *
 * @returns {Promise<boolean>} false when the compiler found errors
 */
export async function buildCommandLine() {
  if (!(await build({ packageOnly: true }))) return false;
  const stamp = digest(commandLineInputs);
  if (readStamp().commandLine === stamp && existsSync(join(root, "packages/cli/dist/main.js"))) return true;
  writeStamp({ commandLine: undefined });
  const sound = await produce("packages/cli", false, [compiled("packages/cli/tsconfig.json", "dist")]);
  if (sound) {
    chmodSync(join(root, "packages/cli/dist/main.js"), 0o755);
    writeStamp({ commandLine: stamp });
  }
  return sound;
}

/**
 * The package for Nest, which imports the built package as well.
 *
 * @returns {Promise<boolean>} false when the compiler found errors
 */
export async function buildNest() {
  if (!(await build({ packageOnly: true }))) return false;
  const stamp = digest(nestInputs);
  if (readStamp().nest === stamp && existsSync(join(root, "packages/nestjs/dist/esm"))) return true;
  writeStamp({ nest: undefined });
  const sound = await produce("packages/nestjs/dist", false, [
    compiled("packages/nestjs/tsconfig.build.json", "esm"),
    compiled("packages/nestjs/tsconfig.cjs.json", "cjs"),
  ]);
  if (sound) writeStamp({ nest: stamp });
  return sound;
}

/**
 * The simulator has the sources compiled into its own folder, so the package need not be built for it. In that copy all state can be
 * reached from outside.
 *
 * @returns {Promise<boolean>} false when the compiler found errors
 */
export async function buildSimulation() {
  const stamp = digest(simulationInputs);
  if (readStamp().simulation === stamp && existsSync(join(root, "build/simulation/test"))) return true;
  writeStamp({ simulation: undefined });
  const sound = await produce("build/simulation", false, [compiled("tsconfig.simulation.json")]);
  if (sound) writeStamp({ simulation: stamp });
  return sound;
}

/**
 * The sources compiled module by module: what is published has no files for the inside, which tests on other releases of Node import by
 * path, and so do a program that counts the functions of a call, and benchmarks.
 *
 * @param {{ keepGoing?: boolean }} [options] as of `build`
 * @returns {Promise<boolean>} false when the compiler found errors
 */
export async function buildModules({ keepGoing = false } = {}) {
  const stamp = digest(moduleInputs);
  if (readStamp().modules === stamp && existsSync(join(root, "build/modules"))) return true;
  writeStamp({ modules: undefined });
  const sound = await produce("build", keepGoing, [compiled("tsconfig.modules.json", "modules")]);
  if (sound) writeStamp({ modules: stamp });
  return sound;
}

/** @typedef {{ package?: string | undefined, programs?: string | undefined, simulation?: string | undefined, commandLine?: string | undefined, nest?: string | undefined, modules?: string | undefined }} Stamp */

/** @returns {Stamp} */
function readStamp() {
  return existsSync(stampFile) ? JSON.parse(readFileSync(stampFile, "utf8")) : {};
}

/**
 * Says what the output is made of. Taken back (undefined) before a build, so that one which fails or is cut off leaves
 * nothing that passes for fresh.
 *
 * @param {Stamp} changes
 */
function writeStamp(changes) {
  mkdirSync(dirname(stampFile), { recursive: true });
  writeFileSync(stampFile, JSON.stringify({ ...readStamp(), ...changes }));
}

/**
 * A fingerprint of contents, not of times: a checkout changes either without the other.
 *
 * @param {readonly string[]} inputs files and folders
 */
function digest(inputs) {
  const hash = createHash("sha1").update(readFileSync(join(root, "node_modules/typescript/package.json")));
  for (const path of inputs.flatMap(filesUnder)) {
    hash.update(`\n${path}\n`).update(readFileSync(join(root, path)));
  }
  return hash.digest("hex");
}

/**
 * @param {string} path
 * @returns {string[]}
 */
function filesUnder(path) {
  if (!existsSync(join(root, path))) return [];
  if (/\.m?js(on)?$/.test(path)) return [path];
  const files = readdirSync(join(root, path), { recursive: true, encoding: "utf8" });
  return files
    .filter((file) => file.endsWith(".ts"))
    .sort()
    .map((file) => join(path, file));
}

/**
 * @typedef {(folder: string, keepGoing: boolean) => Promise<unknown>} Maker writes into a fresh folder; resolves to false when the compiler
 *   found errors
 */

/**
 * @param {string} target folder below the root
 * @param {boolean} keepGoing
 * @param {readonly Maker[]} makers
 */
async function produce(target, keepGoing, makers) {
  const fresh = join(root, `${target}.next-${process.pid}`);
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  try {
    const runs = makers.map((make) => make(fresh, keepGoing));
    const sound = (await Promise.all(runs)).every((outcome) => outcome !== false);
    if (!sound && !keepGoing) return false;
    if (target === "build/simulation") exposeFolder(join(fresh, "src"));
    if (target === "packages/nestjs/dist") {
      const manifest = { type: "commonjs", sideEffects: false };
      writeFileSync(join(fresh, "cjs", "package.json"), `${JSON.stringify(manifest)}\n`);
    }
    mkdirSync(join(root, target), { recursive: true });
    for (const name of readdirSync(fresh)) swapIn(join(fresh, name), join(root, target, name));
    return sound;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/**
 * @param {string} project
 * @param {string} [subfolder]
 * @returns {Maker}
 */
function compiled(project, subfolder = "") {
  return (folder, keepGoing) => compile(project, ["--outDir", join(folder, subfolder)], keepGoing);
}

/** @type {Maker} */
async function bundled(folder, keepGoing) {
  const declarations = join(folder, "declarations");
  const sound = await compile("tsconfig.build.json", ["--outDir", declarations], keepGoing);
  if (sound || keepGoing) await bundlePackage(folder, declarations);
  rmSync(declarations, { recursive: true, force: true });
  return sound;
}

/**
 * @param {string} project
 * @param {readonly string[]} options
 * @param {boolean} quiet
 * @returns {Promise<boolean>}
 */
function compile(project, options, quiet) {
  return new Promise((resolve, reject) => {
    const args = [compiler, "-p", join(root, project), ...options];
    spawn(process.execPath, args, { stdio: quiet ? "ignore" : "inherit", cwd: root })
      .on("error", reject)
      .on("close", (code) => resolve(code === 0));
  });
}

/**
 * @param {string} fresh
 * @param {string} target
 */
function swapIn(fresh, target) {
  const old = `${target}.next-${process.pid}`;
  try {
    if (existsSync(target)) renameSync(target, old);
    renameSync(fresh, target);
  } catch (error) {
    // Another build was quicker by a moment; it made the same.
    if (!existsSync(target)) throw error;
  } finally {
    rmSync(old, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const chosen = {
    "--simulation": buildSimulation,
    "--cli": buildCommandLine,
    "--nest": buildNest,
    "--modules": buildModules,
  };
  const [, make] = Object.entries(chosen).find(([option]) => process.argv.includes(option)) ?? [];
  const sound = make === undefined ? build({ packageOnly: process.argv.includes("--package") }) : make();
  process.exitCode = (await sound) ? 0 : 1;
}
