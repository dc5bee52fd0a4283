import { alike, type Survivor } from "../survivor.js";

/** What was planted in the code of joint locks, whereupon the test that is named was red. */
export const seenInJointLocks: readonly Survivor[] = [
  ...alike(
    "a test sees it",
    "test/kinds/multi-lock-faults.test.ts: is answered when the lease is over brings nothing, and leaves nothing",
    [["locks/take-together.ts", "14:assignment-dropped"]],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/multi-lock-faults.test.ts: comes too late by the clock of a server that was set forward is sent once more",
    [
      ["locks/take-together.ts", "31:assignment-dropped"],
      ["locks/take-together.ts", "17:>=-to-<"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/multi-lock-kinds.test.ts: of read locks has one beside its own write lock, fair: true",
    [
      ["locks/take-together.ts", "30:&&-to-||"],
      ["locks/take-together.ts", "51:&&-to-||"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/red-lock-retake.test.ts: is given back after maxHoldMs, however often servers have restarted",
    [
      [
        "locks/joint-hold.ts",
        "5:assignment-dropped",
        "this.#first = members.map(({ hold }) => hold).toSorted((a, b) => b.hel",
      ],
      ["locks/joint-hold.ts", "37:call-dropped"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/red-lock-retake.test.ts: is released by unlock in asThread, and not taken again",
    [
      ["locks/joint-hold.ts", "16:>-to-<="],
      ["locks/joint-hold.ts", "16:>-to->="],
      ["locks/joint-hold.ts", "41:!==-to-==="],
      ["locks/joint-hold.ts", "66:<-to->="],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/red-lock-retake.test.ts: aborts its signal as soon as too few of these are left",
    [
      ["locks/joint-hold.ts", "22:!==-to-==="],
      ["locks/joint-hold.ts", "30:call-dropped"],
      [
        "locks/joint-hold.ts",
        "14:===-to-!==",
        "loss === undefined ? [] : [{ loss, agoMs: Math.round(heldMs)",
      ],
      ["locks/joint-hold.ts", "20:!==-to-==="],
      ["locks/joint-hold.ts", "21:!==-to-==="],
      ["locks/joint-hold.ts", "36:call-dropped"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/red-lock-holding.test.ts: is lost at the end of its window when a majority is dead, and says that it could not be renewed",
    [
      ["locks/joint-hold.ts", "53:call-dropped"],
      ["locks/joint-hold.ts", "10:call-dropped"],
      ["locks/joint-hold.ts", "5:call-dropped", "this.#abort?.abort(this.#loss);"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/red-lock-retake.test.ts: does not wait for its own lease, and enters once it is there (away from the start)",
    [["locks/joint-hold.ts", "49:===-to-!=="]],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/joint-loss.test.ts: is told by the release that finds it lost as its signal tells it [own-41]",
    [
      ["locks/joint-hold.ts", "20:===-to-!=="],
      ["locks/joint-hold.ts", "58:call-dropped"],
    ],
  ),
  ...alike("a test sees it", "test/kinds/red-lock-retake.test.ts: is entered again inside its body", [
    ["locks/joint-hold.ts", "34:&&-to-||"],
  ]),
  ...alike(
    "a test sees it",
    "test/kinds/red-lock-retake.test.ts: is given back where it was just being taken again",
    [["locks/joint-hold.ts", "66:<-to-<="]],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/red-lock-retake.test.ts: is entered again, and released, by the threadId of its lease",
    [
      ["locks/joint-hold.ts", "61:not-dropped"],
      ["locks/joint-hold.ts", "7:assignment-dropped", "stay.companions = new Set([...others, ...stays]);"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/joint-loss.test.ts: tells so whoever asked for its signal in that very moment, and no more",
    [["locks/joint-hold.ts", "25:call-dropped"]],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/red-lock.test.ts: is woken by the message of a release, long before any lease ends",
    [
      ["locks/red-lock.ts", "13:not-dropped"],
      ["locks/red-lock.ts", "9:call-dropped", "ears.open();"],
      [
        "locks/red-lock.ts",
        "9:call-dropped",
        "ears.answered(answers.flatMap(({ lock, ttlMs }) => (ttlMs === undefine",
      ],
      ["locks/red-lock.ts", "48:&&-to-||"],
      ["locks/red-lock.ts", "34:call-dropped"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/red-lock.test.ts: succeeds in the next try after one that a single server granted too late [B18]",
    [
      ["locks/red-lock.ts", "5:call-dropped", "retake({"],
      ["locks/red-lock.ts", "25:>-to->="],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/red-lock.test.ts: is held on all servers, excludes others, and leaves nothing [wire-RedissonMultiLockTest]",
    [
      ["locks/red-lock.ts", "18:!==-to-==="],
      ["locks/red-lock.ts", "32:&&-to-||"],
      ["locks/red-lock.ts", "17:!==-to-==="],
      ["locks/red-lock.ts", "25:>-to-<="],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/red-lock-threads.test.ts: is had when that is done, without a message",
    [["locks/red-lock.ts", "35:not-dropped"]],
  ),
  ...alike("a test sees it", "test/kinds/red-lock.test.ts: ends its wait in time and holds nothing then", [
    ["locks/red-lock.ts", "7:call-dropped", "this.note(call, lock, wish);"],
  ]),
  ...alike(
    "a test sees it",
    "test/kinds/red-lock.test.ts: throws QuorumError, also in tryLock, when a majority is dead",
    [
      ["locks/red-lock.ts", "5:call-dropped", "giveBack(members);"],
      ["locks/red-lock.ts", "48:not-dropped"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/red-lock-threads.test.ts: is had as soon as the others are free, though its last stay is still being cleaned up there",
    [["locks/red-lock.ts", "16:<-to->="]],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/red-lock-holding.test.ts: keeps a second holder out while the servers that still have it are a majority [R16]",
    [
      ["locks/red-lock.ts", "23:===-to-!=="],
      ["locks/red-lock.ts", "39:call-dropped"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/multi-lock.test.ts: takes its locks in the one order of their names when given as a, b, c, by one client or by several",
    [["locks/take-together.ts", "37:===-to-!=="]],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/multi-lock-costs.test.ts: costs one command to take, one to release, and nothing else",
    [
      ["locks/take-together.ts", "77:===-to-!=="],
      [
        "locks/take-together.ts",
        "19:!==-to-===",
        "if (shortfall !== undefined && answers.some(({ status }) => status ===",
      ],
      ["locks/take-together.ts", "33:&&-to-||"],
      ["locks/take-together.ts", "5:call-dropped", "parts.forEach((part, at) => {"],
      ["locks/take-together.ts", "18:===-to-!=="],
      ["locks/take-together.ts", "40:===-to-!=="],
      ["locks/take-together.ts", "42:&&-to-||"],
      ["locks/take-together.ts", "64:===-to-!=="],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/multi-lock.test.ts: is taken and released in Redisson's style inside asThread",
    [["locks/take-together.ts", "3:assignment-dropped", "wish.takenIn = scopeOf(identity, wish, claim);"]],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/multi-lock-costs.test.ts: costs one command in tryLock when one of them is held, and takes none",
    [
      ["locks/take-together.ts", "19:===-to-!==", 'if (refused === "late") late = true;'],
      ["locks/take-together.ts", "31:===-to-!=="],
    ],
  ),
];
