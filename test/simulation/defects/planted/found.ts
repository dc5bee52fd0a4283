import type { Defect } from "../defect.js";

const PAIRS = ["read-write", "fair read-write"] as const;
const FAIR = ["fair", "non-reentrant fair"] as const;
const BOTH = ["semaphore", "permit semaphore"] as const;

/** What the simulator has found in the library itself, planted again. */
export const foundDefects: readonly Defect[] = [
  {
    name: "place-outlives-clean-up",
    promise: "A fair lock is not given to a call that gave up but still has a place in the queue.",
    shows:
      "A waiter with a short lease gives up while its server refuses writes, or is out of reach, for seconds.",
    origin: "own-35",
    kinds: FAIR,
    edits: [
      {
        file: "src/locks/reconciler.ts",
        find: "const aliveMs = kind.recordsWaiters ? fairTimes.aliveMs : 0;",
        replace: "const aliveMs = kind.recordsWaiters ? 0 * fairTimes.aliveMs : 0;",
      },
    ],
  },
  {
    name: "take-back-waited-for",
    promise: "A call ends when its waitMs is over, even if it still has to release a lock or permits.",
    shows: "A lock comes too late to be of use, and the server does not answer while it is given back.",
    origin: "own-36",
    edits: [
      {
        file: "src/locks/attempt.ts",
        find: "if (!isClean && !waiter.over) waiter.sleep(() => this.safely(goOn));",
        replace: "if (!isClean) waiter.sleep(() => this.safely(goOn));",
      },
    ],
  },
  {
    name: "freed-before-its-answer",
    promise: "A client that has freed a lock by force believes in none of the freed holds.",
    shows:
      "A call is given the lock, its client frees it by force, and the answer of the call comes after that.",
    origin: "own-37",
    topologies: ["cluster"],
    edits: [
      {
        file: "src/threads/stay.ts",
        find: "if (place.takenAt.monotonicMs < this.inRedis.freedMs) return undefined;",
        replace: "",
      },
    ],
  },
  {
    name: "deadline-of-the-latest-sending",
    promise: "A request about permits has its effect once, even if another server takes over.",
    shows:
      "A failover to a server whose clock is behind: Redis forgets a request while an older copy of it is in time.",
    origin: "own-38",
    kinds: BOTH,
    edits: [
      {
        file: "src/runtime/requests.ts",
        find: "commands.deadline(count, notAfterMs, this.#deadline);",
        replace: "commands.deadline(count, notAfterMs);",
      },
    ],
  },
  {
    name: "resent-and-refused",
    promise:
      "If a command is refused, but an earlier copy of it may have run, the effect of this copy is undone.",
    shows:
      "A Redis client sends a call again on a new connection, where it is refused, and the first copy arrives.",
    origin: "own-40",
    edits: [
      {
        file: "src/runtime/commands.ts",
        find: "error instanceof ServerReplyError && this.#driver.resets === resets;",
        replace: "error instanceof ServerReplyError;",
      },
    ],
  },
  {
    name: "reader-leaves-amid-a-move",
    promise: "A reader that leaves while the slot moves does not take the lock from other readers.",
    shows:
      "Of two readers one leaves when the key of the lock has moved, and that of the other's hold has not.",
    origin: "own-42",
    kinds: PAIRS,
    topologies: ["cluster"],
    edits: [
      {
        file: "src/protocol/read-write-scripts.ts",
        find: "locks.flatMap(({ key, holder, heldCount }) => [key, ...holdKeys(key, holder, heldCount + 1)]),",
        replace: "locks.flatMap(({ key, holder, heldCount }) => [key, ...holdKeys(key, holder, heldCount)]),",
      },
      {
        file: "src/protocol/scripts/read-release.lua",
        find: "key_at = key_at + 2 + tonumber(ARGV[arg_at + 1])",
        replace: "key_at = key_at + 1 + tonumber(ARGV[arg_at + 1])",
      },
    ],
  },
  {
    name: "pause-ended-by-an-old-wake",
    promise:
      "Calls for a multi lock that block each other make pauses of different length, and so all of them continue.",
    shows: "Calls of one client far from the server wake each other while they try.",
    origin: "own-44",
    kinds: ["multi"],
    edits: [{ file: "src/locks/multi-lock.ts", find: "      await waiter.pause(0);\n", replace: "" }],
  },
  {
    name: "late-answer-tells-the-time",
    promise:
      "A call under a chosen id waits for a failed call only until no copy of that call's commands can arrive.",
    shows:
      "A server stands still, answers what was given up long ago, and the deadlines made by that are far too late.",
    origin: "own-45",
    kinds: [...PAIRS, "lock", "fair"],
    edits: [
      {
        file: "src/runtime/sender.ts",
        find: "    if (pending.givenUp) return;\n    this.#silentSinceMs = undefined;",
        replace: "    if (!pending.givenUp) this.#silentSinceMs = undefined;",
      },
      {
        file: "src/runtime/sender.ts",
        find: "    this.#underWay.settled(pending);\n    const repeated",
        replace: "    if (pending.givenUp) return;\n    this.#underWay.settled(pending);\n    const repeated",
      },
      // Each of the two ways to see that an answer is late covers for the other: own-61.
      {
        file: "src/runtime/sender.ts",
        find: "serverMs > 0 && tookMs <= pending.endMs - sentAt.monotonicMs;",
        replace: "serverMs > 0 && (pending.givenUp || tookMs <= pending.endMs - sentAt.monotonicMs);",
      },
    ],
  },
  {
    name: "prolonged-by-an-older-renewal",
    promise: "A hold is believed for no longer than Redis keeps it.",
    shows:
      "A reader enters once more while a renewal of its other hold is under way, and the answers come in this order.",
    origin: "own-46",
    kinds: PAIRS,
    edits: [
      {
        file: "src/threads/trust.ts",
        find: "sentAt.monotonicMs > this.#heardMs",
        replace: "sentAt.monotonicMs >= this.#confirmedAt.monotonicMs",
      },
    ],
  },
  {
    name: "copy-of-what-was-freed",
    promise: "A late copy of an acquisition does not take a lock for a call that has ended.",
    shows: "A hold whose acquisition was sent twice is freed by force, and then released.",
    origin: "own-47",
    kinds: ["lock", "non-reentrant", "fenced", "spin"],
    edits: [
      {
        file: "src/locks/release.ts",
        find: "if (!isFinal || !isReplicated || copiesUntilMs > 0",
        replace: "if (!isFinal || !isReplicated || (failure === undefined && copiesUntilMs > 0)",
      },
    ],
  },
  {
    name: "grant-of-what-was-freed",
    promise: "A client that has freed a fair lock by force lets none of its waiters in by an older grant.",
    shows: "A waiter is given the lock, its client frees that by force, and then the message arrives.",
    origin: "own-48",
    kinds: FAIR,
    edits: [
      {
        file: "src/locks/grant.ts",
        find: "if (place.sentAt.monotonicMs < stay.inRedis.freedMs) return undefined;",
        replace: "",
      },
    ],
  },
  {
    name: "lost-beside-a-release",
    promise: "If a lost lease was released, its lock does not stay taken.",
    shows: "A lease is over and given back while an inner hold of its thread is under way.",
    origin: "own-49",
    kinds: ["lock", "fenced", "fair"],
    edits: [
      {
        file: "src/locks/release.ts",
        find: "if (stay.live.length === 0 && stay.inRedis.count > 0) reconcile(lock, stay);",
        replace: "if (stay.isIdle && stay.inRedis.count > 0) reconcile(lock, stay);",
      },
    ],
  },
  {
    name: "own-reads-displaced",
    promise: "A lease is reported as stolen only if its lock was taken away.",
    shows:
      "Under one chosen id a second write is answered while the first is on its way back, beside a read.",
    origin: "own-50",
    kinds: PAIRS,
    edits: [
      {
        file: "src/threads/threads.ts",
        find: "stay.thread !== thread &&",
        replace: "(stay.thread !== thread || stay.lock.id === otherId) &&",
      },
    ],
  },
  {
    name: "place-of-an-older-hold",
    promise: "With require, no client believes in a hold that too few replicas of its server have.",
    shows: "A slot moves, a hold is lost by that, one more of its thread is taken, and the slot moves back.",
    origin: "own-51",
    topologies: ["cluster"],
    edits: [
      {
        file: "src/runtime/confirmations.ts",
        find: "else one.place = this.#placeOf(one);",
        replace: 'else if (one.place === "") one.place = this.#placeOf(one);',
      },
    ],
  },
  {
    name: "taken-away-with-another",
    promise: "A lease is reported as stolen only if its lock was taken away.",
    shows:
      "One release takes two holds away, its answer is lost, and the rest runs out before the second release is sent.",
    origin: "own-52",
    kinds: PAIRS,
    edits: [
      {
        file: "src/locks/release.ts",
        find: "const isDone = inRedis.lowerings !== lowerings;",
        replace: "const isDone = lowerings < 0;",
      },
    ],
  },
  {
    name: "copies-outlive-the-clean-up",
    promise: "If a client believes in a lock, Redis has its hold.",
    shows:
      "A release is tried for longer than a lease, its copy comes later, and another hold keeps the stay alive.",
    origin: "own-53",
    edits: [
      {
        file: "src/locks/reconciler.ts",
        find: "return this.#isTooLate && !mayHarm;",
        replace: "return this.#isTooLate && mayHarm !== undefined;",
      },
      {
        file: "src/locks/attempt.ts",
        find: "if (wish.again && inRedis.mayBeLowered) {",
        replace: "if (wish.again && inRedis.mayBeLowered && this.heldCount === 0) {",
      },
    ],
  },
  {
    name: "nothing-done-is-not-remembered",
    promise: "A request for permits has its effect once, whatever its first answer was.",
    shows:
      "A full server drains nothing, has room again, and then the copy arrives that was sent on an older connection.",
    origin: "own-56",
    kinds: ["semaphore"],
    edits: [
      {
        file: "src/protocol/scripts/include/request.lua",
        find: 'if\n    was_refused(redis.pcall("PEXPIRE", request.requests, request.memory_ms))\n    or was_refused(redis.pcall("HSET", request.requests, request.id, text))\n  then\n    return nil\n  end',
        replace: 'redis.pcall("HSET", request.requests, request.id, text)',
      },
    ],
  },
  {
    name: "earlier-call-heard-later",
    promise: "A lease is reported as stolen only if its lock was taken away.",
    shows: "What was given first is freed by force, and heard after what was given next.",
    origin: "own-57",
    edits: [
      {
        file: "src/locks/enter.ts",
        find: "if (others.some(({ live }) => live.some(isLater))) return undefined;",
        replace: "if (others.some(({ live }) => live.some(isLater))) others.length;",
      },
    ],
  },
  {
    name: "entered-while-it-is-freed",
    promise: "If a client believes in a lock, Redis has its hold.",
    shows: "A lock that was handed on is lost unnamed while its holder waits to enter it once more.",
    origin: "own-60",
    kinds: ["lock"],
    edits: [
      {
        file: "src/threads/server-record.ts",
        find: "this.#namesAreLeft = true;\n    this.#count = 0;",
        replace: "this.#namesAreLeft = true;",
      },
    ],
  },
  {
    name: "heir-that-gives-back",
    promise: "A hold that no call owns is not renewed.",
    shows:
      "What came too late can not be given back, and another call of the client hands its lock to the same one meanwhile.",
    origin: "own-55",
    kinds: ["lock", "multi"],
    edits: [
      {
        file: "src/locks/wait-in-line.ts",
        find: "waiter.heir = undefined;\n    const news",
        replace: "const news",
      },
    ],
  },
  {
    name: "copy-shortens-another-read",
    promise: "A read lock is believed for no longer than Redis keeps it.",
    shows:
      "A reader gives its first hold back, and a late copy of that one's acquisition comes while it has another.",
    origin: "own-58",
    kinds: PAIRS,
    edits: [
      {
        file: "src/protocol/scripts/read-acquire.lua",
        find: "if count and tonumber(count) > held_count then",
        replace: "if false then",
      },
    ],
  },
  {
    name: "lock-deadline-of-the-latest-sending",
    promise: "A hold under a chosen id is over only when no copies of its commands can arrive.",
    shows:
      "A release is sent twice, the second time by a clock that was read anew, and the first copy comes late.",
    origin: "own-59",
    edits: [
      {
        file: "src/locks/lowering.ts",
        find: "commands.deadline(this.#stay.key, notAfterMs, this.#deadline)",
        replace: "commands.deadline(this.#stay.key, notAfterMs)",
      },
      {
        file: "src/locks/acquire-command.ts",
        find: "commands.deadline(key, notAfterMs, this.#deadline)",
        replace: "commands.deadline(key, notAfterMs)",
      },
    ],
  },
  {
    name: "held-up-answer-tells-the-time",
    promise:
      "A call under a chosen id waits for a failed call only until no copy of that call's commands can arrive.",
    shows: "A process stands still between making up a command and sending it, and the next one fails.",
    origin: "own-61",
    edits: [
      {
        file: "src/runtime/sender.ts",
        find: "const isTimely = serverMs > 0 && tookMs <= pending.endMs - sentAt.monotonicMs;",
        replace: "const isTimely = serverMs > 0 && tookMs < Infinity;",
      },
    ],
  },
  {
    name: "late-question-was-asked-once",
    promise: "A fair lock has one holder at a time.",
    shows:
      "A question is resent, puts its field into the queue again, and comes too late in the end; then an old grant is heard.",
    origin: "own-63",
    kinds: FAIR,
    edits: [
      {
        file: "src/locks/refusal.ts",
        find: "repeated: wish.repeated,",
        replace: "repeated,",
      },
    ],
  },
  {
    name: "forced-without-a-pause",
    promise: "The number of commands that a call sends is bounded, even if servers give different answers.",
    shows:
      "Amid a failover the lock is looked at on the new master, and its holders are others on the old one.",
    origin: "own-64",
    topologies: ["sentinel"],
    edits: [
      {
        file: "src/locks/force-unlock.ts",
        find: "    await commands.pause(pauseMs);\n",
        replace: "",
      },
    ],
  },
  {
    name: "release-cuts-short-what-it-counts",
    promise: "A hold that its owner is giving back is not reported as stolen.",
    shows:
      "Of three holds of a thread two are released at once, the first answer is lost, and the third one runs out.",
    origin: "own-66",
    edits: [
      {
        file: "src/locks/lowering.ts",
        find: "Math.max(this.#stay.neededMs(), ...keptMs)",
        replace: "this.#stay.neededMs()",
      },
    ],
  },
];
