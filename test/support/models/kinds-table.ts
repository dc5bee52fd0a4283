import { chapters, kinds } from "../../kinds/kinds.js";
import { pairs, unclaimed } from "../clients/pairs.js";
import { allBackends } from "../servers/backends.js";

/** The page that says which kind of lock does what. */
export function kindsPage(): string {
  const notes: string[] = [];
  const noteOf = (text: string) => {
    if (!notes.includes(text)) notes.push(text);
    return notes.indexOf(text) + 1;
  };
  const tables = chapters.map(({ title, behaviours }) =>
    [
      `## ${title}`,
      "",
      `| It … | ${kinds.map(({ name }) => name).join(" | ")} |`,
      `| --- |${" --- |".repeat(kinds.length)}`,
      ...behaviours.map(({ promise, needs }) => {
        const cells = kinds.map(({ lacks }) => {
          const reason = needs === undefined ? undefined : lacks[needs];
          return reason === undefined ? "✓ ".repeat(allBackends.length).trim() : `– (${noteOf(reason)})`;
        });
        return `| ${promise.replace(/ \[[^\]]*\]$/, "")} | ${cells.join(" | ")} |`;
      }),
      "",
    ].join("\n"),
  );
  const topologies = ["standalone", "sentinel", "cluster"] as const;
  const clients = [...new Set(pairs.map(({ client }) => client))].map((client) => {
    const cells = topologies.map((topology) => {
      const of = (pair: { readonly client: string; readonly topology: string }) =>
        pair.client === client && pair.topology === topology;
      if (pairs.some(of)) return "✓";
      const reason = unclaimed.find(of)?.reason;
      if (reason === undefined) throw new Error(`is ${client} claimed for the topology ${topology}?`);
      return `– (${noteOf(reason)})`;
    });
    return `| ${client} | ${cells.join(" | ")} |`;
  });
  return [
    "# What each kind of lock does",
    "",
    "Written by `npm run table` from the tests in `test/kinds/`. Each test runs for each kind on each server. The marks in",
    `a cell stand for ${allBackends.map(({ name }) => name).join(" and ")}, in this order. Further tests in that folder cover the behaviour of single kinds.`,
    "",
    ...tables,
    "## Clients and topologies",
    "",
    "Each pair of a Redis client and a topology in this table was tested with all kinds, for the behaviours that the pair could break",
    "(`test/topology/kinds.test.ts`), and with the [conformance cases](../guide/clients.md#another-one) of a driver.",
    "",
    "| | one server | Sentinels | cluster |",
    "| --- | --- | --- | --- |",
    ...clients,
    "",
    ...notes.map((note, at) => `${at + 1}. ${note}`),
    "",
  ].join("\n");
}
