import type { TopologyName } from "../../world/topology.js";
import type { Mutant } from "./mutant.js";

const PLAIN = ["lock", "non-reentrant", "spin", "fenced", "multi"] as const;
// What is taken together is so by the scripts of its members.
const FAIR = ["fair", "non-reentrant fair", "multi"] as const;
const PAIRS = ["read-write", "fair read-write", "multi"] as const;
const COUNTS = ["semaphore", "permit semaphore", "latch"] as const;

/** What a file is about by its name. The first that fits decides. */
const BY_NAME: readonly (readonly [RegExp, readonly string[] | undefined])[] = [
  [/fair-|grant/, FAIR],
  [/scripts\/(?:read|write)-|include\/(?:read-write|write-field)/, PAIRS],
  [/latch/, ["latch"]],
  [/permit-|leased-permits|permit-holds|doubts/, ["permit semaphore"]],
  [/semaphore/, ["semaphore"]],
  [/synchronizers|requests|request\.lua|saved-permits|announce|scripts\/count-/, COUNTS],
  [/red-lock|retake/, ["red"]],
  [/joint|take-together/, ["multi", "red"]],
  [/chain|naming|hand-off|lock-succeed/, ["lock", "non-reentrant", "multi"]],
  [/scripts\/lock-/, PLAIN],
];

/** The kinds that a mutant of a file can show in; undefined: all. */
export function kindsOf(file: string): readonly string[] | undefined {
  return BY_NAME.find(([name]) => name.test(file))?.[1];
}

/** Of locks that are kept where there are replicas, and servers take over. */
const ABOUT_SERVERS = /confirmations|confirmable-stay|lock-confirm/;
const ABOUT_REPLICAS = /shortfall|replica|confirmBy|isMoved|isDoubtful/i;
const OF_LOCKS = /^src\/(?:threads|locks|runtime)\/(?!permit|doubts|requests|red-lock|retake|joint)/;

/** The topologies that a mutant shows in, if only some have what its line is about; undefined: all. */
export function topologiesOf({
  file,
  was,
}: Pick<Mutant, "file" | "was">): readonly TopologyName[] | undefined {
  const isAbout = ABOUT_SERVERS.test(file) || (OF_LOCKS.test(file) && ABOUT_REPLICAS.test(was));
  return isAbout ? ["cluster", "sentinel"] : undefined;
}
