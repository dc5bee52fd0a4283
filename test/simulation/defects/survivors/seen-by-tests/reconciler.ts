import { alike, type Survivor } from "../survivor.js";

/** What was planted in the loop that repairs, whereupon the test that is named was red. */
export const seenInReconciler: readonly Survivor[] = [
  ...alike(
    "a test sees it",
    "test/faults/reconciler.test.ts: hears of it at once where nothing is to be repaired",
    [
      [
        "locks/reconciler.ts",
        "24:===-to-!==",
        "const isIdle = ended === undefined && releases === 0 && inRe",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/faults/reconciler.test.ts: is not forgotten, whenever that release is answered",
    [
      ["locks/reconciler.ts", "38:&&-to-||", "const isIdle = ended === undefined && releases === 0 && inRe"],
      [
        "locks/reconciler.ts",
        "50:===-to-!==",
        "const isIdle = ended === undefined && releases === 0 && inRe",
      ],
      ["locks/reconciler.ts", "56:&&-to-||", "const isIdle = ended === undefined && releases === 0 && inRe"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/faults/late-copies.test.ts: leaves nothing of a fair lock that its caller was not given",
    [
      [
        "locks/reconciler.ts",
        "78:===-to-!==",
        "const isIdle = ended === undefined && releases === 0 && inRe",
      ],
    ],
  ),
  ...alike("a test sees it", "test/faults/reconciler-ends.test.ts: are told for $why", [
    ["locks/reconciler.ts", "55:===-to-!==", "if (isIdle && inRedis.next(stay.wanted(after.goesOn === t"],
    ["locks/reconciler.ts", "30:===-to-!==", 'const pauses = step.does === "name" || this.#isConfirming ?'],
  ]),
  ...alike(
    "a test sees it",
    "test/faults/reconciler-ends.test.ts: goes on for as long again from each new reason",
    [
      ["locks/reconciler.ts", "5:call-dropped", "running.join(stay, undoing);"],
      ["locks/reconciler.ts", "5:assignment-dropped", "this.#endMs = undefined;"],
      ["locks/reconciler.ts", "5:call-dropped", "this.#endPause?.();"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/faults/reconciler-pauses.test.ts: is followed by another after pauses that double up to a second, however often it passes on",
    [
      ["locks/reconciler.ts", "3:assignment-dropped", "inRedis.reconciler = reconciler;"],
      ["locks/reconciler.ts", "15:not-dropped", 'invariant(!this.#keepsStay || stay === this.#stay, "a'],
      // In the constructor it does nothing: what is made is joined at once.
      ["locks/reconciler.ts", "5:assignment-dropped", "this.#stay = stay;"],
      ["locks/reconciler.ts", "9:not-dropped", "if (!this.#record.isNamed) return;"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/faults/reconciler.test.ts: that comes while a step is under way is followed by no pause",
    [
      ["locks/reconciler.ts", "5:assignment-dropped", "this.#hasNews = true;"],
      ["locks/reconciler.ts", "22:&&-to-||", "if (next > 0 && !isUrgent) await this.#pause(next);"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/faults/late-copies.test.ts: does not free the lock that the next attempt would take, which waits for it",
    [["locks/reconciler.ts", "7:assignment-dropped", "this.#goesOn ||= undoing.goesOn === true;"]],
  ),
  ...alike(
    "a test sees it",
    "test/faults/reconciler-ends.test.ts: of $kind goes on until Redis can have nothing of it any more",
    [["locks/reconciler.ts", "39:===-to-!==", "this.#goesOn ||= undoing.goesOn === true;"]],
  ),
  ...alike("a test sees it", "test/faults/reconciler.test.ts: begins with the shortest pause again", [
    ["locks/reconciler.ts", "5:assignment-dropped", "this.#failures = 0;"],
  ]),
  ...alike(
    "a test sees it",
    "test/faults/reconciler-ends.test.ts: keep no question about the stay waiting when its lease object was forgotten",
    [
      ["locks/reconciler.ts", "11:not-dropped", "if (!record.isNamed && this.#stay.chain?.isOver === false"],
      ["locks/reconciler.ts", "55:===-to-!==", "if (!record.isNamed && this.#stay.chain?.isOver === false"],
      ["locks/reconciler.ts", "66:call-dropped", "if (!record.isNamed && this.#stay.chain?.isOver === false"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/faults/reconciler.test.ts: hears of it once Redis has what is wanted, and no copy can change that, each of several once",
    [["locks/reconciler.ts", "5:call-dropped", "this.#keepStay();"]],
  ),
  ...alike(
    "a test sees it",
    "test/faults/reconciler-pauses.test.ts: without an answer is asked for again after pauses that double, each time with a new deadline",
    [["locks/reconciler.ts", "41:||-to-&&", 'const pauses = step.does === "name" || this.#isConfirming ?']],
  ),
  ...alike(
    "a test sees it",
    "test/locks/spent-locks.test.ts: fails when the server does not do so [own-54]",
    [
      [
        "locks/reconciler.ts",
        "16:===-to-!==",
        "if (pauses === OF_LEFTOVERS && this.#isTooLate && this.#stay",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/faults/reconciler-ends.test.ts: goes on for as long as a copy of it could free the next hold of a stay that goes on",
    [
      [
        "locks/reconciler.ts",
        "78:===-to-!==",
        "if (pauses === OF_LEFTOVERS && this.#isTooLate && this.#stay",
      ],
      ["locks/reconciler.ts", "5:assignment-dropped", "this.#failures += 1;"],
    ],
  ),
];
