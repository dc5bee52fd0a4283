import { alike, type Survivor } from "../survivor.js";

/** What was planted in the code of semaphores and latches, whereupon the test that is named was red. */
export const seenInCounts: readonly Survivor[] = [
  ...alike("a test sees it", "test/synchronizers/semaphore-bad-input.test.ts: permits: null", [
    ["synchronizers/semaphore.ts", "call-dropped", "checkWaitOptions(options);"],
  ]),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-bad-input.test.ts: with a TypeError: a total that is no number",
    [
      [
        "synchronizers/permit-expirable-semaphore.ts",
        "5:call-dropped",
        'checkCount("permits", permits, 0, MOST_PERMITS);',
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/semaphore-events.test.ts: tell of permits that have ids who holds them",
    [
      [
        "synchronizers/acquire-permits.ts",
        "===-to-!==",
        "return holder === undefined ? { permits } : { permits, holder };",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-waiting.test.ts: a waiter of two is not starved by a stream of ones of its own client [B28]",
    [
      ["synchronizers/acquire-permits.ts", ">-to-<=", "waits && permits > 1"],
      ["synchronizers/saving-turns.ts", "<-to->=", "waitedMs < this.#turn.endMs"],
      ["synchronizers/acquire-permits.ts", "47:===-to-!==", "if (command.saveMs === 0 ||"],
      ["synchronizers/acquire-permits.ts", "assignment-dropped", "if (command.saveMs === 0 ||"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-waiting.test.ts: a waiter of two is not starved by a stream of ones of other clients [B28]",
    [["synchronizers/acquire-permits.ts", "&&-to-||", "waits && permits > 1"]],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/semaphore-events.test.ts: tell of each acquisition, how many permits it brought and what it took",
    [
      ["synchronizers/saving-turns.ts", "<-to->=", "waitedMs < this.#savesFromMs"],
      ["synchronizers/acquire-permits.ts", "===-to-!==", "if (this.#late === undefined)"],
      ["synchronizers/acquire-permits.ts", "*", "this.attempts += 1;"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/semaphore-savings.test.ts: who wants more than there will ever be does not starve those who want one [B28]",
    [
      ["synchronizers/saving-turns.ts", "assignment-dropped", "if (saving) this.#turn ??="],
      ["synchronizers/acquire-permits.ts", "call-dropped", "savedUp(answer.saving === 1);"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/semaphore-savings.test.ts: who wants more than there will ever be does not keep those from theirs who began to wait with it [B28]",
    [
      ["synchronizers/saving-turns.ts", ">=-to-<", "waitedMs >= turn.endMs"],
      ["synchronizers/saving-turns.ts", "assignment-dropped", "waitedMs >= turn.endMs"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-waiting.test.ts: permits that were saved up go to others at once when the one they were for gives up",
    [
      ["synchronizers/acquire-permits.ts", "call-dropped", "letGo();"],
      ["synchronizers/acquire-permits.ts", ">-to-<=", "if (command.saveMs > 0)"],
      ["synchronizers/acquire-permits.ts", "assignment-dropped", "if (command.saveMs > 0)"],
      ["synchronizers/acquire-permits.ts", "24:===-to-!==", "if (command.saveMs === 0 ||"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/semaphore-waiting.test.ts: a lost message costs a waiter the safety period at most [wire-L13]",
    [
      ["synchronizers/acquire-permits.ts", ">-to->=", "waits && permits > 1"],
      ["synchronizers/acquire-permits.ts", ">=-to-<", "answer.available >= this.permits"],
      ["synchronizers/acquire-permits.ts", ">=-to->", "answer.available >= this.permits"],
      [
        "synchronizers/acquire-permits.ts",
        "===-to-!==",
        "this.#turns === undefined ? undefined : ASKS_EACH_MS",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/semaphore-waiting.test.ts: a waiter asks again when the subscription stands, for it may have come too late [B6]",
    [["synchronizers/acquire-permits.ts", "call-dropped", "answer.available >= this.permits"]],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/semaphore-cancellation.test.ts: while it asks once more has no permits saved up for it, which others may have at once",
    [["synchronizers/acquire-permits.ts", "===-to-!==", "savedUp(answer.saving === 1);"]],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/semaphore-closing.test.ts: refuses all that others ask for meanwhile, and sends nothing for them",
    [["synchronizers/permit-expirable-semaphore.ts", "5:call-dropped", "client.assertOpen(this.count);"]],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-bad-input.test.ts: with a TypeError: a new lease that is no number",
    [["synchronizers/permit-expirable-semaphore.ts", "5:call-dropped", "checkLease(leaseMs);"]],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-watchdog.test.ts: are renewed as before when a new lease was refused, as another permit of the list is gone",
    [["synchronizers/permit-expirable-semaphore.ts", "33:||-to-&&"]],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-watchdog.test.ts: are renewed no more once they have got a lease of their own",
    [
      ["synchronizers/permit-expirable-semaphore.ts", "37:not-dropped"],
      ["synchronizers/permit-expirable-semaphore.ts", "46:&&-to-||"],
      ["synchronizers/permit-expirable-semaphore.ts", "27:call-dropped"],
      ["synchronizers/permit-expirable-semaphore.ts", "21:===-to-!=="],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-leases.test.ts: of one of two permits shortens the trust in both, and lengthens it in neither",
    [["synchronizers/permit-expirable-semaphore.ts", "57:>=-to-<"]],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-doubts.test.ts: permits whose new lease is in doubt are not renewed because another one was refused meanwhile",
    [["synchronizers/permit-expirable-semaphore.ts", "11:not-dropped"]],
  ),
  ...alike("a test sees it", "test/synchronizers/permit-costs.test.ts: are all questions and settings", [
    ["synchronizers/permit-expirable-semaphore.ts", "16:>=-to-<"],
    ["synchronizers/permit-expirable-semaphore.ts", "16:>=-to->"],
  ]),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-watchdog.test.ts: are lost as stolen when Redis does not know one of them any more, and nothing is taken back [B23]",
    [["synchronizers/permit-expirable-semaphore.ts", "===-to-!==", "return exists === 1 ?"]],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-costs.test.ts: is the renewal of a hundred semaphores",
    [
      [
        "synchronizers/leased-permits.ts",
        "===-to-!==",
        "leaseMs: leaseMs === Number.POSITIVE_INFINITY ? 0 : leaseMs,",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-watchdog.test.ts: are renewed as before when the server has refused to set a new lease",
    [["synchronizers/permit-expirable-semaphore.ts", "57:&&-to-||"]],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-leases.test.ts: is refused when Redis does not know the permits any more, and they are lost as stolen",
    [["synchronizers/permit-expirable-semaphore.ts", "7:call-dropped", "hold.wasGone();"]],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-release-stopped.test.ts: permits of which some are lost amid their release leave nothing taken, whichever statement the process is stopped at [own-33]",
    [
      [
        "synchronizers/permit-expirable-semaphore.ts",
        "5:call-dropped",
        "this.count.client.inBackground(() => releaseWhatIsLeft(this.count, ids",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-watchdog.test.ts: are renewed no more after their release, nor after a release by their ids",
    [
      [
        "synchronizers/permit-expirable-semaphore.ts",
        "26:===-to-!==",
        'if (decided.status === "released") gone = ids;',
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-watchdog.test.ts: of which some were released by their ids are lost as stolen with one of the others",
    [["threads/permit-holds.ts", "-=-to-+=", "this.#releases -= 1;"]],
  ),
];
