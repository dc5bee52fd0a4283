// @ts-check
/** docs/reference/runtimes.md: with which package managers, bundlers, compilers and runtimes the packed package was run. */
import { fileURLToPath } from "node:url";

/**
 * @typedef {{ group: string, name: string, what: string, seen: string }} RuntimeRow
 * @typedef {{ server: string, node: string, npm: string, rows: RuntimeRow[] }} RuntimesRecord
 */

export const recordFile = fileURLToPath(new URL("../test/recorded/runtimes.json", import.meta.url));
export const page = fileURLToPath(new URL("../docs/reference/runtimes.md", import.meta.url));

/** @param {RuntimesRecord} record */
export function runtimesPage({ server, node, npm, rows }) {
  const groups = [...new Set(rows.map(({ group }) => group))];
  return `${[
    "# Tested runtimes and tools",
    "",
    "Written by `npm run test:runtimes -- --write` from its last run. The packed package is installed in an empty folder for each row, and a program runs there",
    `against ${server}. Unless the row says otherwise, it ran on Node.js ${node}, installed by npm ${npm}, with ioredis 6.`,
    "",
    "✓ stands for [these behaviours](../../test/runtimes/behaviours.mjs), with three clients and a safety period of an hour, so that only messages wake waiters: a lock, re-entry",
    "along the path, a wait and its end by `waitMs`, hand-over within a client, the order of a fair lock, readers and writers, permits, a latch, the loss of a",
    "lease, `close`, and that the process then ends by itself. For TypeScript it stands for a compilation without an error.",
    ...groups.flatMap((group) => [
      "",
      `## ${group}`,
      "",
      "| | What | |",
      "| --- | --- | --- |",
      ...rows
        .filter((row) => row.group === group)
        .map(({ name, what, seen }) => `| ${name} | ${what} | ${seen} |`),
    ]),
    "",
    "On Bun and Deno [the published cases](../guide/clients.md#another-one) of the driver run without a test runner; what they are run without needs a proxy,",
    "replicas or a cluster. Of the command line, Nest, the inspector and the other clients nothing was tried there, and neither was Vitest.",
  ].join("\n")}\n`;
}
