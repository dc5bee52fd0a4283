import { type CountAnswer, countAnswer } from "./count-scripts.js";
import { defineScript, type Script } from "./define-script.js";
import { permitLeave as source } from "./later-scripts.js";
import { savedPermitsKey, waitingKey } from "./names.js";
import type { AskingLine } from "./permit-calls.js";

interface Leaving extends Omit<AskingLine, "way"> {
  readonly count: string;
  readonly channel: string;
}

/** Takes a line out of the queue; see permit-leave.lua. */
export const permitLeave: Script<Leaving, CountAnswer<{ readonly status: "left" }>> = defineScript({
  source,
  keys: ({ count }) => [count, waitingKey(count), savedPermitsKey(count)],
  args: ({ channel, line, countsAll }) => [channel, line, countsAll ? 1 : 0],
  reply: countAnswer({ left: [] }),
});
