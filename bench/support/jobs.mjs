import { libraries, scenarios } from "./catalogue.mjs";

/** @import { Library, Scenario } from "./contracts.js" */
/** @import { Options } from "./options.mjs" */

/**
 * @typedef {object} Job
 * @property {Scenario} scenario
 * @property {Library} library
 */

/** @typedef {Pick<Options, "quick" | "scenarios" | "libraries">} Selection */

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
function allJobs({ quick, scenarios: scenarioNames, libraries: libraryNames }) {
  const jobs = scenarios
    .filter(({ name }) => scenarioNames?.includes(name) ?? true)
    .flatMap((scenario) =>
      scenario
        .contestants(libraries)
        .filter(({ name }) => libraryNames?.includes(name) ?? true)
        .map((library) => ({ scenario, library })),
    );
  return quick ? jobs.filter((job, i) => isQuick(job, jobs.slice(0, i))) : jobs;
}

/**
 * Variants run the same code as what they are variants of. Of the others, whose versions are fixed, each ability is
 * tried once, and what takes a JVM or a database altogether once.
 *
 * @param {Job} job
 * @param {readonly Job[]} before
 */
function isQuick({ scenario, library }, before) {
  if (library.variant === "lease" || library.variant === "waiting") return false;
  const earlier = before.filter((job) => job.library.name === library.name);
  if (library.role === "other") return earlier.length === 0;
  return library.role === "ours" || earlier.every((job) => job.scenario.tries !== scenario.tries);
}

/** @param {Library} library */
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
