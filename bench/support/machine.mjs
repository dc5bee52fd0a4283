import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem, type } from "node:os";

/** @import { Job } from "./jobs.mjs" */

const GIB = 2 ** 30;

/** The machine, as one line. */
export function machineLine() {
  const all = cpus();
  const memory = `${(totalmem() / GIB).toFixed(1)} GiB`;
  return `${all.length} × ${all[0]?.model.trim()}, ${memory}, ${type()} ${release()}, Node ${process.version}`;
}

/** What of the machine a chart says: its class, and how many tasks wanted its cores in the last minute. */
export function machineClass() {
  return { cores: cpus().length, load: Number(loadavg()[0]?.toFixed(1)), node: process.version };
}

/**
 * The versions of all that takes part, those of packages as their own package.json says.
 *
 * @param {readonly Job[]} jobs
 */
export function libraryVersions(jobs) {
  const packages = [...new Set(jobs.flatMap(({ library }) => library.packages))];
  const others = [...new Set(jobs.flatMap(({ library }) => library.version ?? []))];
  return [
    versionIn("../../package.json"),
    ...packages.map((name) => versionIn(`../node_modules/${name}/package.json`)),
    ...others,
  ];
}

/** @param {string} path of a package.json */
function versionIn(path) {
  const manifest = JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));
  return `${manifest.name} ${manifest.version}`;
}
