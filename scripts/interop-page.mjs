// @ts-check
/** docs/reference/interop.md: what the tests against the real Redisson have proven. */

/**
 * What a test proves, as the tests say in their `meta`; see test/support/run/proof.ts.
 *
 * @typedef {{ kind: string, direction: string, of: string }} Proof
 * @typedef {{ testResults: { assertionResults: { status: string, meta: { proofs?: Proof[] } }[] }[] }} Report
 */

/** The marks, and what each stands for. */
const marks = new Map([
  ["exclusion", "E"],
  ["questions", "Q"],
  ["force", "F"],
  ["watchdog", "W"],
  ["queue", "O"],
  ["names", "N"],
  ["mapper", "M"],
  ["tokens", "T"],
  ["changes", "C"],
  ["ids", "I"],
  ["leases", "L"],
  ["stress", "S"],
  ["cluster", "K"],
]);

const kinds = [
  "lock",
  "non-reentrant",
  "fair",
  "non-reentrant fair",
  "spin",
  "fenced",
  "read",
  "write",
  "write, kept from readers",
  "multi",
  "red",
  "semaphore",
  "permit-expirable-semaphore",
  "count-down-latch",
];
const directions = ["a JVM holds, Node waits", "Node holds, a JVM waits"];

/** @param {readonly { release: string, report: Report }[]} reports */
export function interopPage(reports) {
  const proofs = reports.map(({ report }) => proofsOf(report));
  const unlisted = proofs.flat().find(({ kind }) => !kinds.includes(kind));
  if (unlisted !== undefined) throw new Error(`the page has no rows for "${unlisted.kind}"`);
  const rows = kinds.flatMap((kind) =>
    directions.map((direction) => {
      const cells = proofs.map((known) => cellOf(known, kind, direction));
      return `| ${[kind, direction, ...cells].join(" | ")} |`;
    }),
  );
  return `${[
    "# Proven against Redisson",
    "",
    "Written by `npm run test:interop -- --write` from a run with the real Redisson: JVMs and Node processes on one",
    "server, with the same locks, semaphores and latches. The tests are in `test/interop/`, the JVM's side in `interop/`.",
    "",
    `| Kind | Direction | ${reports.map(({ release }) => release).join(" | ")} |`,
    `| --- | --- |${" --- |".repeat(reports.length)}`,
    ...rows,
    "",
    'A letter stands for tests that have passed, "–" for a lock that this release does not have. "write, kept from readers" is a write lock for which a',
    "reader waits. Multi and red locks of Redisson have no `isLocked` and no similar methods (no Q). JVMs before 3.32 wait for ever behind some fair",
    "locks (no W). Before 3.52 the fair locks of JVMs have separate queues under a name mapper (no M): see",
    "[what a fleet of both has to expect](redisson-differences.md#what-a-fleet-of-both-has-to-expect).",
    "",
    ...legend,
    "",
    ...further,
  ].join("\n")}\n`;
}

const legend = [
  "| | Proven |",
  "| --- | --- |",
  "| E | While one side holds the lock, the other side's `tryLock` is refused and its `lock` waits. The waiter gets the lock as soon as it is released. Only a message can wake the waiter so early, because the lease lasts an hour. A spin lock polls instead. For a semaphore, all permits are taken first; a latch stays closed until it is counted down. |",
  "| Q | Both sides report the same hold count (also after a re-entry), TTL, `isLocked` and `isHeldByThread`. For semaphores and latches they report the same available and taken permits, the same leases, and the same values after one side sets, drains or deletes them. |",
  "| F | `forceUnlock` from the other side frees the lock. The holder learns of this at its release, unless the holder is a JVM and Redisson reports nothing for this kind of lock. |",
  "| W | A hold without a lease outlives its first TTL while its process lives; after SIGKILL of the process the waiter gets the lock. The same is true for permits that holdfast's watchdog renews. |",
  "| O | Three waiters of each side wait in one queue and are served in the order of their arrival, each with a hold count of 1; a waiter that gives up leaves nothing behind. |",
  "| N | The same as E with braces in names, paired or not, and with names beyond ASCII. |",
  "| M | The same as E with a name mapper on both sides. |",
  "| T | Fencing tokens grow by one with each acquisition of either side. |",
  "| C | Permits that are added, a total that is raised, and the deletion of a latch wake the other side. A debt of permits (a negative number of available permits) does no harm. |",
  "| I | The other side can release permits by their ids, which Redis stores as 16 bytes: one by one, or, from 3.41, several ids at once, either all of them or none. |",
  "| L | When the lease of a permit ends, the other side gets the permit without a message. Both sides refuse the old id. |",
  "| S | Two JVMs of four threads and two Node processes of eight tasks increment a counter for 20 s under one lock: each reads the counter and writes it back. No increment is lost, no token repeats or falls, and no reader sees the counter change. With a semaphore of three permits, where some calls take two, at most three permits are in use at once, and all three are available at the end. |",
  "| K | The same as E in a cluster of six servers, with names in several slots and with sharded messages. |",
];

const further = [
  "In addition, `test/interop/records/` has, for each release, the values that Redisson stores, publishes and answers in each step of the scenarios in `test/interop/scenarios.ts` and",
  "`test/interop/synchronizer-scenarios.ts`. `npm run test:redis` needs no JVM for these scenarios: holdfast plays each actor in turn, and",
  "the records stand in for the others. holdfast must do what Redisson did. Each allowed difference is named in the",
  "scenario and has a row on [a separate page](redisson-differences.md). Times are compared in steps of ten seconds. The unlock latches,",
  "which concern only their JVM, and the keys that only holdfast has (`holdfast_…`) are not compared. The records contain no",
  "renewals: the tests of letter W cover those.",
];

/** @param {Report} report @returns {Proof[]} */
function proofsOf({ testResults }) {
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  return tests.flatMap(({ status, meta }) => (status === "passed" ? (meta.proofs ?? []) : []));
}

/**
 * @param {readonly Proof[]} proofs
 * @param {string} kind
 * @param {string} direction
 */
function cellOf(proofs, kind, direction) {
  const own = proofs.filter((proof) => proof.kind === kind && [direction, "both"].includes(proof.direction));
  const letters = [...marks].flatMap(([of, mark]) => (own.some((proof) => proof.of === of) ? [mark] : []));
  return letters.join(" ") || "–";
}
