import { alike, type Survivor } from "../survivor.js";

/** About lines around releases of their own client: what was planted in the sources, whereupon the test that is named was red. */
export const seenInTurns: readonly Survivor[] = [
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-own-release.test.ts: are not told of a wake-up of those before, and test/unit/wait-lines.test.ts: is worth while at first, then once the TTL that was seen is surely over",
    [["runtime/wait-line.ts", "5:assignment-dropped", "this.#woken = false;"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-own-release.test.ts: do not take one who has heard of a release for themselves while they do not listen, and test/unit/wait-lines-own-release.test.ts: does not come when nothing was freed: the next one is another's",
    [["runtime/wait-line.ts", "5:assignment-dropped", "this.#ownMessage = undefined;"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-own-release.test.ts: does not come when nobody has heard of it: the next one is another's",
    [["runtime/own-message.ts", "22:assignment-dropped", "if (heard === 0) this.#isExpected = false;"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-own-release.test.ts: have nothing to do with the turn that was left to others, and test/unit/wait-lines-turns.test.ts: is over once the line has asked",
    [["runtime/wait-line.ts", "5:assignment-dropped", "this.#turnMs = Number.POSITIVE_INFINITY;"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-turns.test.ts: is as long after one in which another client has freed it",
    [["runtime/wait-line.ts", "5:call-dropped", "this.#yields?.used(this.#clock.monotonicMs());"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-turns.test.ts: is as long after one in which another client was seen to have the lock",
    [["runtime/wait-line.ts", "15:call-dropped", "if (!own) this.#yields?.used(seenMs);"]],
  ),
  ...alike("a test sees it", "test/unit/wait-lines-turns.test.ts: is longer after one that nobody has used", [
    ["runtime/wait-line.ts", "9:not-dropped", "if (!own) this.#yields?.used(seenMs);"],
  ]),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-own-release.test.ts: is no news to a line, but the next message is",
    [
      [
        "runtime/wait-line.ts",
        "5:call-dropped",
        "this.#ownMessage.expect(this.ears?.hearsAll ?? false, isSubscribed);",
      ],
      [
        "runtime/ear.ts",
        "26:!==-to-===",
        "return this.unlisten !== undefined && this.#services.subscriptions.isOpen(this.channel);",
      ],
      [
        "runtime/wait-line.ts",
        "5:assignment-dropped",
        "this.#yields ??= new Yields(this.#services.usableYield);",
      ],
      [
        "runtime/wait-line.ts",
        "52:===-to-!==",
        "const yieldMs = this.#yields.next(nowMs, heard === undefined ? undefined : heard - own);",
      ],
      ["runtime/wait-line.ts", "24:call-dropped", "if (yieldMs === 0) this.wake();"],
      ["runtime/own-message.ts", "5:assignment-dropped", "this.#isExpected = false;"],
      ["runtime/own-message.ts", "5:assignment-dropped", "this.#wasIgnored = true;"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-own-release.test.ts: is none either when it comes after the answer",
    [["runtime/own-message.ts", "15:===-to-!==", "if (heard === 0) this.#isExpected = false;"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-own-release.test.ts: is nothing to those who come after the line was empty, and test/unit/wait-lines-own-release.test.ts: was so once the lock was freed, and test/unit/wait-lines-own-release.test.ts: was another's when nothing was freed, and is news once",
    [["runtime/own-message.ts", "5:assignment-dropped", "this.#wasIgnored = false;"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-own-release.test.ts: know of nobody who has the lock elsewhere",
    [
      ["runtime/wait-line.ts", "5:assignment-dropped", "this.isElsewhere = false;"],
      ["runtime/wait-line.ts", "5:assignment-dropped", "this.isElsewhere = !own;"],
      ["runtime/wait-line.ts", "24:not-dropped", "this.isElsewhere = !own;"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-own-release.test.ts: may have been missed when messages begin to arrive anew: the next one is another's",
    [["runtime/own-message.ts", "5:assignment-dropped", "this.#isExpected = false;"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-own-release.test.ts: one who has heard of a release is another while the line does not hear yet",
    [
      [
        "runtime/ear.ts",
        "40:&&-to-||",
        "return this.unlisten !== undefined && this.#services.subscriptions.isOpen(this.channel);",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-own-release.test.ts: was another's when nothing was freed, and is news once",
    [["runtime/wait-line.ts", "31:call-dropped", "if (wasIgnored || isDeaf) this.wake();"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-turns.test.ts: a TTL of which less than a millisecond is left is waited for, and not the safety period",
    [
      [
        "runtime/wait-line.ts",
        "35:<-to-<=",
        "this.askAgainMs = nowMs + (ms < 0 ? safetyMs : Math.min(ms + 1, safetyMs));",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-turns.test.ts: a head that naps asks again after that, whatever was seen before",
    [["runtime/wait-line.ts", "5:assignment-dropped", "this.askAgainMs = this.#clock.monotonicMs() + ms;"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-turns.test.ts: a head that sleeps is woken when listening fails, to try it again, and test/unit/wait-lines.test.ts: tries again after a failure, with growing pauses, and then asks once",
    [["runtime/ear.ts", "9:assignment-dropped", "this.unlisten = undefined;"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-turns.test.ts: a head that sleeps is woken when listening fails, to try it again",
    [["runtime/ear.ts", "9:assignment-dropped", "this.againMs = clock.monotonicMs() + this.#deafMs;"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-turns.test.ts: a line that is left empty takes its alarm with it, and test/unit/wait-lines-turns.test.ts: a line that is to wake sooner has one alarm all the same",
    [["runtime/wait-line.ts", "*:call-dropped", "this.#alarm?.cancel();"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-turns.test.ts: a line that is left empty takes its alarm with it",
    [["runtime/wait-line.ts", "7:call-dropped", "this.#alarm?.cancel();"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-turns.test.ts: asks once they have had their turn, whatever was seen meanwhile, and test/unit/wait-lines-turns.test.ts: a head that sleeps is woken when listening fails, to try it again, and test/unit/wait-lines.test.ts: is worth while at first, then once the TTL that was seen is surely over",
    [["runtime/wait-line.ts", "5:call-dropped", "this.head?.wake();"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-turns.test.ts: asks once they have had their turn, whatever was seen meanwhile",
    [["runtime/wait-line.ts", "7:assignment-dropped", "this.#turnMs = nowMs + yieldMs;"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-turns.test.ts: does so although the time that it was to wait before is over",
    [["runtime/wait-line.ts", "7:call-dropped", "this.rest(yieldMs);"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-turns.test.ts: one who gives up behind the head is in the line no more",
    [["runtime/wait-line.ts", "7:call-dropped", "this.#behind?.delete(waiter);"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines-turns.test.ts: whoever comes after a line was empty is woken by an alarm of its own",
    [["runtime/line-alarm.ts", "5:assignment-dropped", "this.#timer = undefined;"]],
  ),
];
