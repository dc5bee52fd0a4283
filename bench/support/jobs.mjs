import { libraries, scenarios } from "./catalogue.mjs";

/**
 * @typedef {object} Job
 * @property {import("./contracts.js").Scenario} scenario
 * @property {import("./contracts.js").Library} library
 */

/** @typedef {Pick<import("./options.mjs").Options, "quick" | "scenarios" | "libraries">} Selection */

/**
 * What is to be measured: one run each.
 *
 * @param {Selection} selection
 * @returns {readonly Job[]}
 * @throws RangeError for a name that nothing has, or when nothing is left
 */
export function jobsFor(selection) {
  checkNames("scenario", selection.scenarios, scenarios);
  const contestants = scenarios.flatMap((scenario) => scenario.contestants(libraries));
  checkNames("library", selection.libraries, contestants);
  const jobs = allJobs(selection).filter(({ library }) => obstacleOf(library) === undefined);
  if (jobs.length === 0) throw new RangeError("nothing is left to measure");
  return jobs;
}

/**
 * What is left out on this machine, and why.
 *
 * @param {Selection} selection
 */
export function obstacles(selection) {
  const wanted = new Set(allJobs(selection).map(({ library }) => library));
  return [...wanted].flatMap((library) => {
    const obstacle = obstacleOf(library);
    return obstacle === undefined ? [] : [`${library.name} is left out: ${obstacle}.`];
  });
}

/**
 * @param {Selection} selection
 * @returns {readonly Job[]}
 */
function allJobs(selection) {
  return scenarios
    .filter(({ name }) => selection.scenarios?.includes(name) ?? true)
    .flatMap((scenario) =>
      scenario
        .contestants(libraries)
        .filter(({ name }) => selection.libraries?.includes(name) ?? true)
        // They run the same code as what they are variants of.
        .filter(({ variant }) => !selection.quick || variant === undefined || variant === "client")
        .map((library) => ({ scenario, library })),
    );
}

/** @param {import("./contracts.js").Library} library */
function obstacleOf(library) {
  return library.obstacle?.() ?? library.server.obstacle();
}

/**
 * @param {string} option
 * @param {readonly string[] | undefined} wanted
 * @param {readonly { readonly name: string }[]} all
 */
function checkNames(option, wanted, all) {
  const names = [...new Set(all.map(({ name }) => name))];
  const unknown = wanted?.filter((name) => !names.includes(name)) ?? [];
  if (unknown.length > 0) {
    throw new RangeError(`--${option}: there is no ${unknown.join(", ")}. There are: ${names.join(", ")}`);
  }
}
