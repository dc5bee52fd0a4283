// @ts-check
/**
 * Tries the packed package with package managers, releases of Node, bundlers, compilers and other runtimes, against a Redis server of its own, and
 * compares what was seen with the record in test/recorded/runtimes.json, of which docs/reference/runtimes.md is made. Needs the registry of npm.
 *
 *   node scripts/test-runtimes.mjs                  all cases
 *   node scripts/test-runtimes.mjs --only Deno      those whose group or name has this in it
 *   node scripts/test-runtimes.mjs --write          all cases, and writes the record and the page anew
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { provideFolderPackages } from "./folder-packages.mjs";
import { packHere } from "./neighbours.mjs";
import { mustRun } from "./run-command.mjs";
import { page, recordFile, runtimesPage } from "./runtimes-page.mjs";
import { versionOf } from "./servers.mjs";
import { findServer } from "./setup.mjs";

const { values } = parseArgs({
  options: { only: { type: "string", default: "" }, write: { type: "boolean", default: false } },
});
process.exitCode = (await main()) ? 0 : 1;

async function main() {
  if (!(await provideFolderPackages("runtimes"))) return false;
  const program = process.env["HOLDFAST_SERVER"] ?? findServer(process.env["PATH"], existsSync);
  if (program === undefined)
    throw new Error("there is no redis-server on PATH: npm test says how to get one");
  const { runtimeCases } = await import("./runtimes-cases.mjs");
  const folder = mkdtempSync(join(tmpdir(), "holdfast-runtimes-"));
  const server = await startServer(program, folder);
  /** @type {import("./runtimes-page.mjs").RuntimeRow[]} */
  const rows = [];
  /** @type {string[]} */
  const failed = [];
  try {
    const bench = { folder, tarball: await packHere(folder), url: server.url };
    const chosen = runtimeCases().filter(({ group, name }) => `${group} ${name}`.includes(values.only));
    for (const { group, name, what, run } of chosen) {
      const title = `${name}: ${what}`;
      try {
        const seen = await run(bench);
        rows.push({ group, name, what, seen });
        console.log(`${title}: ${seen}`);
      } catch (error) {
        failed.push(title);
        console.error(`${title}: FAILED\n${error instanceof Error ? error.message : error}`);
      }
    }
  } finally {
    server.stop();
    rmSync(folder, { recursive: true });
  }
  console.log(`runtimes: ${rows.length} passed, ${failed.length} failed`);
  return failed.length === 0 && (await compare({ server: versionOf(program), ...(await at()), rows }));
}

async function at() {
  return { node: process.versions.node, npm: (await mustRun("npm", ["--version"])).trim() };
}

/** @param {import("./runtimes-page.mjs").RuntimesRecord} seen */
async function compare(seen) {
  if (values.write) {
    writeFileSync(recordFile, `${JSON.stringify(seen, undefined, 2)}\n`);
    writeFileSync(page, runtimesPage(seen));
    return true;
  }
  const known = JSON.parse(readFileSync(recordFile, "utf8")).rows;
  const wanted =
    values.only === ""
      ? known
      : known.filter((/** @type {import("./runtimes-page.mjs").RuntimeRow} */ { group, name }) =>
          `${group} ${name}`.includes(values.only),
        );
  if (isDeepStrictEqual(wanted, seen.rows)) return true;
  console.error("the record says something else: npm run test:runtimes -- --write writes it anew");
  return false;
}

/**
 * @param {string} program
 * @param {string} folder
 */
async function startServer(program, folder) {
  const port = await freePort();
  const args = ["--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--dir", folder];
  const server = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"] });
  await new Promise((resolve, reject) => {
    server.on("error", reject).on("exit", () => reject(new Error(`${program} has ended`)));
    server.stdout.on("data", (text) => /eady to accept connections/.test(text) && resolve(undefined));
  });
  return { url: `redis://127.0.0.1:${port}`, stop: () => void server.removeAllListeners("exit").kill() };
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const address = probe.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}
