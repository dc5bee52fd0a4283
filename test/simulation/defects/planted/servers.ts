import type { Defect } from "../defect.js";

/** The locks that have a queue of the clients that wait. */
const PLAIN = ["lock", "non-reentrant", "fenced"];

/** Servers that change, clocks that differ, and replicas that lag. */
export const serverDefects: readonly Defect[] = [
  {
    name: "moved-hold-believed",
    promise:
      "If replicas are required, a hold whose server has changed is confirmed by the new server, or reported as lost.",
    shows: "A failover or a slot that moves leads to a server which lacks the hold.",
    origin: "own-8",
    topologies: ["cluster", "sentinel"],
    edits: [
      {
        file: "src/runtime/confirmations.ts",
        find: "this.#end = services.driver.onMoved?.(this.#onMoved);",
        replace: "this.#end = services.driver.onMoved?.(() => undefined);",
      },
    ],
  },
  {
    name: "confirmed-without-replicas",
    promise: "A hold whose server has changed is believed only when the replicas of the new server have it.",
    shows: "A slot moves to a master whose replica lags, and that one takes over.",
    origin: "own-8",
    topologies: ["cluster"],
    edits: [
      {
        file: "src/runtime/confirmations.ts",
        find: 'if (answer?.status !== "renewed" || isShort || place !== this.#placeOf(one)) return false;',
        replace: 'if (answer?.status !== "renewed" || place !== this.#placeOf(one)) return false;',
      },
    ],
  },
  {
    name: "confirmed-elsewhere",
    promise: "Only the server that has a key now can confirm holds of this key.",
    shows: "A slot moves twice, and the answer of the server in between comes last.",
    origin: "own-8",
    topologies: ["cluster"],
    edits: [
      {
        file: "src/runtime/confirmations.ts",
        find: 'if (answer?.status !== "renewed" || isShort || place !== this.#placeOf(one)) return false;',
        replace: 'if (answer?.status !== "renewed" || isShort) return false;',
      },
    ],
  },
  {
    name: "shortfall-believed",
    promise: "If replicas are required, an acquisition that reached too few replicas gives no hold.",
    shows: "Replicas lag or are stopped, a lock is taken, and one without it takes over.",
    origin: "B30",
    topologies: ["cluster", "sentinel"],
    edits: [
      {
        file: "src/runtime/replication.ts",
        find: 'return this.#mode === "require" ? { raw, shortfall: { ...counts, timeoutMs } } : { raw };',
        replace: "return { raw };",
      },
    ],
  },
  {
    name: "short-renewal-believed",
    promise: "If replicas are required, a renewal that reached too few replicas does not lengthen the lease.",
    shows: "A replica stops after an acquisition, misses its renewals, and takes over.",
    origin: "R6",
    topologies: ["sentinel", "cluster"],
    edits: [
      {
        file: "src/runtime/watchdog.ts",
        find: 'const short = answer?.status === "renewed" && shortfall !== undefined;',
        replace: "const short = false;",
      },
    ],
  },
  {
    name: "missing-replica-counted-out",
    promise: "With auto, no client believes the old master while one of its replicas is being promoted.",
    shows:
      "A replica is missed and counted out, before the Sentinels have named it the master; then locks are taken at the old one.",
    origin: "own-32",
    topologies: ["sentinel"],
    edits: [
      {
        file: "src/driver/own/replicated-calls.ts",
        find: "(acknowledged < wanted || hasFewer);",
        replace: "acknowledged < wanted;",
      },
    ],
  },
  {
    name: "shortfall-not-taken-back",
    promise: "A lock that too few replicas have acknowledged does not stay taken.",
    shows:
      "A replica is stopped, an acquisition fails for it, and the next call finds the lock held by nobody.",
    origin: "B30",
    topologies: ["sentinel", "cluster"],
    edits: [
      {
        file: "src/locks/attempt.ts",
        find: "void takeBack(lock, stay).then(() => this.failForCaller(error));",
        replace: "void takeBack;\n    stay.inRedis.refused(true);\n    this.failForCaller(error);",
      },
    ],
  },
  {
    name: "clock-of-another-server",
    promise: "A deadline is a time on the clock of the server that will check it.",
    shows:
      "The connection leads to another server whose clock is ahead: whatever is sent to it is judged late, however often.",
    topologies: ["standalone"],
    edits: [
      {
        file: "src/runtime/server-clocks.ts",
        find: "if (known?.resets === resets) {\n      known.offsetMs = offsetMs;",
        replace: "if (known !== undefined) {\n      if (known.resets === resets) known.offsetMs = offsetMs;",
      },
    ],
  },
  {
    name: "deadlines-never-end",
    promise: "A copy of a command that arrives long after its call has ended changes nothing.",
    shows: "A command arrives after its clean-up has seen the time at which it was given up.",
    origin: "simulation.md",
    edits: [
      {
        file: "src/runtime/commands.ts",
        find: "return Math.ceil(sentMs + offsetMs + this.timeoutMs);",
        replace: "return Math.ceil(sentMs + offsetMs + 1e9);",
      },
      {
        file: "src/threads/server-record.ts",
        find: "this.#copiesUntil = serverMs > until.ms ? undefined : until;",
        replace: "this.#copiesUntil = serverMs > until.ms - 1e9 + 1_000 ? undefined : until;",
      },
    ],
  },
  {
    name: "relies-on-a-queue-that-is-lost",
    promise: "A client that waits asks once in each safety period, whatever messages it got.",
    shows: "The queue is lost: a server restarts empty, or a replica that takes over lacks it.",
    kinds: PLAIN,
    edits: [
      {
        file: "src/runtime/wait-line.ts",
        find: "this.rest(ahead === 1 && ttlMs >= 0 ? ttlMs + GIVEN_MS : -1);",
        replace: "this.askAgainMs = Number.POSITIVE_INFINITY;",
      },
    ],
  },
  {
    name: "asks-for-two-keys-while-they-move",
    promise: "A call is answered while the slot of its lock moves.",
    shows: "The lock has moved, and its queue has not: the cluster answers TRYAGAIN until the move is over.",
    kinds: PLAIN,
    edits: [
      {
        file: "src/locks/acquire-command.ts",
        find: "const isRefused = this.#wasSent && client.inCluster;",
        replace: "const isRefused = false;",
      },
    ],
  },
  {
    name: "looks-at-two-keys-while-they-move",
    promise: "A release is answered while the slot of its lock moves.",
    shows: "The lock has moved, and its queue has not: the cluster answers TRYAGAIN until the move is over.",
    kinds: PLAIN,
    edits: [
      {
        file: "src/locks/lowering.ts",
        find: "if (commands.inCluster && this.#lock.kind.half === undefined) this.#looks = undefined;",
        replace: "",
      },
    ],
  },
];
