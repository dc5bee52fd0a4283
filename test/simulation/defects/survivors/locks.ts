import { alike, type Survivor } from "./survivor.js";

const AS_A_HAND_OFF = "A lock that could be handed on is freed, and asked for again.";
const TOLD_AGAIN = "A release is sent once more where nothing is left to release.";
const ON_ANOTHER_SERVER =
  "Replicas are told of a release late, or not at all, so that one that takes over may still have the lock: what stays there is not judged once the server of a lock is another one.";

/** What survives in the code that takes locks and gives them back. */
export const inLocks: readonly Survivor[] = [
  ...alike("only cost", AS_A_HAND_OFF, [
    ["locks/wait-in-line.ts", "assignment-dropped", "waiter.heir = this.#heir;"],
  ]),
  ...alike(
    "equivalent",
    "A call that sleeps in no line inherits nothing, and the next line that it sleeps in sets its heir anew.",
    [["locks/wait-in-line.ts", "5:assignment-dropped", "waiter.heir = undefined;"]],
  ),
  ...alike("only cost", TOLD_AGAIN, [
    // Whoever has begun the stay cleans up as well.
    ["locks/acquire-command.ts", ">-to->=", "if (stay.inRedis.count > 0) reconcile("],
    ["locks/clean-up.ts", "31:>-to->=", "if (inRedis.copiesUntilMs > 0) reconcile("],
    ["locks/release.ts", "<=-to-<", "if (inRedis.count <= keptCount) return true;"],
    ["locks/acquisition.ts", "80:>-to->=", "lock.kind.recordsWaiters && wish.waits && wish.attempts > 0"],
  ]),
  ...alike("only cost", "It is waited until no copy can come of what was surely not carried out.", [
    [
      "locks/lowering.ts",
      "&&-to-||",
      "if (error instanceof UnavailableError && error.outcomeUnknown) this.#copyMayArrive();",
    ],
    [
      "locks/acquire-command.ts",
      "46:||-to-&&",
      "if (!(error instanceof UnavailableError) || !error.outcomeUnknown) {",
    ],
  ]),
  ...alike("only cost", "It is asked a moment before it can be otherwise, and then once more.", [
    ["locks/fair-lock.ts", "+-1-dropped", "place.sentAt.monotonicMs + fallsInMs + 1"],
    ["locks/fair-lock.ts", "+-to--", "place.sentAt.monotonicMs + fallsInMs + 1"],
    ["locks/red-lock.ts", "+-1-dropped", "[ttlMs + 1]"],
    ["locks/red-lock.ts", "+-to--", "[ttlMs + 1]"],
  ]),
  ...alike("equivalent", "A stay that has ended has no releases that anybody counts.", [
    ["locks/release.ts", "7:assignment-dropped", "stay.releases -= 1;"],
    ["locks/release.ts", "21:-=-to-+=", "stay.releases -= 1;"],
  ]),
  ...alike(
    "equivalent",
    "A release that ends a stay is sent while nothing else is under way, and nothing is asked for under its field after it.",
    [["locks/release.ts", "call-dropped", "inRedis.beginTurn();"]],
  ),
  ...alike("equivalent", "There are as many answers and wishes as locks, and at least one lock.", [
    ["locks/take-together.ts", "32:||-to-&&", "if (answer === undefined || lock === undefined) return;"],
  ]),
  ...alike("not judged", ON_ANOTHER_SERVER, [
    ["locks/release.ts", "22:===-to-!==", "return shortfall === undefined;"],
    ["locks/release.ts", "84:===-to-!==", "repeated && isOver && !isKept) return shortfall === undefined;"],
  ]),
  ...alike("one moment", "What has nothing left at that very moment is asked for with the next news of it.", [
    ["locks/refusal.ts", "50:>=-to->", "fallsInMs: answer.isHead && answer.ttlMs >= 0"],
    ["locks/fair-lock.ts", "70:>=-to->", "fallsInMs: answer.isHead && answer.ttlMs >= 0"],
    ["locks/red-lock.ts", ">=-to->", "(ttlMs >= 0 ? [ttlMs + 1] : [])"],
    ["locks/red-lock.ts", "<-to-<=", "return ttlMs < 0 ?"],
  ]),
  ...alike("one moment", "Two commands that were sent at the same moment.", [
    ["locks/fair-lock.ts", "63:<-to-<=", "place.sentAt.monotonicMs < this.#place.sentAt.monotonicMs"],
    ["locks/grant.ts", "<-to-<=", "if (place.sentAt.monotonicMs < stay.inRedis.freedMs)"],
  ]),
  ...alike("only cost", "A lease of half a second may be written at once, too.", [
    ["locks/grant.ts", "<-to-<=", "leaseMs < SHORT_LEASE_MS ? 0"],
  ]),
  ...alike(
    "only cost",
    "The line knows of an older holder: its head asks once more, or frees what it could hand on.",
    [
      ["locks/hand-off.ts", "call-dropped", "line.seenHeld({ holder: field, ttlMs: next.terms.leaseMs });"],
      ["locks/wait-in-line.ts", "call-dropped", "line.seenHeld({ holder: stay.field, ttlMs:"],
    ],
  ),
  ...alike("equivalent", "Beside a lock that is free and was not taken stands one that is missing.", [
    ["locks/take-together.ts", "assignment-dropped", "free ??= lock;"],
    ["locks/take-together.ts", "assignment-dropped", "missing ??= free;"],
  ]),
  ...alike("only told", "How often it was asked, which events say: see test/unit/events.test.ts.", [
    ["locks/take-together.ts", "*", "part.wish.attempts += 1;"],
  ]),
  ...alike(
    "only told",
    "Who was last seen in the way, as errors and warnings say: see test/locks/wait-timeout.test.ts.",
    [
      ["locks/fair-lock.ts", "*", 'if (answer.holder !== "") this.wish.saw('],
      ["locks/wait-in-line.ts", "assignment-dropped", "wish.obstacle = { ...sighting"],
    ],
  ),
  ...alike("equivalent", "A right program breaks no invariant.", [
    ["locks/reconciler.ts", "5:call-dropped", "invariant(!this.#keepsStay || stay === this.#stay"],
  ]),
  ...alike(
    "equivalent",
    "The step that follows is chosen in the same moment and keeps the stay, or the command before it in its turn keeps it until then.",
    [["locks/reconciler.ts", "5:call-dropped", "this.#keepStay();"]],
  ),
  ...alike("only cost", "It pauses for no time at all, which is one turn of the timers more.", [
    ["locks/reconciler.ts", "18:>-to->=", "if (next > 0 && !isUrgent) await this.#pause(next);"],
  ]),
  ...alike("one moment", "A repair is given up at its end, or a millisecond later.", [
    ["locks/reconciler.ts", "32:>=-to->", "return clock.monotonicMs() >= this.#endMs;"],
    ["locks/reconciler.ts", "80:>=-to->", "client.clock.monotonicMs() >= this.#tellingEndMs"],
  ]),
];
