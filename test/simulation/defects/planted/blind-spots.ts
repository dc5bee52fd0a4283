import type { Defect } from "../defect.js";

const FAIR = ["fair", "non-reentrant fair"] as const;
const PERMITS = ["permit semaphore"] as const;

/** What no step of the workload brought together, or no rule judged, when it was planted first. */
export const blindSpotDefects: readonly Defect[] = [
  {
    name: "copy-of-a-later-question",
    promise:
      "A late copy of any question for a fair lock does not change a lease that was extended meanwhile.",
    shows:
      "The holder dies; the first waiter asks by itself, twice without knowing, extends its lease, and then the second copy arrives.",
    kinds: FAIR,
    edits: [
      {
        file: "src/locks/acquire-command.ts",
        find: "const writesTtl = lock.kind.recordsWaiters && heldCount === 0;",
        replace: "const writesTtl = lock.kind.recordsWaiters && heldCount === 0 && wish.attempts <= 1;",
      },
    ],
  },
  {
    name: "silent-waiter-forgotten",
    promise: "A fair lock is not given to a waiter that is known to be dead.",
    shows: "A call ends while its server is read-only, and its place is looked at only after a minute.",
    origin: "own-103",
    kinds: FAIR,
    edits: [
      {
        file: "src/protocol/scripts/include/fair-keys.lua",
        find: 'redis.call("PEXPIRE", fair.alive, milliseconds(DAY_MS))',
        replace: 'redis.call("PEXPIRE", fair.alive, 60000)',
      },
    ],
  },
  {
    name: "one-lease-of-several-relet",
    promise: "If the end of permits is changed, every lease with these permits has the new end.",
    shows: "updateLeaseTime names permits of two leases of its client, and makes both shorter.",
    kinds: PERMITS,
    edits: [
      {
        file: "src/synchronizers/permit-expirable-semaphore.ts",
        find: "client.permits.of(ids).map((hold)",
        replace: "client.permits.of(ids).slice(0, 1).map((hold)",
      },
    ],
  },
  {
    name: "one-lease-of-several-released",
    promise: "No lease holds permits that were released by their ids.",
    shows: "A release names permits of two leases of its client.",
    kinds: PERMITS,
    edits: [
      {
        file: "src/synchronizers/permit-expirable-semaphore.ts",
        find: "const holds = this.count.client.permits.of(ids);",
        replace: "const holds = this.count.client.permits.of(ids).slice(0, 1);",
      },
    ],
  },
  {
    name: "retaken-for-a-whole-lease",
    promise: "A server that grants a red lock later than the others keeps it no longer than they do.",
    shows: "A member of a red lock with a fixed lease is taken in the background.",
    kinds: ["red"],
    edits: [
      {
        file: "src/locks/retake.ts",
        find: "return { leaseMs: Math.max(1, Math.floor(hold.checkMs())) };",
        replace: "return { leaseMs };",
      },
      {
        file: "src/locks/retake.ts",
        find: "options.leaseMs !== undefined && taken.checkMs() > hold.checkMs()",
        replace: "false",
      },
    ],
  },
  {
    name: "retaken-with-the-usual-watchdog",
    promise:
      "A server that grants a red lock later than the others keeps it for as long as the call has asked.",
    shows: "A member of a red lock is taken in the background for a call with a shorter watchdogMs.",
    kinds: ["red"],
    edits: [
      {
        file: "src/locks/retake.ts",
        find: "const rest = { ...options, ...restOf(options, hold) };",
        replace: "const rest = { ...options, watchdogMs: undefined, ...restOf(options, hold) };",
      },
    ],
  },
  {
    name: "retaken-for-a-whole-hold",
    promise: "No server keeps a red lock longer than the maxHoldMs of its lease.",
    shows: "A member of a red lock with maxHoldMs is taken in the background.",
    kinds: ["red"],
    edits: [
      {
        file: "src/locks/retake.ts",
        find: "Math.max(1, maxHoldMs - Math.ceil(hold.heldMs))",
        replace: "maxHoldMs",
      },
    ],
  },
  {
    name: "acquired-told-again",
    promise: "The counts in the presence reports of a client add up to its acquisitions.",
    shows: "A client with presence acquires something, and tells twice.",
    edits: [
      {
        file: "src/presence/presence.ts",
        find: "this.#acquired += acquired;",
        replace: "this.#acquired = acquired;",
      },
    ],
  },
  {
    name: "counted-in-vain",
    promise: "Counts that were not reported to presence are in the next report.",
    shows: "A beat of a client with presence fails after a call was refused.",
    edits: [
      {
        file: "src/presence/presence.ts",
        find: "    this.#client.tally?.putBack(counted);\n",
        replace: "    void counted;\n",
      },
    ],
  },
  {
    name: "losses-uncounted",
    promise: "The presence reports of a client count each loss.",
    shows: "A client with presence loses two holds between two beats.",
    edits: [
      {
        file: "src/runtime/tally.ts",
        find: "if (stats !== undefined) stats.losses += 1;",
        replace: "if (stats !== undefined) stats.losses = 1;",
      },
    ],
  },
  {
    name: "readers-one-by-one",
    promise: "A reader gets the lock while other readers have it.",
    shows: "Two calls of one client want to read, and a writer leaves.",
    kinds: ["read-write", "fair read-write"],
    edits: [
      {
        file: "src/locks/wait-in-line.ts",
        find: "if (this.lock.kind.shared) this.line.wake();\n      else this.line",
        replace: "this.line",
      },
    ],
  },
  {
    name: "made-at-close",
    promise: "Closing a client does not raise the number of permits of a semaphore.",
    shows: "A client is closed with releaseHeld while a body runs with permits.",
    kinds: ["semaphore"],
    edits: [
      {
        file: "src/synchronizers/semaphore.ts",
        find: "release ??= this.#giveBack(permits);",
        replace: "release = this.#giveBack(permits);",
      },
    ],
  },
  {
    name: "news-during-a-step",
    promise:
      "If the state of a lock changes while the reconciler waits for an answer, the change is written to Redis, too.",
    shows: "A hold is given back while the reconciler of its stay has a command under way.",
    edits: [
      {
        file: "src/locks/reconciler.ts",
        find: '        this.#tellEnd();\n        if (next === "rest") continue;',
        replace:
          '        this.#tellEnd();\n        if (next !== "rest" && next > 0) this.#hasNews = false;\n        if (next === "rest") { this.#hasNews = false; continue; }',
      },
    ],
  },
  {
    name: "given-back-while-named",
    promise:
      "If a lost hold is released while its client writes the holder to Redis, its lock does not stay taken.",
    shows:
      "A lock is handed over; the answer to its naming is late, so that the new hold runs out; its program releases it meanwhile.",
    kinds: ["lock", "non-reentrant"],
    edits: [
      {
        file: "src/locks/reconciler.ts",
        find: "      this.#undoes = true;\n      this.#goesOn",
        replace: "      this.#undoes ||= this.#record.isNamed;\n      this.#goesOn",
      },
    ],
  },
  {
    name: "group-key-not-kept",
    promise: "All clients of a presence group can be found as long as one of them reports.",
    shows: "A client tells its group more than once.",
    edits: [
      {
        file: "src/protocol/scripts/presence-tell.lua",
        find: "if clients_ttl_ms < needed_ms then",
        replace: "if clients_ttl_ms < 0 then",
      },
    ],
  },
];
