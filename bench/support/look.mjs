/** @import { Results } from "./results.mjs" */

/** Whom the bars are about. */
export const OURS = "holdfast";

/**
 * What a bar can ask for: medians over the rounds of its scenario. Undefined: not enough was measured.
 *
 * @typedef {object} Look
 * @property {(library: string, metric: string, scenario?: string) => number | undefined} of
 * @property {(metric: string) => number | undefined} ours
 * @property {(metric: string, which: "least" | "most") => number | undefined} worst of our rounds
 * @property {(library: string, other: string, metric: string) => number | undefined} to the one by the other
 * @property {(metric: string, best: "least" | "most") => number | undefined} toBest ours by that of the best peer
 * @property {(metric: string, by: string) => number | undefined} toLeader ours by that of the peer that has the most of something else
 */

/**
 * @param {string} scenario
 * @param {Results} results
 * @param {readonly string[]} peers
 * @returns {Look}
 */
export function lookAt(scenario, results, peers) {
  /** @type {Look["of"]} */
  const of = (library, metric, where = scenario) => results.spread(where, library, metric)?.median;
  return {
    of,
    ours: (metric) => of(OURS, metric),
    worst: (metric, which) => results.spread(scenario, OURS, metric)?.[which],
    to: (library, other, metric) => ratio(of(library, metric), of(other, metric)),
    toBest: (metric, best) => {
      const values = peers.flatMap((peer) => of(peer, metric) ?? []);
      if (values.length === 0) return undefined;
      return ratio(of(OURS, metric), best === "most" ? Math.max(...values) : Math.min(...values));
    },
    toLeader: (metric, by) => {
      const most = Math.max(...peers.map((peer) => of(peer, by) ?? 0));
      const leader = peers.find((peer) => of(peer, by) === most);
      return leader === undefined ? undefined : ratio(of(OURS, metric), of(leader, metric));
    },
  };
}

/**
 * @param {number | undefined} value
 * @param {number | undefined} other
 */
export function ratio(value, other) {
  return value === undefined || other === undefined || other === 0 ? undefined : value / other;
}
