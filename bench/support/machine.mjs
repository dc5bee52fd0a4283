import { readFileSync } from "node:fs";
import { cpus, release, totalmem, type } from "node:os";

const GIB = 2 ** 30;

/** The machine, as one line. */
export function machineLine() {
  const all = cpus();
  const memory = `${(totalmem() / GIB).toFixed(1)} GiB`;
  return `${all.length} × ${all[0]?.model.trim()}, ${memory}, ${type()} ${release()}, Node ${process.version}`;
}

/**
 * The versions of the packages that take part, as their own package.json says.
 *
 * @param {readonly import("./jobs.mjs").Job[]} jobs
 */
export function packageVersions(jobs) {
  const names = [...new Set(jobs.flatMap(({ library }) => library.packages))];
  return names.map((name) => {
    const file = new URL(`../node_modules/${name}/package.json`, import.meta.url);
    const manifest = JSON.parse(readFileSync(file, "utf8"));
    return `${manifest.name} ${manifest.version}`;
  });
}
