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
    "locks. JVMs before 3.32 wait for ever behind some fair locks (no W), and before 3.52 their fair locks have queues of their own under",
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
  "| E | The waiter is refused while the lock is held, waits, and has it as soon as it is released: by message, for its own lease would last an hour. A spin lock asks again. Of a semaphore, all permits are taken; a latch is closed until it is counted down. |",
  "| Q | Holds entered twice, hold count, TTL, `isLocked`, `isHeldByThread` are told alike on both sides; of semaphores and latches what there is, what is taken and for how long, and what one side sets, drains, or deletes. |",
  "| F | `forceUnlock` from the other side frees the lock, and its holder hears of it when it releases, where a JVM does. |",
  "| W | A hold without a lease outlives its first TTL while its process lives; after SIGKILL of the process the waiter gets the lock. The same of permits that our watchdog keeps. |",
  "| O | Three waiters of each side in one queue are served in their order, each with a hold count of 1; who gives up leaves nothing behind. |",
  "| N | The same as E with braces in names, paired or not, and with names beyond ASCII. |",
  "| M | The same as E with a name mapper on both sides. |",
  "| T | Fencing tokens grow by one with each acquisition, whoever makes it. |",
  "| C | Permits that are added, a total that is raised, and the deletion of a latch wake the other side; a debt of permits disturbs nobody. |",
  "| I | Permits are released by the other side, by ids, of which Redis has the 16 bytes: one by one, or all of them or none (from 3.41). |",
  "| L | A lease that ends lets in the other side, without a message; the id is refused by both. |",
  "| S | Two JVMs of four threads and two Node processes of eight tasks count for 20 s under one lock, each reading the count and writing it anew: none is lost, no token repeats or falls, no reader sees the count move. Over three permits of a semaphore, some taking two at once, never more are in use, and all are there in the end. |",
  "| K | The same as E in a cluster of six servers, with names of several slots, by sharded messages. |",
];

const further = [
  "Besides, what Redisson stores, publishes and answers in each step of the scenarios in `test/interop/scenarios.ts` and",
  "`test/interop/synchronizer-scenarios.ts` is recorded for each release in `test/interop/records/`. Each `npm run test:redis`, with a JVM or",
  "without, lets holdfast play each part in each of them, against the recorded others: it has to do the same, but for the differences",
  "that [a page of their own](redisson-differences.md) lists, each of which the scenario names. Times are compared in steps of ten",
  "seconds; the latches of unlocks, which concern nobody but their JVM, and the keys of our own (`holdfast_…`) are left out. Renewals",
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
