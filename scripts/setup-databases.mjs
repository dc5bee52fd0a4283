// @ts-check
import { readdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { findProgram, isExecutable, planOf, stop, thisMachine } from "./setup.mjs";
import { installServersWithApt } from "./setup-apt.mjs";

/** Debian keeps the programs of a PostgreSQL server off PATH, in a folder for each release. */
const DEBIAN_POSTGRES = "/usr/lib/postgresql";

/** @typedef {{ install: string, server: string }} DatabasePrograms what makes the files of a server, and the server itself */

/**
 * @param {{ path?: string | undefined, releases?: readonly string[], isFound?: (file: string) => boolean }} [where]
 *   releases: the folders in /usr/lib/postgresql
 * @returns {DatabasePrograms | undefined}
 */
export function findPostgres({
  path = process.env["PATH"],
  releases = foldersIn(DEBIAN_POSTGRES),
  isFound = isExecutable,
} = {}) {
  const newestFirst = [...releases].sort((a, b) => Number(b) - Number(a));
  const folders = newestFirst.map((release) => join(DEBIAN_POSTGRES, release, "bin"));
  // Both of one release: the files that the one makes have to suit the other.
  const install = findProgram(["initdb"], [...folders, path ?? ""].join(delimiter), isFound);
  if (install === undefined) return undefined;
  const server = join(dirname(install), "postgres");
  return isFound(server) ? { install, server } : undefined;
}

/**
 * @param {{ path?: string | undefined, isFound?: (file: string) => boolean }} [where]
 * @returns {DatabasePrograms | undefined}
 */
export function findMariadb({ path = process.env["PATH"], isFound = isExecutable } = {}) {
  const everywhere = [path ?? "", "/usr/sbin"].join(delimiter);
  const install = findProgram(["mariadb-install-db"], everywhere, isFound);
  const server = findProgram(["mariadbd"], everywhere, isFound);
  // What makes the files asks this one, which is in another package.
  const asked = findProgram(["my_print_defaults"], everywhere, isFound);
  return install && server && asked ? { install, server } : undefined;
}

const packagesOn = /** @type {const} */ ({
  postgres: { debian: ["postgresql"], fedora: ["postgresql-server"], macos: ["postgresql"] },
  // Without the package around them, which is what brings the service.
  mariadb: {
    debian: ["mariadb-server-core", "mariadb-client-core"],
    fedora: ["mariadb-server"],
    macos: ["mariadb"],
  },
});

/** @typedef {keyof typeof packagesOn} Database */

/**
 * How to come by the databases that are missing: "apt" where we may install them, else the line to type.
 *
 * @param {readonly Database[]} missing
 * @param {Parameters<typeof planOf>[1]} machine
 */
export function databasePlan(missing, machine) {
  /** @param {"debian" | "fedora" | "macos"} family */
  const packages = (family) => missing.flatMap((database) => packagesOn[database][family]).join(" ");
  return planOf(
    {
      debian: `sudo apt-get install --no-install-recommends ${packages("debian")}`,
      fedora: `sudo dnf install ${packages("fedora")}`,
      macos: `brew install ${packages("macos")}`,
    },
    machine,
  );
}

/** Ends the process with what to type where a database is missing and may not be installed. */
export function provideDatabases() {
  const missing = missingDatabases();
  if (missing.length === 0) return;
  const plan = databasePlan(missing, thisMachine(process.env["HOLDFAST_NO_INSTALL"] !== "1"));
  if ("tell" in plan) {
    stop(`The tests of the databases need ${missing.join(" and ")}. Type:\n  ${plan.tell.join("\nor\n  ")}`);
  }
  const names = missing.flatMap((database) => packagesOn[database].debian);
  const failure = installServersWithApt(names, "The tests of the databases need");
  if (failure !== undefined) stop(failure);
  const still = missingDatabases();
  if (still.length > 0) stop(`${still.join(" and ")} was installed but is not found`);
}

/** @returns {Database[]} */
function missingDatabases() {
  return [
    ...(findPostgres() === undefined ? /** @type {const} */ (["postgres"]) : []),
    ...(findMariadb() === undefined ? /** @type {const} */ (["mariadb"]) : []),
  ];
}

/** @param {string} folder */
function foldersIn(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
