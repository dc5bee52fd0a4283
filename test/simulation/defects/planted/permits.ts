import type { Defect } from "../defect.js";

const BOTH = ["semaphore", "permit semaphore"] as const;

/** Permits: given twice, lost, or believed for too long. */
export const permitDefects: readonly Defect[] = [
  {
    name: "cancelled-request-granted",
    promise: "Permits are not granted to a request that was cancelled.",
    shows: "An acquisition is delayed, its cancelling overtakes it, and then it arrives.",
    origin: "simulation.md",
    kinds: ["semaphore"],
    edits: [
      {
        file: "src/protocol/scripts/semaphore-cancel.lua",
        find: 'local cancelled = record(request, "cancelled", 0)',
        replace: 'local cancelled = granted and record(request, "cancelled", 0) or { "cancelled", "0" }',
      },
    ],
  },
  {
    name: "state-asked-twice",
    promise: "A release of permits gives them back or says that they were lost.",
    shows:
      "The process is stopped between two statements of a release, past the lease of one of the permits.",
    origin: "own-33",
    kinds: ["permit semaphore"],
    edits: [
      {
        file: "src/synchronizers/permit-expirable-semaphore.ts",
        find: 'if (hold.state === "held") hold.releasing = this.#releaseHeld(hold);\n    else if (hold.state === "lost") {',
        replace:
          'const isLost = hold.state === "lost";\n    if (hold.state === "held") hold.releasing = this.#releaseHeld(hold);\n    if (isLost) {',
      },
    ],
  },
  {
    name: "rest-of-a-late-release-kept",
    promise: "A retried release of permits gives the remaining permits back.",
    shows: "A release of several permits is not answered, and one of them is lost before it is tried again.",
    origin: "own-34",
    kinds: ["permit semaphore"],
    edits: [
      {
        file: "src/synchronizers/release-permits.ts",
        find: "releasePermits(count, ids, releaseEach)",
        replace: "releasePermits(count, ids)",
      },
    ],
  },
  {
    name: "given-up-with-one-that-ended",
    promise:
      "A release by ids gives back the permits of its own client's leases, even if other permits with these ids are gone.",
    shows:
      "A release by ids of several leases is not answered, and one of these ends before it is tried again.",
    origin: "own-112",
    kinds: ["permit semaphore"],
    edits: [
      {
        file: "src/synchronizers/release-permits.ts",
        find: 'if (status === "absent") await releaseOneByOne(count, own);',
        replace: "",
      },
    ],
  },
  {
    name: "cancelled-lease-granted",
    promise: "Leased permits are not granted to a request that was cancelled.",
    shows:
      "An acquisition of permanent permits is delayed, its cancelling overtakes it, and then it arrives.",
    kinds: ["permit semaphore"],
    edits: [
      {
        file: "src/protocol/scripts/permit-cancel.lua",
        find: 'cancelled = record(request, "cancelled", 0)',
        replace: 'cancelled = { "cancelled", "0" }',
      },
    ],
  },
  {
    name: "refused-gives-back",
    promise: "Cancelling a request that was refused adds no permits.",
    shows: "An acquisition is refused, its answer is lost, and it is cancelled.",
    origin: "wire-S10",
    kinds: ["semaphore"],
    edits: [
      {
        file: "src/protocol/scripts/semaphore-cancel.lua",
        find: 'local granted = answer and answer[1] == "granted"',
        replace: "local granted = true",
      },
    ],
  },
  {
    name: "unknown-grant-kept",
    promise: "If a call got permits but not the answer, the permits come back.",
    shows: "An acquisition is carried out, and its call gives up without an answer.",
    origin: "wire-S10",
    kinds: BOTH,
    edits: [
      {
        file: "src/synchronizers/permit-command.ts",
        find: "if (error instanceof UnavailableError && error.outcomeUnknown) this.takeBack();\n    else this.end",
        replace: "this.end",
      },
    ],
  },
  {
    name: "cancelled-grant-kept",
    promise: "If permits arrive after their call was cancelled, they are given back.",
    shows: "A signal aborts while the acquisition is under way, which is then granted.",
    origin: "B37",
    kinds: BOTH,
    edits: [
      {
        file: "src/synchronizers/acquire-permits.ts",
        find: "granted === undefined ? undefined : source.giveBack(granted),",
        replace: "granted === undefined ? undefined : undefined,",
      },
    ],
  },
  {
    name: "one-permit-too-many",
    promise: "If leases of permits end, only their permits come back.",
    shows: "The lease of one permit ends while another is held, and somebody asks.",
    origin: "simulation.md",
    kinds: ["permit semaphore"],
    edits: [
      {
        file: "src/protocol/scripts/include/leased-permits.lua",
        find: 'redis.call("ZREMRANGEBYRANK", semaphore.leases, "1", "0")',
        replace: 'number = math.min(number + 1, redis.call("ZCARD", semaphore.leases))',
      },
    ],
  },
  {
    name: "expired-permits-kept",
    promise: "Permits whose lease has ended go to the waiters.",
    shows: "A holder of leased permits dies, and others want them.",
    origin: "B27",
    kinds: ["permit semaphore"],
    edits: [
      {
        file: "src/protocol/scripts/permit-acquire.lua",
        find: "reclaim(semaphore)\n  local available",
        replace: "local available",
      },
    ],
  },
  {
    name: "expired-permit-released",
    promise: "The release of permits whose lease has ended reports that the lease has ended.",
    shows: "A lease ends, nobody asks for permits, and its holder releases.",
    origin: "B27",
    kinds: ["permit semaphore"],
    edits: [
      {
        file: "src/protocol/scripts/include/leased-permits.lua",
        find: "return ends_ms and ends_ms > now_ms",
        replace: "return ends_ms",
      },
    ],
  },
  {
    name: "lost-permit-renewed",
    promise: "A renewal never takes back permits that have run out.",
    shows: "Renewals fail past the lease of a permit, somebody else is granted it, and a renewal arrives.",
    origin: "B23",
    kinds: ["permit semaphore"],
    edits: [
      {
        file: "src/protocol/scripts/permit-renew.lua",
        find: 'if answer.ok ~= "zset" or count_absent(semaphore, ids) > 0 then',
        replace: 'if answer.ok == "hash" then',
      },
    ],
  },
  {
    name: "repeated-permit-trusted-anew",
    promise: "Permits are believed for no longer than their lease, even if their grant was repeated.",
    shows: "The answer to a grant is lost, and the repeat is sent late in a short lease.",
    origin: "R3",
    kinds: ["permit semaphore"],
    edits: [
      {
        file: "src/synchronizers/leased-permits.ts",
        find: "...(leftMs < 0 ? {} : { until: later(sentAt, leftMs - marginMs(leftMs, terms)) }),",
        replace:
          "...(leftMs < 0 ? {} : { until: later(sentAt, terms.trustedMs + 0 * marginMs(leftMs, terms)) }),",
      },
    ],
  },
  {
    name: "new-lease-not-doubted",
    promise:
      "While the lease of permits is being changed, the permits are believed for the shorter of the two leases.",
    shows: "updateLeaseTime with a shorter lease is carried out, and its answer is delayed or lost.",
    kinds: ["permit semaphore"],
    edits: [
      {
        file: "src/threads/doubts.ts",
        find: "return this.#open.reduce((first, doubt) => earlier(first, doubt.end), end);",
        replace: "return end;",
      },
    ],
  },
  {
    name: "overlapping-new-leases",
    promise: "If several new leases for permits are under way at once, the shortest is believed.",
    shows: "Two updateLeaseTime calls overlap, and Redis carries them out in the other order.",
    kinds: ["permit semaphore"],
    edits: [{ file: "src/threads/changeable-trust.ts", find: "this.doubts?.cap(doubt.end);", replace: "" }],
  },
  {
    name: "part-released-is-stolen",
    promise: "Held permits are not reported as stolen because other permits of their lease were released.",
    shows: "Some permits of a lease are released by their ids while a renewal of all is under way.",
    origin: "B22",
    kinds: ["permit semaphore"],
    edits: [
      {
        file: "src/threads/permit-holds.ts",
        find: "if (this.#renewedChanges !== this.#changes) return false;",
        replace: "",
      },
    ],
  },
  {
    name: "saved-for-ever",
    promise: "Permits that were saved up for a dead waiter go to the other waiters.",
    shows: "A waiter for several permits has some saved up, and its process is killed.",
    kinds: BOTH,
    edits: [
      {
        file: "src/protocol/scripts/include/saved-permits.lua",
        find: 'milliseconds(since_ms), "PX", ttl_ms)',
        replace: "milliseconds(since_ms))",
      },
    ],
  },
  {
    name: "rest-not-passed-on",
    promise: "Permits that remain after a waiter was served go to the next waiter.",
    shows: "Several permits come back at once while several tasks of a process wait for one each.",
    origin: "wire-L15",
    kinds: BOTH,
    edits: [
      {
        file: "src/synchronizers/acquire-permits.ts",
        find: "if (answer.available >= this.permits) line?.wake();\n    else {",
        replace: "{",
      },
    ],
  },
  {
    name: "turn-not-told",
    promise: "A release wakes the first client that waits for permits.",
    shows: "Two clients have lost a race, and one of them gives its permits back.",
    kinds: BOTH,
    edits: [
      {
        file: "src/protocol/scripts/include/permit-queue.lua",
        find: "if next_line and (is_first or has_told) then",
        replace: "if next_line and is_first then",
      },
      {
        file: "src/protocol/scripts/include/permit-queue.lua",
        find: "line ~= waiting.line and left - (is_owner and 0 or saved) >= wanted",
        replace: "line ~= waiting.line and left - (is_owner and 0 or saved) > wanted",
      },
    ],
  },
  {
    name: "turn-taken-by-others",
    promise: "A waiting client does not take permits that clients ahead of it were told to take.",
    shows: "A client comes back for permits that it has just given to another one.",
    kinds: BOTH,
    edits: [
      {
        file: "src/protocol/scripts/include/permit-question.lua",
        find: "return waiting.wanted_ahead",
        replace: "return 0",
      },
    ],
  },
  {
    name: "turn-of-the-last",
    promise: "A client that waits for permits keeps its place.",
    shows: "A client that was told its turn finds that others were faster.",
    kinds: BOTH,
    edits: [
      {
        file: "src/protocol/scripts/include/permit-question.lua",
        find: 'redis.pcall("ZREM", waiting.queue, TOLD .. waiting.line)',
        replace: "forget(waiting, waiting.line)",
      },
      {
        file: "src/protocol/scripts/include/permit-question.lua",
        find: "if available - waiting.wanted_ahead >= 1 then",
        replace: "if available - waiting.wanted_ahead >= 9 then",
      },
    ],
  },
];
