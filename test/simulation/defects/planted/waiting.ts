import type { Defect } from "../defect.js";

/** Waiting in the lines of a client, its end, and the life of the client. */
export const waitingDefects: readonly Defect[] = [
  {
    name: "next-head-not-woken",
    promise: "When the first waiter has gone, the next one asks for the lock.",
    shows:
      "Two tasks of a process wait for a lock of another; the first gives up, and the second sleeps without an alarm.",
    origin: "simulation.md",
    kinds: ["lock", "read-write", "fenced", "multi"],
    edits: [
      {
        file: "src/runtime/wait-line.ts",
        find: "if (!mayDoze || next.naps) next.wake();",
        replace: "void mayDoze;",
      },
    ],
  },
  {
    name: "missed-while-subscribing",
    promise: "A waiter does not miss a release between its question and its subscription.",
    shows:
      "A lock without an end to its lease is released after a waiter was refused and before its subscription stands.",
    origin: "B6",
    kinds: ["lock", "read-write", "fenced", "semaphore", "permit semaphore", "latch"],
    edits: [
      {
        file: "src/runtime/wait-line.ts",
        find: 'this.#ownMessage?.lost();\n    this.wake("reconnect");',
        replace: "this.#ownMessage?.lost();",
      },
    ],
  },
  {
    name: "no-safety-period",
    promise: "A lost message delays no waiter for longer than the safety period.",
    shows:
      "The message of a release is lost while the connection lives, and nothing else ever wakes the waiter.",
    origin: "wire-L13",
    edits: [
      {
        file: "src/runtime/wait-line.ts",
        find: "this.askAgainMs = nowMs + (ms < 0 ? safetyMs : Math.min(ms + 1, safetyMs));",
        replace: "this.askAgainMs = nowMs + (ms < 0 ? 1e15 : ms + 1 + 0 * safetyMs);",
      },
    ],
  },
  {
    name: "asks-again-and-again",
    promise: "A waiter asks once in each safety period, and when the lease that Redis reported is over.",
    shows: "A lock is held for longer than some milliseconds while another waits for it.",
    edits: [
      {
        file: "src/runtime/wait-line.ts",
        find: "this.askAgainMs = nowMs + (ms < 0 ? safetyMs : Math.min(ms + 1, safetyMs));",
        replace: "this.askAgainMs = nowMs + Math.min(30, ms < 0 ? safetyMs : ms + 1);",
      },
    ],
  },
  {
    name: "waits-too-long",
    promise: "A call ends when its waitMs is over.",
    shows: "A waiter whose time runs out while it sleeps is woken by nothing else.",
    origin: "B43",
    edits: [
      {
        file: "src/runtime/waiter.ts",
        find: "const sleepMs = Math.min(ms, this.#leftMs());",
        replace: "const sleepMs = ms;",
      },
    ],
  },
  {
    name: "one-leaves-all-deaf",
    promise: "When a waiter gives up, the other waiters stay subscribed.",
    shows:
      "A reader and a writer of one process wait for long by one channel; one gives up, and the subscription ends for both.",
    origin: "B7",
    kinds: ["read-write"],
    edits: [
      {
        file: "src/runtime/subscriptions.ts",
        find: "if (!entry.listeners.delete(listener) || entry.listeners.size > 0) return;",
        replace: "if (!entry.listeners.delete(listener)) return;",
      },
    ],
  },
  {
    name: "failed-subscription-poisons",
    promise: "A failed subscription is tried again.",
    shows: "A SUBSCRIBE fails or is not answered once; those who wait for this lock later hear of nothing.",
    origin: "B8",
    edits: [
      {
        file: "src/runtime/subscriptions.ts",
        find: "if (this.#channels.get(channel) !== entry) return;\n    this.#channels.delete(channel);\n    entry.lingering",
        replace: "if (this.#channels.get(channel) !== entry) return;\n    entry.lingering",
      },
    ],
  },
  {
    name: "no-command-timeout",
    promise: "Every call ends within its command timeout even if the server is silent.",
    shows: "A connection is half-open, or a server silent, while a command is under way.",
    origin: "R31",
    edits: [
      {
        file: "src/runtime/under-way.ts",
        find: "if (pending.isLinked && pending.expiresMs <= nowMs) pending.expire();",
        replace: "if (pending.expiresMs <= nowMs) pending.unlink();",
      },
    ],
  },
  {
    name: "close-forgets-a-waiter",
    promise: "close() ends every call that waits.",
    shows: "A client is closed while some of its calls wait.",
    origin: "simulation.md",
    edits: [
      {
        file: "src/client.ts",
        find: "const own = [...this.#waiters].map(",
        replace: "const own = [...this.#waiters].slice(1).map(",
      },
    ],
  },
  {
    name: "close-leaves-timers",
    promise: "A closed client leaves no timer behind.",
    shows: "A client is closed while something is held or waited for.",
    edits: [{ file: "src/client.ts", find: "this.#wheel.stop();", replace: "" }],
  },
  {
    name: "close-leaves-beliefs",
    promise: "No lease of a closed client is held.",
    shows:
      "A client is closed, which releases what it holds, while a lease of it goes on to say that it is held.",
    edits: [
      {
        file: "src/locks/release-everything.ts",
        find: 'stay.loseAll("closed");',
        replace: "",
      },
    ],
  },
  {
    name: "waiter-never-dismissed",
    promise: "A call that is over leaves nothing in the tables of its client.",
    shows: "Any call ends; the client keeps its waiter.",
    origin: "B20",
    edits: [
      {
        file: "src/client.ts",
        find: "waiter.dispose();\n    waiter.unlink();",
        replace: "waiter.dispose();",
      },
    ],
  },
  {
    name: "signal-kept",
    promise: "A call that is over does not listen to its signal.",
    shows: "A call with a signal ends before the signal aborts.",
    origin: "own-19",
    edits: [
      {
        file: "src/runtime/waiter.ts",
        find: "if (this.#signal !== undefined) unheed(this.#signal, this);",
        replace: "",
      },
    ],
  },
  {
    name: "stay-counted-for-ever",
    promise: "A client stores nothing about a lock that it has released.",
    shows: "A lock is taken and released; its client counts a stay on.",
    edits: [
      {
        file: "src/threads/stay.ts",
        find: "if (this.#live.length === 0) this.#custody.occupancy.left(this.lock.id);",
        replace: "",
      },
    ],
  },
  {
    name: "far-waiter-starves",
    promise:
      "A waiter with a slow connection gets its turn even if another client hands the lock on among its own calls.",
    shows:
      "A busy client frees a lock for a moment that is shorter than the way of the one who waits elsewhere.",
    origin: "own-12",
    kinds: ["lock", "non-reentrant"],
    edits: [
      {
        file: "src/runtime/yields.ts",
        find: "const ms = Math.max(this.#usable.ms, this.#longestMs);",
        replace: "const ms = SHORTEST_MS;",
      },
    ],
  },
  {
    name: "stale-ttl-told",
    promise: "WaitTimeoutError says how long the holder's lease still lasts when the error is thrown.",
    shows: "A wait ends long after the lock was last asked for.",
    origin: "own-17",
    edits: [
      {
        file: "src/locks/wish.ts",
        find: "ttlMs < 0 ? ttlMs : Math.max(0, Math.round(seenMs + ttlMs - nowMs))",
        replace: "ttlMs + 0 * seenMs * nowMs",
      },
    ],
  },
  {
    name: "siblings-together",
    promise: "Parallel calls inside one body re-enter a lock one after the other.",
    shows: "Two flows of a Promise.all enter the lock that their path holds.",
    edits: [
      { file: "src/locks/claim.ts", find: "return sibling === undefined;\n}", replace: "return true;\n}" },
    ],
  },
  {
    name: "enters-while-releasing",
    promise: "No call re-enters a lock while another command of its holder for that lock is under way.",
    shows: "A path enters its lock again while the release of a sibling's hold is delayed.",
    edits: [
      {
        file: "src/threads/stay.ts",
        find: "return mayEnter() && this.#underWay === 0 && this.#line.isFirst(waiter);",
        replace: "return mayEnter() && this.#line.isFirst(waiter);",
      },
    ],
  },
  {
    name: "room-never-given-back",
    promise: "If many acquisitions are under way, a failed one makes room for a waiting one.",
    shows:
      "As many acquisitions fail as may be under way at once (three of them here, so that a small fleet gets there).",
    origin: "own-14",
    edits: [
      {
        file: "src/runtime/admission.ts",
        find: "const MOST_UNDER_WAY = 1_000;",
        replace: "const MOST_UNDER_WAY = 3;",
      },
      { file: "src/runtime/admission.ts", find: "const GROUP = 100;", replace: "const GROUP = 1;" },
      {
        file: "src/runtime/admission.ts",
        find: "leave(room);\n    if (wasInVain(error))",
        replace: "if (wasInVain(error))",
      },
    ],
  },
  {
    name: "room-not-waited-for",
    promise:
      "A call that waits because too many acquisitions are under way is sent when one of them is over.",
    shows:
      "More acquisitions are asked for than may be under way at once (two may be under way here, so that a small fleet gets there).",
    origin: "own-14",
    edits: [
      {
        file: "src/runtime/admission.ts",
        find: "const MOST_UNDER_WAY = 1_000;",
        replace: "const MOST_UNDER_WAY = 2;",
      },
      { file: "src/runtime/admission.ts", find: "const GROUP = 100;", replace: "const GROUP = 1;" },
      {
        file: "src/runtime/admission.ts",
        find: "if (this.#lanes.size > 0) this.#lookSoon(room);\n  }\n\n  /** @param error",
        replace: "}\n\n  /** @param error",
      },
    ],
  },
  {
    name: "waits-for-half-the-time",
    promise: "A call is refused only after its whole waitMs.",
    shows: "A call may wait for a while, and somebody has the lock until later.",
    origin: "simulation.md",
    kinds: ["lock", "fair", "read-write", "semaphore", "permit semaphore", "latch"],
    edits: [
      {
        file: "src/runtime/waiter.ts",
        find: "this.startMs + waitMs;",
        replace: "this.startMs + waitMs / 2;",
      },
    ],
  },
  {
    name: "outage-told-as-taken",
    promise: "A call reports a lock as taken only if an answer has said so, or its own client has the lock.",
    shows:
      "The time of a call that stands behind another one in its line is up before that one has an answer.",
    origin: "own-81",
    kinds: ["lock", "multi", "fenced"],
    edits: [
      {
        file: "src/locks/attempt.ts",
        find: "telling?.hasTold(waiter) === true || this.#isHeldHere()) {",
        replace: "telling?.hasTold(waiter) === true || this.#isHeldHere() || way !== undefined) {",
      },
    ],
  },
  {
    name: "outage-told-as-short",
    promise: "A call reports too few permits only if an answer has said so since the call began.",
    shows:
      "The time of a call for permits that stands behind another one in its line is up before that one has an answer.",
    origin: "own-81",
    kinds: ["semaphore", "permit semaphore"],
    edits: [
      {
        file: "src/synchronizers/call-in-line.ts",
        find: "waiter.isTold || line?.answers.tell(waiter) === true",
        replace: "waiter.isTold || line !== undefined",
      },
    ],
  },
];
