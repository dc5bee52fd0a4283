import type { Defect } from "../defect.js";

const BOTH = ["semaphore", "permit semaphore"];
const TELL = "src/protocol/scripts/include/permit-queue.lua";

/** The messages and places of the lines that wait for permits; what a release tells is in permits.ts, too. */
export const waitingPermitDefects: readonly Defect[] = [
  {
    name: "next-line-not-told",
    promise: "When some lines were told their turn, the line behind them is told that it is the next.",
    shows: "A release tells a line its turn while another one waits.",
    kinds: BOTH,
    edits: [
      {
        file: TELL,
        find: "if next_line and (is_first or has_told) then",
        replace: "if next_line and is_first then",
      },
    ],
  },
  {
    name: "next-line-not-read",
    promise:
      "When any number of lines were told their turn, the line behind them is told that it is the next.",
    shows:
      "Several permits come back at once, and all lines that the script reads first are told their turn.",
    origin: "own-122",
    kinds: BOTH,
    edits: [{ file: TELL, find: "left < 1 and next_line then", replace: "left < 1 then" }],
  },
  {
    name: "next-line-not-minded",
    promise:
      "If the lines before the next line do not use their turns in time, the next line asks for its permits.",
    shows: "The line that was told its turn stands still, or is dead, or gives its permits back late.",
    kinds: BOTH,
    edits: [
      {
        file: "src/runtime/wait-line.ts",
        find: "else if (message === YOU_ARE_NEXT) this.endsIn(GIVEN_MS);",
        replace: "else if (message === YOU_ARE_NEXT && this.awaited.queues) this.endsIn(GIVEN_MS);",
      },
      {
        file: "src/runtime/line-ears.ts",
        find: "this.#hearsAllIn(message === YOU_ARE_FIRST ? 0 : HEARS_ALL_AFTER_MS);",
        replace: "if (message === YOU_ARE_FIRST) this.#hearsAllIn(0);",
      },
    ],
  },
  {
    name: "line-keeps-its-place",
    promise: "A line without a waiting call leaves the queue.",
    shows: "Its last call gives up.",
    kinds: BOTH,
    edits: [
      {
        file: "src/synchronizers/acquire-permits.ts",
        find: "if (line?.ears?.mayWait) leavePermitQueue(this.count, this.permits, line);",
        replace: "",
      },
    ],
  },
  {
    name: "rings-for-a-moment-that-is-over",
    promise: "A call that waits for permits asks only when it has a reason.",
    shows:
      "A call gave up while its question was under way, and the next one comes once the channel of its line is closed.",
    origin: "own-121",
    kinds: BOTH,
    edits: [
      {
        file: "src/runtime/line-ears.ts",
        find: "    this.#own = undefined;\n    this.#hearsAllFromMs = Number.POSITIVE_INFINITY;\n",
        replace: "    this.#own = undefined;\n",
      },
    ],
  },
];
