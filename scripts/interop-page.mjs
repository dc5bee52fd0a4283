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
    'A letter stands for tests that have passed; "–": this release has no such lock. Redisson answers no questions about multi and red',
    "locks. JVMs before 3.32 wait for ever behind some fair locks (no W). Before 3.52 their fair locks have separate queues under",
    "a name mapper (no M): see [what a fleet of both has to expect](redisson-differences.md#what-a-fleet-of-both-has-to-expect).",
    "",
    ...legend,
    "",
    ...further,
  ].join("\n")}\n`;
}

const legend = [
  "| | Proven |",
  "| --- | --- |",
  "| E | The waiter is refused while the lock is held, waits, and gets it as soon as it is released: by message, because the lease would last an hour. A spin lock asks again. For a semaphore, all permits are taken; a latch is closed until it is counted down. |",
  "| Q | Holds entered twice, hold count, TTL, `isLocked`, `isHeldByThread` are the same on both sides; for semaphores and latches the available and taken permits and their leases, and the values that one side sets, drains, or deletes. |",
  "| F | `forceUnlock` from the other side frees the lock, and the holder learns of it at its release, if a JVM learns of it at all. |",
  "| W | A hold without a lease outlives its first TTL while its process lives; after SIGKILL of the process the waiter gets the lock. The same is true for permits that our watchdog renews. |",
  "| O | Three waiters of each side in one queue are served in their order, each with a hold count of 1; a waiter that gives up leaves nothing behind. |",
  "| N | The same as E with braces in names, paired or not, and with names beyond ASCII. |",
  "| M | The same as E with a name mapper on both sides. |",
  "| T | Fencing tokens grow by one with each acquisition, whoever makes it. |",
  "| C | Permits that are added, a total that is raised, and the deletion of a latch wake the other side; a debt of permits does no harm. |",
  "| I | The other side releases permits by their ids, of which Redis stores the 16 bytes: one by one, or all of them or none (from 3.41). |",
  "| L | When a lease ends, the other side gets the permit, without a message; both sides refuse the old id. |",
  "| S | Two JVMs of four threads and two Node processes of eight tasks count for 20 s under one lock, each by reading the count and writing it back: no step is lost, no token repeats or falls, and no reader sees the count change. With a semaphore of three permits, some taken two at once, never more are in use, and all are back at the end. |",
  "| K | The same as E in a cluster of six servers, with names of several slots, by sharded messages. |",
];

const further = [
  "In addition, `test/interop/records/` has, for each release, the values that Redisson stores, publishes and answers in each step of the scenarios in `test/interop/scenarios.ts` and",
  "`test/interop/synchronizer-scenarios.ts`. Each `npm run test:redis`, with a JVM or",
  "without, lets holdfast play each part in each scenario against the recorded others. It must do the same, except for the differences",
  "that [a separate page](redisson-differences.md) lists and the scenario names. Times are compared in steps of ten",
  "seconds. The latches of unlocks, which concern only their JVM, and our own keys (`holdfast_…`) are left out. Renewals",
  "are in no record: they are W above.",
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
