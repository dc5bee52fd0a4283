import { alike, type Survivor } from "../survivor.js";

/** About holders that follow each other: what was planted in the sources, whereupon the test that is named was red. */
export const seenInHandOver: readonly Survivor[] = [
  ...alike(
    "a test sees it",
    "test/locks/hand-off-races.test.ts: by close() is left to its lease, as bodies may still run (named: false)",
    [
      [
        "threads/succession.ts",
        "56:&&-to-||",
        'if (loss !== undefined && loss.reason !== "closed" && !this.hasNamed(holding)) {',
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/hand-off-races.test.ts: hears that the server could not be reached",
    [["threads/succession.ts", "5:call-dropped", "holding.renewing();"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/hand-off-races.test.ts: is freed for as long as the longest lease of those who followed each other may last",
    [
      [
        "threads/succession.ts",
        "5:assignment-dropped",
        "this.#leaseMs = Math.max(this.#leaseMs, next.terms.leaseMs);",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/hand-off-races.test.ts: lets the next in line ask at once when the lock was taken by force",
    [["threads/succession.ts", "9:call-dropped", "gone();"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/hand-off.test.ts: after so many hand-overs another client has its turn",
    [["threads/succession.ts", "16:+=-to--=", "this.count += 1;"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/hand-off.test.ts: after so many milliseconds another client has its turn",
    [["threads/succession.ts", "5:assignment-dropped", "this.sinceMs = sinceMs;"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/hand-off.test.ts: enters once more, answers questions and leaves after it was named",
    [["threads/succession.ts", "5:call-dropped", "next.holding.inRedis.beginTurn();"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/hand-off.test.ts: hears that the lock was taken by force from the one before it",
    [["threads/succession.ts", "9:call-dropped", 'holding.loseAll("stolen");']],
  ),
  ...alike(
    "a test sees it",
    "test/locks/hand-off.test.ts: is a non-reentrant lock's likewise, and test/locks/hand-off.test.ts: is that call's at once, and Redis is told of it by one command",
    [["threads/succession.ts", "5:call-dropped", "holding.inRedis.endTurn();"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/hand-off.test.ts: is lost in time when Redis can not be told, and whatever Redis has is freed",
    [
      [
        "threads/succession.ts",
        "5:assignment-dropped",
        "this.#leaseMs = first.holding.inRedis.longestLeaseMs;",
      ],
      ["threads/succession.ts", "13:not-dropped", "if (!(error instanceof UnavailableError)) break;"],
      ["threads/succession.ts", "26:&&-to-||", 'return !this.#isOver && this.#latest.state === "held";'],
      [
        "threads/succession.ts",
        "43:!==-to-===",
        'if (loss !== undefined && loss.reason !== "closed" && !this.hasNamed(holding)) {',
      ],
      [
        "threads/succession.ts",
        "59:not-dropped",
        'if (loss !== undefined && loss.reason !== "closed" && !this.hasNamed(holding)) {',
      ],
      ["threads/succession.ts", "7:call-dropped", "free(this.#names, this.#leaseMs);"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/hand-off.test.ts: is named once more when the command meets: 'lost reply'",
    [["threads/succession.ts", "5:assignment-dropped", "this.#isNaming = false;"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/hand-off.test.ts: is not entered once more by who waited for its name while it was lost: it is just being freed",
    [
      ["threads/succession.ts", "5:assignment-dropped", "this.#names = [...predecessors, field];"],
      ["threads/succession.ts", "7:assignment-dropped", "holding.inRedis.count = 0;"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/hand-off.test.ts: leaves the lock free when it leaves before it was named, with nobody behind it",
    [
      [
        "threads/succession.ts",
        "33:===-to-!==",
        "return this.#latest.holding === holding ? [...new Set([...this.#names, holding.field])] : [holding.field];",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/hand-off.test.ts: passes through many calls in the order in which they came, while Redis is told of few",
    [
      ["threads/succession.ts", "5:assignment-dropped", "next.holding.succession = this;"],
      ["threads/succession.ts", "5:assignment-dropped", "this.#isNaming = true;"],
      ["threads/succession.ts", "18:!==-to-===", "if (hold !== this.#latest) continue;"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/hand-off.test.ts: survives that the server refuses to name it for a while",
    [
      [
        "threads/succession.ts",
        "25:call-dropped",
        "if (this.#goesOn) await this.#commands.pause(pauseMs).catch(() => undefined);",
      ],
    ],
  ),
];
