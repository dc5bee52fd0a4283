// @ts-check
/**
 * Makes a fresh clone ready: the npm packages, with --redis a server for the tests, with --chromium and --nginx a browser and a proxy for
 * those of the page, with --prometheus what tests the alert rules. Needs Node alone, says what it will do before it does it, and says nothing when nothing is to do.
 *
 *   HOLDFAST_NO_INSTALL=1      installs nothing: says what is missing and stops
 *   HOLDFAST_SERVER=PROGRAM    the server that the tests start: none is looked for
 *   HOLDFAST_CHROMIUM=PROGRAM  the browser that the tests start: none is looked for
 *   HOLDFAST_NGINX=PROGRAM     the same for the proxy
 */
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { installChromiumWithApt, installServersWithApt } from "./setup-apt.mjs";

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
  return findProgram(["redis-server", "valkey-server"], path, isExecutable);
}

/**
 * @param {string | undefined} path the PATH variable
 * @param {(file: string) => boolean} [isFound]
 */
export function findChromium(path, isFound = isExecutable) {
  return findProgram(
    ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"],
    path,
    isFound,
  );
}

/**
 * @param {string | undefined} path the PATH variable, which has not the folder of servers for all users
 * @param {(file: string) => boolean} [isFound]
 */
export function findNginx(path, isFound = isExecutable) {
  return findProgram(["nginx"], [path ?? "", "/usr/sbin"].join(delimiter), isFound);
}

/**
 * @param {readonly string[]} names
 * @param {string | undefined} path
 * @param {(file: string) => boolean} isExecutable
 */
export function findProgram(names, path, isExecutable) {
  for (const name of names) {
    for (const folder of (path ?? "").split(delimiter)) {
      if (folder !== "" && isExecutable(join(folder, name))) return join(folder, name);
    }
  }
  return undefined;
}

const serverOn = {
  debian: "sudo apt-get install --no-install-recommends redis-server",
  fedora: "sudo dnf install valkey",
  macos: "brew install redis",
};

const browserOn = {
  debian: "sudo apt-get install --no-install-recommends chromium",
  fedora: "sudo dnf install chromium",
  macos: "brew install chromium",
};

const prometheusOn = {
  debian: "sudo apt-get install --no-install-recommends prometheus",
  fedora: "sudo dnf install prometheus",
  macos: "brew install prometheus",
};

const proxyOn = {
  debian: "sudo apt-get install --no-install-recommends nginx",
  fedora: "sudo dnf install nginx",
  macos: "brew install nginx",
};

/**
 * How to come by a server: "apt" where we may install one, else the line to type (all of them where the
 * system is none that we know).
 *
 * @param {Machine} machine
 */
export function serverPlan(machine) {
  return planOf(serverOn, machine);
}

/**
 * The same for a browser.
 *
 * @param {Machine} machine
 */
export function browserPlan(machine) {
  return planOf(browserOn, machine);
}

/**
 * And for a proxy.
 *
 * @param {Machine} machine
 */
export function proxyPlan(machine) {
  return planOf(proxyOn, machine);
}

/**
 * And for Prometheus, which brings promtool.
 *
 * @param {Machine} machine
 */
export function prometheusPlan(machine) {
  return planOf(prometheusOn, machine);
}

/** @typedef {{ platform: string, osRelease: string, isRoot: boolean, mayInstall: boolean }} Machine */

/**
 * @param {typeof serverOn} typeOn
 * @param {Machine} machine
 * @returns {{ install: "apt" } | { tell: string[] }}
 */
export function planOf(typeOn, { platform, osRelease, isRoot, mayInstall }) {
  const family = familyOf(platform, osRelease);
  if (family === "debian" && isRoot && mayInstall) return { install: "apt" };
  return { tell: family === undefined ? Object.values(typeOn) : [typeOn[family]] };
}

/**
 * @param {string} platform
 * @param {string} osRelease contents of /etc/os-release
 * @returns {keyof typeof serverOn | undefined}
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
  const plan = serverPlan(thisMachine(mayInstall));
  if ("tell" in plan) {
    stop(`The tests need redis-server or valkey-server on PATH. Type:\n  ${plan.tell.join("\nor\n  ")}`);
  }
  const failure = installServersWithApt(["redis-server"], "The tests need");
  if (failure !== undefined) stop(failure);
  if (find() === undefined) stop("redis-server was installed but is not on PATH");
}

/** @param {boolean} mayInstall */
function provideChromium(mayInstall) {
  if (process.env["HOLDFAST_CHROMIUM"]) return;
  const find = () => findChromium(process.env["PATH"]);
  if (find() !== undefined) return;
  const plan = browserPlan(thisMachine(mayInstall));
  if ("tell" in plan) {
    stop(`The tests of the page need Chromium on PATH. Type:\n  ${plan.tell.join("\nor\n  ")}`);
  }
  const failure = installChromiumWithApt();
  if (failure !== undefined) stop(failure);
  if (find() === undefined) stop("chromium was installed but is not on PATH");
}

/** @param {boolean} mayInstall */
function provideNginx(mayInstall) {
  if (process.env["HOLDFAST_NGINX"]) return;
  const find = () => findNginx(process.env["PATH"]);
  if (find() !== undefined) return;
  const plan = proxyPlan(thisMachine(mayInstall));
  if ("tell" in plan) {
    stop(`The tests of the page need nginx on PATH. Type:\n  ${plan.tell.join("\nor\n  ")}`);
  }
  const failure = installServersWithApt(["nginx"], "The tests of the page need");
  if (failure !== undefined) stop(failure);
  if (find() === undefined) stop("nginx was installed but is not on PATH");
}

/**
 * The tests that need it are skipped where it is missing.
 *
 * @param {boolean} mayInstall
 */
function providePrometheus(mayInstall) {
  const find = () => findProgram(["promtool"], process.env["PATH"], isExecutable);
  if (find() !== undefined) return;
  const plan = prometheusPlan(thisMachine(mayInstall));
  if ("tell" in plan) {
    console.log(
      `Without Prometheus the alert rules are not tested. To install it, type:\n  ${plan.tell.join("\nor\n  ")}`,
    );
    return;
  }
  const failure = installServersWithApt(["prometheus"], "The tests of the alert rules need");
  if (failure !== undefined) stop(failure);
  if (find() === undefined) stop("prometheus was installed but promtool is not on PATH");
}

/**
 * @param {boolean} mayInstall
 * @returns {Machine}
 */
export function thisMachine(mayInstall) {
  return {
    platform: process.platform,
    osRelease: readText("/etc/os-release") ?? "",
    isRoot: process.getuid?.() === 0,
    mayInstall,
  };
}

/** @param {string} file */
export function isExecutable(file) {
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
export function stop(message) {
  console.error(message);
  process.exit(1);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const mayInstall = process.env["HOLDFAST_NO_INSTALL"] !== "1";
  providePackages(mayInstall);
  if (process.argv.includes("--redis")) provideServer(mayInstall);
  if (process.argv.includes("--chromium")) provideChromium(mayInstall);
  if (process.argv.includes("--nginx")) provideNginx(mayInstall);
  if (process.argv.includes("--prometheus")) providePrometheus(mayInstall);
}
