import { alike, type Survivor } from "./survivor.js";

const SCRIPTS = "protocol/scripts";

const SWEPT =
  "It says when entries that are of no use any more are swept out, or whether one that is used again is made anew.";
const FORGOTTEN =
  "Which answers a command makes Redis forget: those that none names are forgotten by their TTL, and those that two name are gone at the first.";

/** What sends, waits or keeps a little more or less. */
export const costs: readonly Survivor[] = [
  ...alike(
    "only cost",
    "Each pause is as long as the first: a server that does not answer is asked more often.",
    [
      ...["locks/red-lock", "synchronizers/count"].map(
        (file) =>
          [`${file}.ts`, "assignment-dropped", "pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);"] as const,
      ),
      ["runtime/commands.ts", "assignment-dropped", "pending.backoffMs = Math.min("],
    ],
  ),
  ...alike(
    "only cost",
    "How long a line lives without messages before it listens again: TTL and safety period carry its waiters.",
    [
      ["runtime/ear.ts", "assignment-dropped", "this.#deafMs = "],
      ["runtime/ear.ts", "assignment-dropped", "this.againMs = Number.NEGATIVE_INFINITY;"],
      ["runtime/ear.ts", "<-to-<=", "clock.monotonicMs() < this.againMs"],
    ],
  ),
  ...alike("only cost", "An alarm that would do is set anew.", [
    ["runtime/line-alarm.ts", "assignment-dropped", "this.#atMs = ms;"],
    ["runtime/line-alarm.ts", "<=-to-<", "this.#atMs <= ms"],
  ]),
  ...alike(
    "only cost",
    "An alarm is set where nobody needs it: one that looks at the lease, and changes nothing.",
    [
      ["threads/trust.ts", "<-to-<=", "if (this.checkMs() < Number.POSITIVE_INFINITY)"],
      ["threads/trust.ts", "&&-to-||", "(isCertain && events.leaseLost.hasSubscribers)"],
    ],
  ),
  ...alike("only cost", SWEPT, [
    ["threads/occupancy.ts", "*", "this.#empty"],
    ["threads/occupancy.ts", ">-to->=", "if (stays > 0) return;"],
    ["threads/occupancy.ts", ">-to-<=", "if (stays > 0) return;"],
    ["threads/occupancy.ts", ">-to->=", "count > 0"],
    ["threads/occupancy.ts", "assignment-dropped", "this.#stays = new Map("],
    ["runtime/requests.ts", "*", "if (this.#books.size >= this.#sweepAtSize)"],
    ["runtime/requests.ts", "*", "this.#sweepAtSize = Math.max("],
    ["runtime/requests.ts", "&&-to-||", "if (open === 0 && usedMs < unusedSinceMs)"],
    ["runtime/requests.ts", "<-to-<=", "usedMs < unusedSinceMs"],
    ["runtime/requests.ts", "assignment-dropped", "book.usedMs = "],
  ]),
  ...alike("only cost", FORGOTTEN, [
    ["runtime/requests.ts", "<-to-*", "taken.length < MOST_SETTLED"],
    ["runtime/requests.ts", "call-dropped", "this.#settled.push("],
    ["runtime/requests.ts", "call-dropped", "taken.push(settled);"],
    ["runtime/requests.ts", "call-dropped", "else kept.push("],
    ["runtime/requests.ts", "assignment-dropped", "this.#settled = kept;"],
    ["runtime/requests.ts", "call-dropped", "putBack(this.#told);"],
    ["runtime/requests.ts", "assignment-dropped", "this.#told = [];"],
    ["synchronizers/count.ts", "call-dropped", "request.answered();"],
    [`${SCRIPTS}/include/request.lua`, "call-dropped", "forget_settled(request)"],
    [`${SCRIPTS}/include/request.lua`, "call-dropped", 'redis.pcall("HDEL", request.requests, id)'],
    [`${SCRIPTS}/permit-cancel.lua`, "call-dropped", "forget_settled(request)"],
    [`${SCRIPTS}/semaphore-cancel.lua`, "call-dropped", "forget_settled(request)"],
  ]),
  ...alike("only cost", "A group has one more.", [
    ["runtime/groups.ts", ">=-to->", "requests.length >= most"],
  ]),
  ...alike("only cost", "A call whose answers all come late is given up one try later.", [
    ["locks/lowering.ts", ">=-to->", "MOST_VAIN_TRIES"],
    ["locks/take-together.ts", ">=-to->", "MOST_VAIN_TRIES"],
    ["synchronizers/count.ts", "<-to-<=", "MOST_VAIN_TRIES"],
  ]),
  ...alike("only cost", "A lock that could be handed on is freed, and asked for again.", [
    ["locks/hand-off.ts", "assignment-dropped", "this.hold = enter("],
    ["locks/hand-off.ts", "<-to-<=", "leftMs(hold.end, at) < LEAST_TRUST_MS"],
  ]),
  ...alike("only cost", "One look more at the dead in one call.", [
    [`${SCRIPTS}/include/fair-queue.lua`, "<-to-<=", "while fair.looks < MOST_LOOKS do"],
  ]),
  ...alike(
    "only cost",
    "It bounds how many dead are passed over in one call, far more than a fleet of the simulator has.",
    [[`${SCRIPTS}/include/fair-queue.lua`, "*", "fair.looks = fair.looks"]],
  ),
  ...alike("only cost", "One or two more are looked at together.", [
    [`${SCRIPTS}/include/fair-queue.lua`, "*", "HEADS_AT_ONCE - 1"],
  ]),
  ...alike(
    "only cost",
    "It is looked more often whether the keys are whole, which changes nothing where they are.",
    [[`${SCRIPTS}/fair-refresh.lua`, "<-to-<=", "if (#there < #waiters or not is_raised)"]],
  ),
  ...alike("only cost", "How soon one who does not stand in the queue asks again.", [
    [`${SCRIPTS}/fair-acquire.lua`, "*", "local grace_ms = times.grant_ms > 0"],
  ]),
  ...alike("only cost", "What was surely not carried out is taken back all the same.", [
    [
      "synchronizers/permit-command.ts",
      "&&-to-||",
      "error instanceof UnavailableError && error.outcomeUnknown",
    ],
  ]),
  ...alike("only cost", "The parts of a waiter that are over are kept until its call ends.", [
    ["locks/red-lock.ts", "call-dropped", "waiter.dispose();"],
  ]),
  ...alike("only cost", "Waiters are told of permits that they know of.", [
    [`${SCRIPTS}/permit-cancel.lua`, ">-to->=", "if #ids > 0 then"],
  ]),
];
