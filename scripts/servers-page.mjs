// @ts-check
/** docs/reference/servers.md: which servers the tests were run on, with which clients on which topologies. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { servers } from "./servers.mjs";

/**
 * @typedef {import("../test/support/run/played.js").Played} Played
 * @typedef {import("../test/support/run/run-recorder.js").RecordedTest} RecordedTest
 * @typedef {{ reason: string, tests: string[] }} Skipped tests: `file` › names, where a block stands for all that is in it
 * @typedef {{ played: Played[], skipped: Skipped[] }} SuiteRecord
 * @typedef {{ server: string, suites: Record<string, SuiteRecord> }} ServerRecord server: as in "Valkey 9.1.2"
 */

export const page = fileURLToPath(new URL("../docs/reference/servers.md", import.meta.url));

/**
 * What is run on each server, by what it is called: what Vitest is to look for.
 *
 * @type {Readonly<Record<string, readonly string[]>>}
 */
export const suites = {
  conformance: ["test/conformance"],
  kinds: ["test/kinds"],
  synchronizers: ["test/synchronizers"],
  faults: ["test/faults", "test/locks/no-writes.test.ts"],
  topologies: ["test/topology"],
};

/** @param {string} name of a server */
export function recordFile(name) {
  return fileURLToPath(new URL(`../test/servers/records/${name}.json`, import.meta.url));
}

/**
 * @param {string} name
 * @returns {ServerRecord}
 */
export function readRecord(name) {
  return JSON.parse(readFileSync(recordFile(name), "utf8"));
}

/** What a driver's conformance runner says of a case that its test has no means for; no server is to blame. */
const NOT_APPLICABLE = "not applicable: ";

/**
 * What is kept of a suite that has passed.
 *
 * @param {readonly RecordedTest[]} tests
 * @returns {SuiteRecord}
 */
export function suiteRecord(tests) {
  const played = tests.flatMap((test) => (test.state === "passed" && test.played ? [test.played] : []));
  const skipped = tests.filter(isLeftOut);
  const reasons = unique(skipped.map(reasonOf)).sort();
  return {
    played: uniqueBy(played, lineOf).sort((a, b) => (lineOf(a) < lineOf(b) ? -1 : 1)),
    skipped: reasons.map((reason) => ({
      reason,
      tests: unique(
        skipped.filter((test) => reasonOf(test) === reason).map((test) => wholeOf(test, tests)),
      ).sort(),
    })),
  };
}

/** @param {RecordedTest} test */
function isLeftOut(test) {
  return test.state === "skipped" && !reasonOf(test).startsWith(NOT_APPLICABLE);
}

/** @param {RecordedTest} test */
function reasonOf({ file, names, reason }) {
  if (reason === undefined) throw new Error(`${file} › ${names.join(" › ")} is skipped without a reason`);
  return reason;
}

/**
 * The test, or the largest block around it in which nothing was run.
 *
 * @param {RecordedTest} test
 * @param {readonly RecordedTest[]} tests
 */
function wholeOf(test, tests) {
  const depth = test.names.findIndex((_, at) => {
    const block = test.names.slice(0, at + 1);
    const inside = tests.filter(
      ({ file, names }) => file === test.file && block.every((name, nth) => names[nth] === name),
    );
    return inside.every(({ state }) => state === "skipped");
  });
  return [`\`${test.file}\``, ...test.names.slice(0, depth + 1)].join(" › ");
}

const topologies = { standalone: "one server", sentinel: "Sentinels", cluster: "a cluster" };

/** @type {Readonly<Record<Played["what"], string>>} */
const letters = { conformance: "C", "sharded conformance": "S", kinds: "K" };

