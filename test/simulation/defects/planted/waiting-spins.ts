import type { Defect } from "../defect.js";

const KINDS = ["lock"];
const RELEASE = "src/protocol/scripts/include/look-into-queue.lua";
const ACQUIRE = "src/protocol/scripts/include/ask-in-queue.lua";

/** Spin locks in the queue of a plain lock of their name. */
export const waitingSpinDefects: readonly Defect[] = [
  {
    name: "claimed-before-others",
    promise: "A client that polls claims a lock once all clients that waited before it have acquired it.",
    shows: "A spin lock asks while clients of plain locks wait.",
    kinds: KINDS,
    edits: [
      {
        file: ACQUIRE,
        find: "if not first or place_of(queue, first) >= place then",
        replace: "if place then",
      },
    ],
  },
  {
    name: "claimant-passed-over",
    promise: "A polling client that has waited for longer than all others is given the lock.",
    shows: "A release finds a spin lock that claims the lock, and others that came after it.",
    kinds: KINDS,
    edits: [
      { file: RELEASE, find: "if claimant and claimant ~= client then", replace: "if claimant == 0 then" },
    ],
  },
  {
    name: "claimed-for-ever",
    promise: "A client that polls claims the lock once.",
    shows: "A release gives the lock to a spin lock that claims it.",
    kinds: KINDS,
    edits: [{ file: RELEASE, find: 'redis.pcall("ZREM", queue, claimant)', replace: "" }],
  },
  {
    name: "next-of-a-claimant-not-told",
    promise: "The first waiting client gets a message when the lock is given to a polling client.",
    shows: "The spin lock that was given the lock dies, or gives up.",
    kinds: KINDS,
    edits: [{ file: RELEASE, find: 'tell(first, "next")', replace: "first = nil" }],
  },
  {
    name: "asleep-behind-a-spin-lock",
    promise:
      "A call that waits behind a spin lock call of its client notices a release after that call has given up.",
    shows: "The last answer to the spin lock comes when its time is up.",
    origin: "own-120",
    kinds: KINDS,
    edits: [
      {
        file: "src/locks/wait-in-line.ts",
        find: "if (wasNapping) this.line.wake();",
        replace: "void wasNapping;",
      },
    ],
  },
];
