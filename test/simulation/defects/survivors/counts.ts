import { alike, type Survivor } from "./survivor.js";

/** What survives in the code of semaphores and latches. */
export const inCounts: readonly Survivor[] = [
  ...alike("only cost", "A request that was not answered, and saves up nothing, is taken back twice.", [
    ["synchronizers/acquire-permits.ts", ">-to->=", "if (command.saveMs > 0)"],
  ]),
  ...alike(
    "only told",
    "How many permits there were, which the text of an error says: see test/locks/error-messages.test.ts.",
    [["synchronizers/acquire-permits.ts", "*", "this.available = answer.exists === 0"]],
  ),
  ...alike("one moment", "A semaphore that has no time left at that moment is gone a moment later.", [
    ["synchronizers/leased-permits.ts", "<-to-<=", "(ttlMs < 0 ?"],
  ]),
];
