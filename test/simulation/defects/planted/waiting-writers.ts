import type { Defect } from "../defect.js";

const KINDS = ["read-write"];
const RELEASE = "src/protocol/scripts/write-release.lua";
const ACQUIRE = "src/protocol/scripts/write-acquire.lua";

/** In what the queue of a write lock is other than that of a plain lock. */
export const waitingWriterDefects: readonly Defect[] = [
  {
    name: "readers-thought-to-look",
    promise: "A writer that waits behind readers hears when the last of them has left.",
    shows: "A client that reads stands in the queue as well: its reader's release does not look there.",
    kinds: KINDS,
    edits: [
      {
        file: ACQUIRE,
        find: 'mode_of(lock) == "write" and client_of(answer[3]) or ""',
        replace: "client_of(answer[3])",
      },
    ],
  },
  {
    name: "reads-on-and-tells-nobody",
    promise: "Writers that wait hear that the writer before them has gone over to reading.",
    shows: "A writer that reads as well frees its write lock, while others rely on its look into the queue.",
    kinds: KINDS,
    edits: [
      {
        file: RELEASE,
        find: "if looks and (is_freed or",
        replace: "if looks and (is_free or not is_freed and",
      },
    ],
  },
  {
    name: "given-while-read",
    promise: "A write lock is not given to a client while others read.",
    shows: "A writer that reads as well frees its write lock, and the next one is given it.",
    kinds: KINDS,
    edits: [
      {
        file: RELEASE,
        find: "look_into_queue(is_freed, is_free,",
        replace: "look_into_queue(is_freed, is_freed,",
      },
    ],
  },
  {
    name: "mode-left-behind",
    promise: "A client takes the write lock that was given to it.",
    shows: "It asks: the field that keeps the lock for it goes, and the mode stays without a holder.",
    kinds: KINDS,
    edits: [
      {
        file: "src/protocol/scripts/include/ask-in-queue.lua",
        find: 'next_field(client), "mode")',
        replace: "next_field(client))",
      },
    ],
  },
  {
    name: "deaf-to-reads-of-its-own-client",
    promise: "A writer that waits behind a reader of its own client hears when that has left.",
    shows: "Nobody else waits, and the client is taken for one that tells its own calls.",
    kinds: KINDS,
    edits: [
      {
        file: "src/locks/wait-in-line.ts",
        find: "const own = obstacle.own && obstacle.holder.endsWith(fieldEnding);",
        replace: "const { own } = obstacle;\n      void fieldEnding;",
      },
    ],
  },
];
