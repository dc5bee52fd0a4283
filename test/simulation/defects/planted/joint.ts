import type { Defect } from "../defect.js";

/** Several locks that count as one. */
export const jointDefects: readonly Defect[] = [
  {
    name: "multi-keeps-a-part",
    promise: "If a multi lock does not get one of its locks, it keeps none of the others.",
    shows: "Two take the same locks through different pairs; each has one, and waits for the other.",
    origin: "B13",
    kinds: ["multi", "lock"],
    edits: [
      {
        file: "src/locks/multi-lock.ts",
        find: "await releaseAll(outcome.members);",
        replace: "void releaseAll;",
      },
    ],
  },
  {
    name: "multi-held-by-one",
    promise: "A multi lease is held only while all of its locks are held.",
    shows:
      "One lock of several is freed by force or runs out, another takes it, and the joint lease says that it is held.",
    origin: "wire-S16",
    kinds: ["multi", "lock"],
    edits: [
      {
        file: "src/locks/joint-hold.ts",
        find: "return left[this.quorum - 1] ?? 0;",
        replace: "return left[0] ?? 0;",
      },
    ],
  },
  {
    name: "red-minority",
    promise: "A red lock is held by a majority.",
    shows: "A server is dead or slow, and two share the others.",
    kinds: ["red"],
    edits: [
      {
        file: "src/locks/red-lock.ts",
        find: "Math.floor(members.length / 2) + 1",
        replace: "Math.floor(members.length / 2)",
      },
    ],
  },
  {
    name: "red-majority-counted-late",
    promise: "A call returns a red lease only if a majority of its locks is held at that moment.",
    shows: "One server answers late, when the lease of another has ended already.",
    origin: "B17",
    kinds: ["red"],
    edits: [
      {
        file: "src/locks/red-lock.ts",
        find: 'members.filter(({ hold }) => hold.state === "held").length >= this.quorum',
        replace: "members.length >= this.quorum",
      },
    ],
  },
  {
    name: "red-attempt-kept",
    promise: "If a red lock does not get its majority, the client releases the locks that it got.",
    shows: "Two split the servers between them, and neither lets go.",
    origin: "B18",
    kinds: ["red"],
    edits: [
      {
        file: "src/locks/red-lock.ts",
        find: "giveBack(members);\n    if (waiter.cancelled) throw waiter.reason;",
        replace: "void giveBack;\n    if (waiter.cancelled) throw waiter.reason;",
      },
    ],
  },
  {
    name: "retaken-after-release",
    promise: "A released red lock is free on all of its servers.",
    shows: "A missing server is taken again while the lease is released, and keeps the lock.",
    kinds: ["red"],
    edits: [
      {
        file: "src/locks/retake.ts",
        find: "giveBack([{ lock, hold: taken }]);",
        replace: "void giveBack;",
      },
      {
        file: "src/locks/retake.ts",
        find: 'if (hold.state === "released") giveBack(hold.members.filter((member) => member.hold.state === "held"));',
        replace: "",
      },
    ],
  },
  {
    name: "joint-loss-not-final",
    promise: "The remaining locks of a lost joint lease do not stay taken.",
    shows:
      "A joint lease is lost with one of its locks, and is never released: the others are renewed for ever.",
    kinds: ["multi", "red"],
    edits: [
      {
        file: "src/locks/joint-hold.ts",
        find: "for (const hold of holds) hold.letLapse();",
        replace: "",
      },
    ],
  },
  {
    name: "together-not-undone",
    promise: "An unanswered request for several locks is undone for all of them.",
    shows: "A multi acquisition arrives, its answers are lost, and its call gives up.",
    origin: "R2",
    kinds: ["multi", "lock"],
    edits: [
      {
        file: "src/locks/take-together.ts",
        find: "undoCopies(lock, stay);\n      stay.settled();",
        replace: "void undoCopies; void lock;\n      stay.settled();",
      },
    ],
  },
  {
    name: "joint-release-tells-otherwise",
    promise: "A release that finds a joint lease lost reports the same reason as the lease and its signal.",
    shows: "One of its locks has run out or was freed by force, and only the release finds that.",
    origin: "own-41",
    kinds: ["multi", "red"],
    edits: [
      {
        file: "src/locks/joint-lease.ts",
        find: "const { members, quorum } = this.#hold;",
        replace: "const { members, quorum, loss } = this.#hold;",
      },
      { file: "src/locks/joint-lease.ts", find: "const { loss } = this.#hold;", replace: "" },
    ],
  },
  {
    name: "red-without-a-majority",
    promise: "A red lease has a majority of its servers when the call returns it.",
    shows: "Two processes ask the servers at once, and each gets some of them.",
    origin: "simulation.md",
    kinds: ["red"],
    edits: [
      {
        file: "src/locks/red-lock.ts",
        find: "Math.floor(members.length / 2) + 1",
        replace: "Math.floor(members.length / 2)",
      },
    ],
  },
  {
    name: "red-turn-not-waited-for",
    promise: "A call for a red lock under a chosen id waits for the earlier call under that id.",
    shows: "Two tasks ask for a red lock under one id, and the second may not wait.",
    origin: "own-113",
    kinds: ["red"],
    edits: [
      {
        file: "src/locks/acquisition.ts",
        find: "wish.isAskedAgain ? undefined : () => this.#enter()",
        replace: "wish.timeoutMs !== undefined ? undefined : () => this.#enter()",
      },
    ],
  },
];
