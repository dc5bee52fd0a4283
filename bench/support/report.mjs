import { barsTable } from "./bars-table.mjs";
import { libraryVersions, machineLine } from "./machine.mjs";
import { scenarioTable } from "./tables.mjs";

/** @import { Job } from "./jobs.mjs" */
/** @import { Options } from "./options.mjs" */
/** @import { Results } from "./results.mjs" */

/**
 * All of it as Markdown.
 *
 * @param {Options} options
 * @param {readonly Job[]} jobs
 * @param {Results} results
 * @param {readonly string[]} leftOut
 */
export function reportOf(options, jobs, results, leftOut) {
  const scenarios = [...new Set(jobs.map(({ scenario }) => scenario))];
  const tables = scenarios.map((scenario) => {
    const libraries = jobs.filter((job) => job.scenario === scenario).map(({ library }) => library);
    return scenarioTable(scenario, libraries, results);
  });
  const head = [
    machineLine(),
    [...results.servers, ...libraryVersions(jobs)].join(", "),
    `Medians of ${options.rounds} round${options.rounds === 1 ? "" : "s"}, [least–most]; loops of ${options.forMs} ms`,
    ...(options.quick ? ["A quick run: it shows that all of it works, and the figures mean nothing"] : []),
    ...leftOut,
  ];
  return [
    "# Bench",
    head.map((line) => `- ${line}`).join("\n"),
    ...tables,
    barsTable(results, jobs, options.quick),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}
