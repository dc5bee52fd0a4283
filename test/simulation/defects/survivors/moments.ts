import { alike, type Survivor } from "./survivor.js";

const SCRIPTS = "protocol/scripts";

/** What differs for a millisecond or less. */
export const moments: readonly Survivor[] = [
  ...alike(
    "documented tolerance",
    "The deadline is over a millisecond earlier, out of a whole command timeout; the call is told that it was late, and asks again.",
    [
      ...[
        "fair-acquire",
        "fair-force-unlock",
        "lock-acquire",
        "lock-force-unlock",
        "lock-succeed",
        "read-acquire",
        "read-write-force-unlock",
        "write-acquire",
      ].map((script) => [`${SCRIPTS}/${script}.lua`, ">-to->=", "if now_ms > not_after_ms then"] as const),
      // The second comparison of the line: the first is whether there is a deadline.
      ...["fair-release", "read-release", "write-release"].map(
        (script) => [`${SCRIPTS}/${script}.lua`, "34:>-to->=", "and now_ms > not_after_ms then"] as const,
      ),
      [`${SCRIPTS}/include/request.lua`, ">-to->=", "if now_ms > tonumber(request.not_after_ms) then"],
    ],
  ),
  ...alike("equivalent", "In that millisecond the call takes the longer way, which comes to the same.", [
    [`${SCRIPTS}/lock-acquire.lua`, "<=-to-<", "and now_ms <= not_after_ms"],
  ]),
  ...alike("one moment", "A waiter is dead a millisecond later or earlier, out of six seconds.", [
    [`${SCRIPTS}/include/fair-queue.lua`, "<=-to-<", "<= now_ms"],
    [`${SCRIPTS}/include/fair-queue.lua`, ">-to->=", "tonumber(fair.head_alive_ms) > now_ms"],
    [`${SCRIPTS}/include/fair-keys.lua`, "<-to-<=", "return timeout_ms < now_ms + times.wait_ms"],
  ]),
  ...alike(
    "one moment",
    "It is tried once more at the very moment at which that is given up, or once less.",
    [
      ["runtime/commands.ts", "<=-to-<", "if (endMs <= sentAt.monotonicMs)"],
      ["runtime/commands.ts", "<=-to-<", "if (this.#leftMs(bound) <= 0)"],
      ["runtime/requests.ts", "<-to-<=", "< this.#begunMs + MEMORY_MS"],
      ["runtime/sender.ts", "<=-to-<", "tookMs <= pending.endMs - sentAt.monotonicMs"],
    ],
  ),
  ...alike(
    "one moment",
    "What is given back to Redis is looked for a minute after the last lease has ended.",
    [["threads/server-record.ts", ">-to->=", "nowMs > this.#outlivedMs"]],
  ),
  ...alike("one moment", "The turns of those for whom permits are saved up begin or end a moment later.", [
    ["synchronizers/saving-turns.ts", "<-to-<=", "waitedMs < this.#savesFromMs"],
    ["synchronizers/saving-turns.ts", "<-to-<=", "waitedMs < this.#turn.endMs"],
    ["synchronizers/saving-turns.ts", ">=-to->", "waitedMs >= turn.endMs"],
  ]),
];
