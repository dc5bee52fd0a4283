import type { Defect } from "../defect.js";

const BOTH = ["semaphore", "permit semaphore"] as const;
const COUNTS = ["semaphore", "permit semaphore", "latch"] as const;

/** Changes of numbers that nobody owns, which are to have their effect once, and latches. */
export const countDefects: readonly Defect[] = [
  {
    name: "answers-not-remembered",
    promise: "A command that changes a count has its effect once, however often it arrives.",
    shows: "The answer to an acquisition, a release or a countdown is lost, and it is sent again.",
    origin: "wire-S25",
    kinds: COUNTS,
    edits: [
      {
        file: "src/protocol/scripts/include/request.lua",
        find: "local answer = answer_of(request)",
        replace: "local answer = nil",
      },
    ],
  },
  {
    name: "request-without-deadline",
    promise: "A copy of a request changes nothing if it arrives after Redis has forgotten the request.",
    shows: "A release is repeated and answered, Redis forgets the answer, and the first copy arrives.",
    origin: "R9",
    kinds: COUNTS,
    edits: [
      {
        file: "src/protocol/scripts/include/request.lua",
        find: 'if now_ms > tonumber(request.not_after_ms) then\n    return { "late" }\n  end\n',
        replace: "",
      },
    ],
  },
  {
    name: "answers-forgotten-early",
    promise: "Redis remembers an answer for as long as a copy of its request may arrive.",
    shows:
      "A request is repeated and answered, the next one makes Redis forget it, and the first copy arrives.",
    origin: "wire-S25",
    kinds: COUNTS,
    edits: [
      {
        file: "src/runtime/requests.ts",
        find: "const isOver = until === undefined || (clock !== undefined && until.ms < clock.latestMs);",
        replace: "const isOver = true;",
      },
    ],
  },
  {
    name: "deadline-of-another-clock",
    promise: "A late copy of a release counts once, even after another server has taken over.",
    shows:
      "A failover to a server whose clock is behind; the answer is forgotten too early, and the copy arrives.",
    origin: "own-2",
    kinds: COUNTS,
    edits: [
      {
        file: "src/runtime/deadline.ts",
        find: "const ms = Math.min(Math.max(this.ms, nowMs + this.#termMs), nowMs + LONGEST_WAY_MS);",
        replace: "const ms = Math.min(nowMs + this.#termMs, nowMs + LONGEST_WAY_MS);",
      },
    ],
  },
  {
    name: "release-given-up",
    promise: "A release of permits without an answer is retried.",
    shows: "A release is not answered in time, and never arrives.",
    kinds: BOTH,
    edits: [
      {
        file: "src/synchronizers/count.ts",
        find: "if (goesOn && unknown) persist(count, request, unheard);",
        replace: 'if (goesOn && unknown) request.end("copies");',
      },
    ],
  },
  {
    name: "countdown-given-up",
    promise: "A countdown without an answer is retried, and the latch opens.",
    shows: "A countdown is not answered in time, and never arrives.",
    kinds: ["latch"],
    edits: [
      {
        file: "src/synchronizers/count-down-latch.ts",
        find: "goesOn: true,",
        replace: "goesOn: false,",
      },
    ],
  },
  {
    name: "latch-opens-early",
    promise: "A latch opens only when it has been counted down to zero.",
    shows: "A latch is counted down to one.",
    kinds: ["latch"],
    edits: [
      {
        file: "src/protocol/scripts/latch-count-down.lua",
        find: "if count and count > 1 then",
        replace: "if count and count > 2 then",
      },
    ],
  },
  {
    name: "latch-tells-the-first",
    promise: "Every waiter of a latch goes on when the latch opens.",
    shows: "Several tasks of a process wait for a latch, and only the first is told.",
    origin: "B25",
    kinds: ["latch"],
    edits: [
      {
        file: "src/synchronizers/count-down-latch.ts",
        find: "for (const waiter of waiters) waiter.serve();\n    // Calls that came meanwhile ask at once.\n    this.line?.wake();",
        replace: "waiters[0]?.serve();",
      },
    ],
  },
];
