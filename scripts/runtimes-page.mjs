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
    "✓ means that [these behaviours](../../test/runtimes/behaviours.mjs) passed, with three clients: a lock, re-entry in nested calls, a wait that ends and a wait that times out,",
    "hand-over within a client, the order of a fair lock, readers and writers, permits, a latch, the loss of a lease, `close`, and a process that ends afterwards. The",
    "safety period is an hour, so only messages wake waiters. For TypeScript ✓ means that the program compiled without an error.",
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
    "On Bun and Deno [the published cases](../guide/clients.md#another-one) of the driver run without a test runner; the cases that are not applicable need a proxy,",
    "replicas or a cluster. The command line, Nest, the inspector, the other Redis clients and Vitest were not tested on Bun and Deno.",
  ].join("\n")}\n`;
}