/** @param {Readonly<Record<string, ServerRecord>>} records by the names of servers */
export function serversPage(records) {
  const all = Object.entries(records);
  const reasons = unique(all.flatMap(([, { suites }]) => Object.values(suites).flatMap(reasonsOf))).sort();
  const head = `${all.map(([, { server }]) => server).join(" | ")} |`;
  return `${[
    "# Tested servers",
    "",
    "Written by `npm run test:servers -- --write` from its last runs. Each suite runs on each server, with every client that an adapter",
    "supports. The guide lists [managed services](../guide/servers.md#managed-services), which we know only from their documentation, and",
    "[releases that are newer](../guide/servers.md#newer-than-what-was-run) than the tested ones.",
    "",
    "| Server | Licence | Source |",
    "| --- | --- | --- |",
    ...all.map(([name, record]) => rowOfSource(name, record)),
    "",
    "## Suites",
    "",
    `| | ${head}`,
    `| --- |${" --- |".repeat(all.length)}`,
    ...Object.keys(suites).map((suite) => {
      const cells = all.map(([, record]) => {
        const left = reasonsOf(record.suites[suite]).map((reason) => reasons.indexOf(reason) + 1);
        if (record.suites[suite] === undefined) return "–";
        return left.length === 0 ? "✓" : `✓ except ${left.join(", ")}`;
      });
      return `| ${[suite, ...cells].join(" | ")} |`;
    }),
    "",
    "The numbers refer to the list at the end of this page, which names the tests that a release can not pass.",
    "",
    "## Clients and topologies",
    "",
    `| Client | On | ${head}`,
    `| --- | --- |${" --- |".repeat(all.length)}`,
    ...rowsOfPairs(all.map(([, record]) => record)),
    "",
    "C: the [conformance cases](../guide/clients.md#another-one) of a driver. S: the same cases with sharded messages. K: all kinds of lock; on",
    "one server with ioredis 6 all behaviours of each kind, elsewhere only the behaviours that a client or a topology could break.",
    "",
    "## What a release can not pass",
    "",
    ...reasons.flatMap((reason, at) => [`${at + 1}. ${sentence(reason)}:`, ...testsLeftOut(all, reason)]),
  ].join("\n")}\n`;
}

/**
 * @param {string} name
 * @param {ServerRecord} record
 */
function rowOfSource(name, { server }) {
  const source = servers[name];
  if (source === undefined) throw new Error(`there is a record of "${name}", and no such server`);
  const { licence, wheel } = source;
  const from =
    wheel === undefined ? "from Debian 12" : `from the wheel ${wheel.requirement} (${wheel.licence})`;
  return `| ${server} | ${licence} | ${from} |`;
}

/** @param {readonly ServerRecord[]} records */
function rowsOfPairs(records) {
  const played = records.map(({ suites }) => Object.values(suites).flatMap((suite) => suite.played));
  const clients = unique(played.flat().map(({ client }) => client)).sort();
  return clients.flatMap((client) =>
    Object.entries(topologies).flatMap(([topology, called]) => {
      const cells = played.map((some) => {
        const what = some.filter((one) => one.client === client && one.topology === topology);
        const marks = Object.entries(letters).filter(([of]) => what.some((one) => one.what === of));
        return marks.map(([, letter]) => letter).join(" ");
      });
      if (cells.every((cell) => cell === "")) return [];
      return [`| ${[client, called, ...cells.map((cell) => cell || "–")].join(" | ")} |`];
    }),
  );
}

/**
 * @param {readonly (readonly [string, ServerRecord])[]} all
 * @param {string} reason
 */
function testsLeftOut(all, reason) {
  const skipped = all.flatMap(([, { suites }]) => Object.values(suites).flatMap((suite) => suite.skipped));
  const tests = skipped.flatMap((some) => (some.reason === reason ? some.tests : []));
  return unique(tests)
    .sort()
    .map((test) => `   - ${test}`);
}

/** @param {string} text */
function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** @param {SuiteRecord | undefined} suite */
function reasonsOf(suite) {
  return suite === undefined ? [] : suite.skipped.map(({ reason }) => reason);
}

/** @param {Played} played */
function lineOf({ client, topology, what }) {
  return [client, topology, what].join(", ");
}

/** @param {readonly string[]} texts */
function unique(texts) {
  return [...new Set(texts)];
}

/**
 * @template T
 * @param {readonly T[]} values
 * @param {(value: T) => string} keyOf
 */
function uniqueBy(values, keyOf) {
  return [...new Map(values.map((value) => [keyOf(value), value])).values()];
}
