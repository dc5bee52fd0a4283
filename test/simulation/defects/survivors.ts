import type { Mutant } from "./mutants/mutant.js";

/** Why nothing can find a mutant. */
type Why =
  /** It does the same. */
  | "equivalent"
  /** It sends more commands, or keeps more in memory, within what the checker allows. */
  | "only cost"
  /** An event or the text of an error tells something else; tests of events and errors see that. */
  | "only told"
  /** What it does is documented as possible. */
  | "documented tolerance"
  /** It shows where no schedule comes to; a test that does is named. */
  | "not in the world";

/** Mutants that the simulator need not find. */
export interface Survivor {
  /** The id of a mutant, in which `*` stands for anything. */
  readonly id: string;
  /** A part of the line as it stands, where the id alone would name too many. */
  readonly line?: string;
  readonly why: Why;
  readonly because: string;
}

const GROWING_PAUSE =
  "Each pause is as long as the first: a server that does not answer is asked more often.";
const FOREIGN_KEY =
  "It shows where a key is of another type, or holds text for a number: see test/synchronizers/permit-redis.test.ts.";
const ONE_MS_EARLIER =
  "The deadline is over a millisecond earlier, out of a whole command timeout; the call is told that it was late, and asks again.";

export const survivors: readonly Survivor[] = [
  ...[
    "src/threads/succession.ts",
    "src/locks/clean-up.ts",
    "src/locks/red-lock.ts",
    "src/synchronizers/count.ts",
  ].map(
    (file): Survivor => ({
      id: `${file}:*:assignment-dropped`,
      line: "pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);",
      why: "only cost",
      because: GROWING_PAUSE,
    }),
  ),
  {
    id: "src/runtime/commands.ts:*:assignment-dropped",
    line: "effort.backoffMs = Math.min(",
    why: "only cost",
    because: GROWING_PAUSE,
  },
  {
    id: "src/runtime/wait-line.ts:*:assignment-dropped",
    line: "this.#deafMs = ",
    why: "only cost",
    because:
      "How long a line lives without messages before it listens again: TTL and safety period carry its waiters.",
  },
  ...[
    "fair-acquire",
    "fair-force-unlock",
    "lock-force-unlock",
    "lock-succeed",
    "read-acquire",
    "read-write-force-unlock",
    "write-acquire",
  ].map(
    (script): Survivor => ({
      id: `src/protocol/scripts/${script}.lua:*:>-to->=`,
      line: "if now_ms > not_after_ms then",
      why: "documented tolerance",
      because: ONE_MS_EARLIER,
    }),
  ),
  {
    id: "src/protocol/scripts/include/request.lua:*:>-to->=",
    line: "if now_ms > tonumber(request.not_after_ms) then",
    why: "documented tolerance",
    because: ONE_MS_EARLIER,
  },
  {
    id: "src/protocol/scripts/lock-acquire.lua:*:<=-to-<",
    line: "and now_ms <= not_after_ms",
    why: "equivalent",
    because: "In that millisecond the call takes the longer way, which comes to the same.",
  },
  {
    id: "src/protocol/scripts/include/raise-ttl.lua:*:<-to-<=",
    why: "equivalent",
    because: "A TTL that is as long already is set to what it is.",
  },
  {
    id: "src/threads/occupancy.ts:*",
    line: "this.#empty",
    why: "only cost",
    because: "It says when entries that count nothing are swept out of the map.",
  },
  {
    id: "src/threads/occupancy.ts:*",
    line: "if (stays > 0) return;",
    why: "only cost",
    because: "What follows only sweeps entries that count nothing out of the map.",
  },
  {
    id: "src/runtime/groups.ts:*:>=-to->",
    line: "MOST_REQUESTS",
    why: "only cost",
    because: "A group has one more.",
  },
  {
    id: "src/runtime/requests.ts:*:<-to-*",
    line: "taken.length < MOST_SETTLED",
    why: "only cost",
    because: "A request makes Redis forget one more answer, or leaves them to the TTL of all answers.",
  },
  {
    id: "src/runtime/requests.ts:*",
    line: "if (this.#books.size >= this.#sweepAtSize)",
    why: "only cost",
    because: "It says when books that nobody has used for long are swept out: none of them is of use.",
  },
  {
    id: "src/runtime/requests.ts:*",
    line: "this.#sweepAtSize = Math.max(",
    why: "only cost",
    because: "It says when books that nobody has used for long are swept out.",
  },
  {
    id: "src/protocol/scripts/include/fair-queue.lua:*:<-to-<=",
    line: "while fair.looks < MOST_LOOKS do",
    why: "only cost",
    because: "One look more at the dead in one call.",
  },
  {
    id: "src/protocol/scripts/include/fair-queue.lua:*",
    line: "fair.looks = fair.looks",
    why: "only cost",
    because:
      "It bounds how many dead are passed over in one call, far more than a fleet of the simulator has.",
  },
  {
    id: "src/protocol/scripts/include/fair-queue.lua:*",
    line: "HEADS_AT_ONCE - 1",
    why: "only cost",
    because: "One or two more are looked at together.",
  },
  ...[
    ["src/threads/holding.ts", "events.leaseLost"],
    ["src/threads/permit-holds.ts", "events.leaseLost.publish("],
    ["src/locks/acquire.ts", "events.contended"],
    ["src/locks/release.ts", "events.release"],
    ["src/locks/release.ts", "tell("],
    ["src/runtime/watchdog.ts", "events.renewalFailed"],
    ["src/synchronizers/semaphore.ts", "events.releaseFailed"],
    ["src/synchronizers/permit-expirable-semaphore.ts", "events.release"],
  ].map(
    ([file = "", line = ""]): Survivor => ({
      id: `${file}:*`,
      line,
      why: "only told",
      because: "Events say more or less: see test/unit/events.test.ts.",
    }),
  ),
  ...[
    ["include/request.lua", "or-to-and", 'return foreign_type(key, "string") or'],
    ["include/request.lua", "or-to-and", "local found = foreign or foreign_type("],
    ["include/leased-permits.lua", "or-to-and", "return foreign_count(semaphore.permits) or"],
    ["permit-acquire.lua", "or-to-and", "foreign_semaphore(semaphore) or foreign_type("],
    ["permit-cancel.lua", "or-to-and", "or foreign_type("],
    ["semaphore-acquire.lua", "or-to-and", "foreign_count(permits) or foreign_type("],
    ["semaphore-cancel.lua", "or-to-and", "local foreign = foreign_count(permits) or"],
    ["include/fair-keys.lua", "not-dropped", 'string.find(message, "WRONGTYPE"'],
    ["lock-renew.lua", "*", 'string.find(there.err, "WRONGTYPE"'],
  ].map(
    ([script = "", operator = "", line = ""]): Survivor => ({
      id: `src/protocol/scripts/${script}:*:${operator}`,
      line,
      why: "not in the world",
      because: FOREIGN_KEY,
    }),
  ),
];

export function explains({ id, line = "" }: Survivor, mutant: Mutant): boolean {
  const parts = id.split("*").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(mutant.id) && mutant.was.includes(line);
}
