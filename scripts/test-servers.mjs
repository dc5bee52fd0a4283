// @ts-check
/**
 * Runs suites of tests on each server that servers.mjs provides, and compares what was run with the records in
 * test/servers/records, of which docs/reference/servers.md is made.
 *
 *   node scripts/test-servers.mjs                                    all suites on all servers
 *   node scripts/test-servers.mjs --only 8.2 --only valkey-9.1       on these
 *   node scripts/test-servers.mjs --suite conformance --suite kinds  these suites
 *   node scripts/test-servers.mjs --from FOLDER                      the servers' wheels are in a folder
 *   node scripts/test-servers.mjs --write                            writes the records and the page anew
 *
 * A server that can not be provided is named, and fails the command once the others have been run.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { runCommand } from "./run-command.mjs";
import { provideServer, servers, versionOf } from "./servers.mjs";
import { page, readRecord, recordFile, serversPage, suiteRecord, suites } from "./servers-page.mjs";

/** @typedef {import("../test/support/run/run-recorder.js").RunRecord} RunRecord */

const root = fileURLToPath(new URL("..", import.meta.url));
const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true, default: Object.keys(servers) },
    suite: { type: "string", multiple: true, default: Object.keys(suites) },
    from: { type: "string" },
    write: { type: "boolean", default: false },
  },
});

/** @type {string[]} */
const outcomes = [];
/** @param {string} outcome */
function fail(outcome) {
  process.exitCode = 1;
  outcomes.push(outcome);
}

const chosenServers = values.only.map((given) => chosen("server", servers, given));
const chosenSuites = values.suite.map((given) => chosen("suite", suites, given));
const folder = mkdtempSync(join(tmpdir(), "holdfast-servers-"));
try {
  for (const name of chosenServers) await testServer(name);
  if (values.write) writePage();
} finally {
  rmSync(folder, { recursive: true });
}
console.log(`\n${outcomes.join("\n")}`);

/**
 * @param {string} what
 * @param {Readonly<Record<string, unknown>>} all by name
 * @param {string} given a name, or "8.2" for "redis-8.2"
 */
function chosen(what, all, given) {
  const name = Object.keys(all).find((one) => one === given || one.endsWith(`-${given}`));
  if (name !== undefined) return name;
  console.error(`there is no ${what} "${given}": there are ${Object.keys(all).join(", ")}`);
  process.exit(1);
}

/** @param {string} name */
async function testServer(name) {
  try {
    const program = await provideServer(name, values);
    for (const suite of chosenSuites) await testSuite(name, program, suite);
  } catch (error) {
    fail(`${name}: FAILED, ${error instanceof Error ? error.message : error}`);
  }
}

/**
 * @param {string} name
 * @param {string} program
 * @param {string} suite
 */
async function testSuite(name, program, suite) {
  const title = `${versionOf(program)}, ${suite}`;
  console.log(`\n== ${title} ==`);
  const file = join(folder, `${name}-${suite}.json`);
  const startMs = performance.now();
  const { ok } = await runCommand("npx", ["vitest", "run", ...(suites[suite] ?? [])], {
    cwd: root,
    env: {
      ...process.env,
      HOLDFAST_SERVER: program,
      HOLDFAST_PAIRS: "all",
      // It is the same with each of them.
      HOLDFAST_EMBEDDED: "0",
      HOLDFAST_RECORD: file,
    },
  });
  const seconds = Math.round((performance.now() - startMs) / 1000);
  if (!existsSync(file)) return fail(`${title}: FAILED in ${seconds} s, before any test`);
  /** @type {RunRecord} */
  const { server, tests } = JSON.parse(readFileSync(file, "utf8"));
  const count = (/** @type {string} */ state) => tests.filter((test) => test.state === state).length;
  const counts = `${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped, ${seconds} s`;
  if (!ok) return fail(`${title}: FAILED, ${counts}`);
  outcomes.push(`${title}: ${counts}`);
  const record = suiteRecord(tests);
  for (const { reason, tests: left } of record.skipped) {
    outcomes.push(`  left out, as ${reason}:`, ...left.map((test) => `    ${test}`));
  }
  keep(name, server, suite, record);
}

/**
 * @param {string} name
 * @param {string} server
 * @param {string} suite
 * @param {import("./servers-page.mjs").SuiteRecord} record
 */
function keep(name, server, suite, record) {
  const file = recordFile(name);
  const known = existsSync(file) ? readRecord(name) : { server, suites: {} };
  if (values.write) {
    mkdirSync(dirname(file), { recursive: true });
    const next = { server, suites: { ...known.suites, [suite]: record } };
    writeFileSync(file, `${JSON.stringify(next, undefined, 2)}\n`);
  } else if (known.server !== server || !isDeepStrictEqual(known.suites[suite], record)) {
    fail(`  the record says something else: npm run test:servers -- --only ${name} --write writes it anew`);
  }
}

function writePage() {
  const recorded = Object.keys(servers).filter((name) => existsSync(recordFile(name)));
  writeFileSync(page, serversPage(Object.fromEntries(recorded.map((name) => [name, readRecord(name)]))));
}
