import { alike, type Survivor } from "./survivor.js";

/** About commands, and what they have to wait for. */
export const inSending: readonly Survivor[] = [
  ...alike("equivalent", "The wheel that it is set on is stopped in the same breath.", [
    ["runtime/watchdog.ts", "5:call-dropped", "this.#beat?.cancel();"],
    ["runtime/fair-queues.ts", "5:call-dropped", "this.#beat?.cancel();"],
    ["runtime/confirmations.ts", "5:call-dropped", "this.#looking?.cancel();"],
  ]),
  ...alike("equivalent", "Numbers below zero are as good: each stands for one request of the client.", [
    ["runtime/requests.ts", "+=-to--=", "this.#latestId += 1;"],
  ]),
  ...alike("one moment", "It is tried once more at the very moment at which that is given up.", [
    ["runtime/commands.ts", "31:<=-to-<", "if (this.#leftMs(pending) <= backoffMs"],
  ]),
  ...alike(
    "only cost",
    "What is about one key is refused at once where the server only asks for patience, and asked for again after a pause.",
    [
      ["runtime/watchdog.ts", "62:>-to->=", "const patience = { timeoutMs, divisible: wanted.length > 1 };"],
      ["runtime/confirmations.ts", "49:>-to->=", "const patience = { divisible: wanted.length > 1 };"],
    ],
  ),
  ...alike("only cost", "What holds nothing any more is asked about once more.", [
    ["runtime/confirmations.ts", "21:||-to-&&", "if (!one.isHeld || this.#stopped) one.isMoved = false;"],
    [
      "runtime/confirmations.ts",
      "39:assignment-dropped",
      "if (!one.isHeld || this.#stopped) one.isMoved = false;",
    ],
  ]),
  ...alike("only cost", "A beat that looks for nothing.", [
    [
      "runtime/confirmations.ts",
      "56:||-to-&&",
      "if (!required || driver.lookForMoves === undefined || this.#stopped) return;",
    ],
  ]),
];
