import type { Defect } from "../defect.js";

/** What is told of locks and leases to those who ask, and to those who listen to events. */
export const answerDefects: readonly Defect[] = [
  {
    name: "holder-counted-once",
    promise: "The hold count is the count in Redis.",
    shows: "A path has entered a lock more than once, and asks how often.",
    origin: "simulation.md",
    edits: [
      {
        file: "src/locks/lease-lock.ts",
        find: "return Number((await this.look()).fields[stay.field] ?? 0);",
        replace: "return Math.min(1, Number((await this.look()).fields[stay.field] ?? 0));",
      },
    ],
  },
  {
    name: "count-of-the-client",
    promise: "The hold count is the count in Redis, not the count that the client believes.",
    shows: "A hold was removed by force, and its client has not heard of that yet when it asks.",
    origin: "simulation.md",
    edits: [
      {
        file: "src/locks/lease-lock.ts",
        find: "return Number((await this.look()).fields[stay.field] ?? 0);",
        replace: "return stay.inRedis.count;",
      },
    ],
  },
  {
    name: "writers-are-readers",
    promise: "isLocked of a read lock says whether the lock has a reader.",
    shows: "A writer has the lock, and its read lock is asked about.",
    origin: "simulation.md",
    kinds: ["read-write", "fair read-write"],
    edits: [
      {
        file: "src/locks/read-write-lock.ts",
        find: "return fields[MODE_FIELD] !== undefined && field !== MODE_FIELD && !field.endsWith(WRITE_ENDING);",
        replace: "return fields[MODE_FIELD] !== undefined && field !== MODE_FIELD;",
      },
    ],
  },
  {
    name: "mode-is-a-holder",
    promise: "inspect() returns the holders that Redis has, and no others.",
    shows: "A read-write lock is held.",
    origin: "simulation.md",
    edits: [
      {
        file: "src/locks/inspect.ts",
        find: "const { [MODE_FIELD]: mode, ...counts } = fields;",
        replace: "const { [MODE_FIELD]: mode } = fields;\n  const counts = fields;",
      },
    ],
  },
  {
    name: "inner-counts-as-first",
    promise: "lease.holdCount says how often its thread has the lock.",
    shows: "A path enters the lock that it holds.",
    origin: "simulation.md",
    edits: [
      {
        file: "src/threads/hold.ts",
        find: "this.holdCount = stay.live.length + 1;",
        replace: "this.holdCount = Math.max(1, stay.live.length);",
      },
    ],
  },
  {
    name: "contended-by-its-own",
    promise: "The event of a contended lock names the holder.",
    shows: "The first attempt of a call finds the lock held.",
    origin: "simulation.md",
    edits: [
      {
        file: "src/locks/contention.ts",
        find: "holder, behind, ttlMs, own };",
        replace: "holder: client.id, behind, ttlMs, own };",
      },
    ],
  },
  {
    name: "told-as-acquired-twice",
    promise: "The event of an acquisition describes that acquisition.",
    shows: "A call gets its lock while somebody listens.",
    origin: "simulation.md",
    edits: [
      {
        file: "src/runtime/traced.ts",
        find: "  asyncEnd.publish(event);\n",
        replace: "  asyncEnd.publish(event);\n  asyncEnd.publish(event);\n",
      },
    ],
  },
  {
    name: "renewal-told-as-failed",
    promise: "The event of a failed renewal names a renewal that failed.",
    shows: "A renewal is answered while somebody listens.",
    origin: "simulation.md",
    edits: [
      {
        file: "src/runtime/watchdog.ts",
        find: "const last = reply.at(-1);",
        replace:
          "const last = reply.at(-1);\n      if (events.renewalFailed.hasSubscribers) events.renewalFailed.publish({ locks: 1, error: undefined });",
      },
    ],
  },
  {
    name: "renewal-under-way-blamed",
    promise: 'A lease that is not renewed any more is lost as "expired".',
    shows: "A renewal is under way as its permits are given another lease, and its answer is left aside.",
    origin: "own-39",
    edits: [
      {
        file: "src/threads/trust.ts",
        find: 'if (!this.isRenewed || endMs >= this.#latest.monotonicMs) return "expired";',
        replace: "",
      },
    ],
  },
];
