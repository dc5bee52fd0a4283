import { alike, type Survivor } from "../survivor.js";

/** What was planted in the code of locks, whereupon the test that is named was red. */
export const seenInLocks: readonly Survivor[] = [
  ...alike(
    "a test sees it",
    "test/locks/bursts.test.ts: are all taken by multi locks, whose commands count as one each",
    [["locks/acquire-command.ts", "5:assignment-dropped", "this.#room = room;"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/bursts.test.ts: are all taken, a thousand under way at once, in full groups [own-14]",
    [
      ["locks/attempt.ts", "27:===-to-!==", "if (needsRoom && room === undefined) admission.wait(this);"],
      ["locks/attempt.ts", "42:call-dropped", "if (needsRoom && room === undefined) admission.wait(this);"],
      [
        "locks/acquire-command.ts",
        "20:!==-to-===",
        "if (this.#room !== undefined) this.lock.client.admission.answered(",
      ],
      [
        "locks/acquire-command.ts",
        "35:call-dropped",
        "if (this.#room !== undefined) this.lock.client.admission.answered(",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/hand-off.test.ts: is that call's at once, and Redis is told of it by one command",
    [
      ["locks/hand-off.ts", "23:<-to-<="],
      ["locks/hand-off.ts", "23:<-to->="],
      ["locks/hand-off.ts", "21:not-dropped"],
      ["locks/hand-off.ts", "44:not-dropped"],
      ["locks/hand-off.ts", "9:not-dropped"],
      ["locks/hand-off.ts", "39:!==-to-==="],
      ["locks/hand-off.ts", "38:<-to->="],
      ["locks/own-release.ts", "52:!==-to-==="],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/hand-off.test.ts: after so many hand-overs another client has its turn [R36]",
    [["locks/own-release.ts", "3:call-dropped", "lineOf(lock)?.freeing();"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/hand-off.test.ts: is freed while the holder has entered it twice, has chosen its id, or is hardly trusted any more",
    [
      ["locks/hand-off.ts", "14:||-to-&&"],
      [
        "locks/own-release.ts",
        "8:call-dropped",
        "else line?.freed(lock.client.knowsListeners ? heard : undefined);",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/hand-off.test.ts: is not handed on by who lost it by force, once it was seen to be another client's [own-27]",
    [["locks/own-release.ts", "3:call-dropped", "lineOf(lock)?.notFreed();"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/bursts.test.ts: are asked for in the order of their calls, those of one key as well",
    [
      ["locks/acquire-command.ts", "22:>-to-<="],
      ["locks/acquire-command.ts", "22:>-to->="],
      ["locks/acquire-command.ts", "38:!==-to-==="],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/bursts.test.ts: of a thread that has the lock already goes first, and holds up no release once it has left",
    [["locks/acquire-command.ts", "26:||-to-&&"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/bursts.test.ts: of a client that stands in the queue of a lock goes first, as the lock may have been given to it",
    [
      ["locks/acquire-command.ts", "34:!==-to-==="],
      ["locks/acquire-command.ts", "48:||-to-&&"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/bursts.test.ts: whose waitMs runs out ends at that moment, and was never sent",
    [
      ["locks/acquire-command.ts", "65:&&-to-||"],
      ["locks/acquire-command.ts", "82:>-to-<="],
      ["locks/acquire-command.ts", "82:>-to->="],
    ],
  ),
  ...alike("a test sees it", "test/locks/groups.test.ts: travels as one command, and is released by one", [
    ["locks/acquire-command.ts", "===-to-!==", "const sameTerms = wish.terms.leaseMs ==="],

    ["locks/acquire-command.ts", "===-to-!==", "return sameTerms && lock.kind.fenced ==="],
  ]),
  ...alike(
    "a test sees it",
    "test/locks/groups.test.ts: is divided by lease, by kind, and by whether holds are kept",
    [
      ["locks/acquire-command.ts", "70:&&-to-||"],
      ["locks/acquire-command.ts", "22:&&-to-||"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/bursts.test.ts: is a member of a red lock, which has little time to be answered",
    [
      [
        "locks/acquire-command.ts",
        "20:!==-to-===",
        "if (this.#room !== undefined) lock.client.admission.failed(this.#room,",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/bursts.test.ts: all have failed within two command timeouts, and only what was sent is cleaned up behind",
    [
      [
        "locks/acquire-command.ts",
        "35:call-dropped",
        "if (this.#room !== undefined) lock.client.admission.failed(this.#room,",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/groups.test.ts: that meets: 'swallowed reply', counts once for each",
    [
      ["locks/acquire-command.ts", "9:not-dropped"],
      ["locks/acquire-command.ts", "49:not-dropped"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/fair-lock-grants.test.ts: costs the release and one message, and the waiter is in",
    [
      ["locks/grant.ts", "7:not-dropped"],
      ["locks/grant.ts", "30:!==-to-==="],
      ["locks/grant.ts", "32:<-to->="],
      ["locks/grant.ts", "27:<-to->="],
      ["locks/fair-lock.ts", "44:===-to-!=="],
      ["locks/fair-lock.ts", "40:!==-to-==="],
      ["locks/fair-lock.ts", "57:===-to-!=="],
      ["locks/fair-lock.ts", "5:call-dropped", "this.#seen(place);"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/fair-lock-grants.test.ts: is kept by its new holder's watchdog after a third of the time it was given for",
    [["locks/grant.ts", "3:call-dropped"]],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/fair-lock-messages.test.ts: and that comes when the time is over is a wake-up: the waiter stands in the queue again [R23]",
    [
      [
        "locks/fair-lock.ts",
        "24:||-to-&&",
        "if (place.repeated || place.pushed !== (this.#place === undefined)) th",
      ],
      ["locks/fair-lock.ts", "73:assignment-dropped"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/fair-lock-messages.test.ts: and that is lost does not cost the place: the next sign of life tells [R23]",
    [["locks/fair-lock.ts", "5:call-dropped", "this.lock.client.fairQueues.stands(this, place);"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/bursts.test.ts: whose waitMs runs out ends at that moment, and was never sent",
    [["locks/acquisition.ts", "15:!==-to-===", "if (error !== undefined) this.failForCaller"]],
  ),
];
