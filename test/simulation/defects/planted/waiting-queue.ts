import type { Defect } from "../defect.js";

const KINDS = ["lock", "non-reentrant", "fenced"];
/** What the scripts of plain locks and of write locks do with the queue. */
const RELEASE = "src/protocol/scripts/include/look-into-queue.lua";
const ACQUIRE = "src/protocol/scripts/include/ask-in-queue.lua";

/** The queue of the clients that wait for a plain lock; that of a write lock is in waiting-writers.ts. */
export const waitingQueueDefects: readonly Defect[] = [
  {
    name: "release-that-does-not-look",
    promise: "If a client is in the queue of a lock, its release of the lock reads the queue.",
    shows: "The first two know that the holder will look, and listen to nothing else.",
    kinds: KINDS,
    edits: [
      {
        file: "src/runtime/wait-lines.ts",
        find: "if (asOf === undefined) return undefined;",
        replace: 'if (asOf === undefined || lockId !== "") return undefined;',
      },
    ],
  },
  {
    name: "given-without-a-message",
    promise: "A client that is given the lock gets a message.",
    shows: "A release gives the lock to the first of the queue, which waits on until that has run out.",
    kinds: KINDS,
    edits: [
      {
        file: RELEASE,
        find: 'if tell(first, "turn") > 0 or not counts_all then',
        replace: "if #others > 0 then",
      },
    ],
  },
  {
    name: "given-to-one-who-is-gone",
    promise: "A client whose channel has no listener is not given the lock.",
    shows: "A process dies, or loses its connection, while it stands first in the queue.",
    kinds: KINDS,
    edits: [
      {
        file: RELEASE,
        find: 'if tell(first, "turn") > 0 or not counts_all then',
        replace: 'if tell(first, "turn") >= 0 then',
      },
    ],
  },
  {
    name: "given-without-end",
    promise: "If a client does not take the lock that was given to it, the lock is soon free.",
    shows: "The client that was given the lock dies, or a look comes in between.",
    kinds: KINDS,
    edits: [{ file: RELEASE, find: 'redis.pcall("PEXPIRE", lock, GIVEN_MS) ~= 1', replace: "false" }],
  },
  {
    name: "given-again-and-again",
    promise: "Clients outside the queue get the lock, too.",
    shows:
      "A client that waits by an answer of before the queue was used hears of releases, and each of them gives the lock away.",
    kinds: KINDS,
    edits: [
      {
        file: RELEASE,
        find: 'redis.pcall("ZREM", queue, GIVEN) == 1',
        replace: "false",
      },
    ],
  },
  {
    name: "given-to-itself",
    promise: "A client gives the lock to another waiting client even if its own calls still wait.",
    shows: "A client with two tasks frees the lock, and stands in the queue before another client.",
    kinds: KINDS,
    edits: [
      {
        file: "src/protocol/scripts/include/waiting.lua",
        find: "if found[i] ~= client and #others < 2 then",
        replace: "if #others < 2 then",
      },
    ],
  },
  {
    name: "queue-without-end",
    promise: "The queue of a lock is deleted when no client wants the lock any more.",
    shows:
      "The only client in the queue is given the lock, while another one listens to the channel of the lock.",
    origin: "the queue of a plain lock",
    kinds: KINDS,
    edits: [
      {
        file: RELEASE,
        find: 'redis.pcall("PEXPIRE", queue, QUEUE_MS)',
        replace: "",
      },
    ],
  },
  {
    name: "leave-keeps-what-was-given",
    promise: "If a call gives up just when its client is given the lock, the client passes the lock on.",
    shows: "A signal aborts the only call of a client between the release and its message.",
    kinds: KINDS,
    edits: [
      {
        file: "src/locks/leave-queue.ts",
        find: "[nextField(client.id, kind.fieldEnding)]",
        replace: '[client.id + nextField("").slice(0, 2)]',
      },
    ],
  },
  {
    name: "given-and-refused",
    promise: "A client takes the lock that was given to it.",
    shows: "It asks, and finds the field that keeps the lock for it.",
    kinds: KINDS,
    edits: [{ file: ACQUIRE, find: 'redis.pcall("HDEL", lock, next_field(client), "mode")', replace: "" }],
  },
  {
    name: "waits-on-in-no-place",
    promise: "If a client acquires the lock while its other calls wait, it stands in the queue.",
    shows: "Its release gives the lock to another client, which frees it.",
    kinds: KINDS,
    edits: [
      {
        file: ACQUIRE,
        find: "    stands = to_the_end()\n  elseif #others > 0",
        replace: "    stands = 2\n  elseif #others > 0",
      },
    ],
  },
  {
    name: "has-it-taken-for-waits",
    promise:
      "If a client gives the lock away while its own calls wait, it asks for the lock again for these calls.",
    shows: "A second call comes between the question of the first and its answer.",
    origin: "the queue of a plain lock",
    kinds: KINDS,
    edits: [
      { file: "src/protocol/lock-calls.ts", find: "waits: stands === 2", replace: "waits: stands !== 0" },
    ],
  },
  {
    name: "left-before-it-came",
    promise: "If a call begins to wait while its client leaves the queue, the client gets a place again.",
    shows: "The leave of a call that gave up arrives after the question of the next one.",
    origin: "the queue of a plain lock",
    kinds: KINDS,
    edits: [
      { file: "src/locks/leave-queue.ts", find: "client.lines.of(id)?.wake();", replace: "" },
      { file: "src/runtime/wait-lines.ts", find: "line?.ears?.hasLeft();", replace: "" },
    ],
  },
  {
    name: "left-though-it-has-the-lock",
    promise: "If other clients rely on a client's release to look into the queue, the release does so.",
    shows: "Its second call gives up, and then the first frees the lock.",
    origin: "the queue of a plain lock",
    kinds: KINDS,
    edits: [
      {
        file: "src/locks/leave-queue.ts",
        find: 'if (answer?.status !== "absent" || answer.stands !== true) client',
        replace: "void answer;\n      client",
      },
    ],
  },
  {
    name: "forgotten-by-an-older-answer",
    promise: "If a client is in the queue of a lock, its release of the lock reads the queue.",
    shows:
      "The answer to a release that left the queue comes after that to a later question, by which its client stands there again.",
    origin: "own-114",
    kinds: KINDS,
    edits: [
      {
        file: "src/runtime/wait-lines.ts",
        find: "line === undefined && waitedFor.get(lockId) === asOf",
        replace: "line === undefined && asOf !== undefined",
      },
    ],
  },
  {
    name: "deaf-to-those-who-do-not-look",
    promise: "The first client of a queue hears of a release that does not look into the queue.",
    shows: "Somebody who came to a free lock frees it while clients wait.",
    kinds: KINDS,
    edits: [
      {
        file: "src/runtime/line-ears.ts",
        find: "if ((!waits || (ahead < 2 && !isTold)) && isElsewhere) {",
        replace: "if (!waits && isElsewhere && ahead < 0) {",
      },
    ],
  },
  {
    name: "second-told-first",
    promise: "The first client of a queue gets its message before the second.",
    shows: "A release leaves the lock to the fastest, and two clients wait.",
    kinds: KINDS,
    edits: [
      {
        file: RELEASE,
        find: "local first, second = others[1], others[2]",
        replace: "local first, second = others[leaves_it and #others or 1], others[2]",
      },
    ],
  },
  {
    name: "next-not-told",
    promise: "The second client of a queue gets a message when the lock is given to the first.",
    shows: "The client that was given the lock does not take it: the second asks when that has run out.",
    kinds: KINDS,
    edits: [{ file: RELEASE, find: 'tell(second, "next")', replace: "second = nil" }],
  },
  {
    name: "told-and-sent-to-the-end",
    promise:
      "If a client was told its turn in vain, it stays the first in the queue, and the next release gives it the lock.",
    shows: "Another one is faster, and its next question finds a place behind all that wait.",
    kinds: KINDS,
    edits: [
      {
        file: RELEASE,
        find: 'if not leaves_it then\n      redis.pcall("ZREM", queue, first)',
        replace: 'if first then\n      redis.pcall("ZREM", queue, first)',
      },
    ],
  },
  {
    name: "marked-by-those-who-come",
    promise: "A client that waits is not woken in vain twice in a row.",
    shows:
      "Each client that comes to the queue says that the latest release has given the lock away: no release gives it, and others are faster, again and again.",
    kinds: KINDS,
    edits: [
      {
        file: ACQUIRE,
        find: 'local added = redis.pcall("ZADD", queue, place, client)',
        replace:
          'local added = redis.pcall("ZADD", queue, place, client)\n  redis.pcall("ZADD", queue, GIVEN_SCORE, GIVEN)',
      },
    ],
  },
  {
    name: "keeps-it-and-its-place",
    promise: "A client without a waiting call is not given the lock.",
    shows: "A call that was handed the lock by another one of its client keeps it for a while.",
    origin: "own-116",
    kinds: KINDS,
    edits: [
      {
        file: "src/locks/keep.ts",
        find: "if (lock.queues) leaveQueue(lock);",
        replace: "void leaveQueue;",
      },
    ],
  },
  {
    name: "loses-it-and-its-place",
    promise: "A client without a waiting call is not given the lock.",
    shows: "A call that was handed the lock by another one of its client loses it.",
    origin: "own-117",
    kinds: KINDS,
    edits: [
      {
        file: "src/threads/hold.ts",
        find: "if (live.length === 0 && lock.queues) lock.kind.leaveQueue?.(lock);",
        replace: "",
      },
    ],
  },
  {
    name: "next-forgotten-by-an-older-answer",
    promise:
      "The second client of a queue asks when the time for which the first was given the lock is over.",
    shows: "It is told that it is the next one while it asks, and reads the answer to that afterwards.",
    origin: "own-118",
    kinds: KINDS,
    edits: [
      {
        file: "src/runtime/wait-line.ts",
        find: 'if (this.head?.isAsleep === false) this.wake("timer");',
        replace: "",
      },
    ],
  },
  {
    name: "next-not-minded",
    promise:
      "The second client of a queue asks when the time for which the first was given the lock is over.",
    shows: "The client that was given the lock stands still, or is dead, or frees it late.",
    kinds: KINDS,
    edits: [
      {
        file: "src/runtime/wait-line.ts",
        find: "else if (message === YOU_ARE_NEXT) this.endsIn(GIVEN_MS);",
        replace: "else if (message === YOU_ARE_NEXT) void this.endsIn;",
      },
    ],
  },
];
