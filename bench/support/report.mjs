import { barsTable } from "./bars.mjs";
import { machineLine, packageVersions } from "./machine.mjs";
import { scenarioTable } from "./tables.mjs";

/**
 * All of it as Markdown.
 *
 * @param {import("./options.mjs").Options} options
 * @param {readonly import("./jobs.mjs").Job[]} jobs
 * @param {import("./results.mjs").Results} results
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
    [...results.servers, ...packageVersions(jobs)].join(", "),
    `Medians of ${options.rounds} round${options.rounds === 1 ? "" : "s"}, [least–most]; loops of ${options.forMs} ms`,
    ...(options.quick ? ["A quick run: it shows that all of it works, and the figures mean nothing"] : []),
    ...leftOut,
  ];
  return ["# Bench", head.map((line) => `- ${line}`).join("\n"), ...tables, barsTable(results, jobs)]
    .filter((part) => part !== "")
    .join("\n\n");
}
