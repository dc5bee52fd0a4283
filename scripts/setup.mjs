// @ts-check
/**
 * Makes a fresh clone ready: the npm packages, and with --redis a server for the tests. Needs Node alone,
 * says what it will do before it does it, and says nothing when nothing is to do.
 *
 *   HOLDFAST_NO_INSTALL=1   installs nothing: says what is missing and stops
 *   HOLDFAST_SERVER=PROGRAM the server that the tests start: none is looked for
 */
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { installRedisWithApt } from "./setup-apt.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * @typedef {{ version?: string, integrity?: string, optional?: boolean }} LockedPackage
 * @typedef {{ packages: Record<string, LockedPackage> }} Lockfile
 */

/**
 * Whether node_modules holds what package-lock.json asks for. npm records in a lockfile of its own what it
 * installed; optional packages may be missing there, as most are for other platforms.
 *
 * @param {Lockfile} wanted package-lock.json
 * @param {Lockfile | undefined} installed node_modules/.package-lock.json
 * @param {(path: string) => boolean} exists
 * @returns {"ready" | "missing" | "stale"}
 */
export function packagesState(wanted, installed, exists) {
  if (installed === undefined) return "missing";
  const ready = Object.entries(wanted.packages).every(([path, { version, integrity, optional }]) => {
    if (path === "" || optional) return true;
    const found = installed.packages[path];
    return found?.version === version && found?.integrity === integrity && exists(path);
  });
  return ready ? "ready" : "stale";
}

/**
 * @param {string | undefined} path the PATH variable
 * @param {(file: string) => boolean} isExecutable
 */
export function findServer(path, isExecutable) {
  for (const name of ["redis-server", "valkey-server"]) {
    for (const folder of (path ?? "").split(delimiter)) {
      if (folder !== "" && isExecutable(join(folder, name))) return join(folder, name);
    }
  }
  return undefined;
}

const typeOn = {
  debian: "sudo apt-get install --no-install-recommends redis-server",
  fedora: "sudo dnf install valkey",
  macos: "brew install redis",
};

/**
 * How to come by a server: "apt" where we may install one, else the line to type (all of them where the
 * system is none that we know).
 *
 * @param {{ platform: string, osRelease: string, isRoot: boolean, mayInstall: boolean }} machine
 * @returns {{ install: "apt" } | { tell: string[] }}
 */
export function serverPlan({ platform, osRelease, isRoot, mayInstall }) {
  const family = familyOf(platform, osRelease);
  if (family === "debian" && isRoot && mayInstall) return { install: "apt" };
  return { tell: family === undefined ? Object.values(typeOn) : [typeOn[family]] };
}

/**
 * @param {string} platform
 * @param {string} osRelease contents of /etc/os-release
 * @returns {keyof typeof typeOn | undefined}
 */
function familyOf(platform, osRelease) {
  if (platform === "darwin") return "macos";
  const ids = [...osRelease.matchAll(/^ID(?:_LIKE)?="?([^"\n]*)"?$/gm)].flatMap(([, value]) =>
    value?.split(" "),
  );
  if (ids.includes("debian") || ids.includes("ubuntu")) return "debian";
  return ids.includes("fedora") ? "fedora" : undefined;
}

/** @param {boolean} mayInstall */
function providePackages(mayInstall) {
  const wanted = readJson("package-lock.json");
  if (wanted === undefined) stop("package-lock.json is missing");
  const state = packagesState(wanted, readJson("node_modules/.package-lock.json"), (path) =>
    existsSync(join(root, path)),
  );
  if (state === "ready") return;
  if (!mayInstall) stop(`The npm packages are ${state}. Type: npm ci`);
  console.log(`The npm packages are ${state}. Installing them: npm ci`);
  const npm = process.env["npm_execpath"];
  const { status } = npm?.endsWith("npm-cli.js")
    ? spawnSync(process.execPath, [npm, "ci", "--loglevel=error"], { cwd: root, stdio: "inherit" })
    : spawnSync("npm ci --loglevel=error", { cwd: root, stdio: "inherit", shell: true });
  if (status !== 0) stop("npm ci failed");
}

/** @param {boolean} mayInstall */
function provideServer(mayInstall) {
  if (process.env["HOLDFAST_SERVER"]) return;
  const find = () => findServer(process.env["PATH"], isExecutable);
  if (find() !== undefined) return;
  const plan = serverPlan({
    platform: process.platform,
    osRelease: readText("/etc/os-release") ?? "",
    isRoot: process.getuid?.() === 0,
    mayInstall,
  });
  if ("tell" in plan) {
    stop(`The tests need redis-server or valkey-server on PATH. Type:\n  ${plan.tell.join("\nor\n  ")}`);
  }
  const failure = installRedisWithApt();
  if (failure !== undefined) stop(failure);
  if (find() === undefined) stop("redis-server was installed but is not on PATH");
}

/** @param {string} file */
function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** @param {string} file */
function readText(file) {
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/** @param {string} file */
function readJson(file) {
  const text = readText(join(root, file));
  return text === undefined ? undefined : JSON.parse(text);
}

/**
 * @param {string} message
 * @returns {never}
 */
function stop(message) {
  console.error(message);
  process.exit(1);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const mayInstall = process.env["HOLDFAST_NO_INSTALL"] !== "1";
  providePackages(mayInstall);
  if (process.argv.includes("--redis")) provideServer(mayInstall);
}
