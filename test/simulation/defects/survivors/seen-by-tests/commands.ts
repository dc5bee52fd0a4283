import { alike, type Survivor } from "../survivor.js";

/** About commands: what was planted in the sources, whereupon the test that is named was red. */
export const seenInCommands: readonly Survivor[] = [
  ...alike(
    "a test sees it",
    "test/locks/groups.test.ts: that is refused as a whole fails only the one to blame",
    [
      [
        "runtime/groups.ts",
        "59:!==-to-===",
        "const doubtful = isDoubtful(error) || commands.resets !== this.#resets ? 1 : 0;",
      ],
      [
        "runtime/groups.ts",
        "7:not-dropped",
        "if (!(error instanceof UnavailableError) || error.outcomeUnknown) return true;",
      ],
      ["runtime/groups.ts", "44:&&-to-||", "return cause instanceof ServerReplyError && cause.fromScript;"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/groups.test.ts: that meets: 'swallowed reply', counts once for each",
    [
      [
        "runtime/groups.ts",
        "40:||-to-&&",
        "const doubtful = isDoubtful(error) || commands.resets !== this.#resets ? 1 : 0;",
      ],
      [
        "runtime/groups.ts",
        "44:||-to-&&",
        "if (!(error instanceof UnavailableError) || error.outcomeUnknown) return true;",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/groups.test.ts: travels as a command each where groupCommit is false",
    [
      ["runtime/groups.ts", "24:||-to-&&", "if (!this.#enabled || timeoutMs !== undefined || !replicated) {"],
      ["runtime/groups.ts", "51:||-to-&&", "if (!this.#enabled || timeoutMs !== undefined || !replicated) {"],
    ],
  ),
  ...alike("a test sees it", "test/locks/groups.test.ts: travels as a command for each hundred", [
    [
      "runtime/groups.ts",
      "33:||-to-&&",
      "if (requests.length >= most || first.limited !== request.limited || !first.isLike(request)) return false;",
    ],
  ]),
  ...alike(
    "a test sees it",
    "test/locks/moved-holds.test.ts: a client that is closed amid its question asks no more, and listens to no moves",
    [["runtime/confirmations.ts", "5:call-dropped", "this.#end?.();"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/moved-holds.test.ts: a fixed lease that is confirmed ends when it did, here and in Redis",
    [
      [
        "runtime/confirmations.ts",
        "28:<=-to->",
        "if (sentAt.monotonicMs <= this.#movedMs) this.#confirm([one]);",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/moved-holds.test.ts: a hold is asked about each time that it moves, once it was confirmed",
    [["runtime/confirmations.ts", "5:assignment-dropped", "one.isMoved = false;"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/moved-holds.test.ts: holds about which it can not be asked together are asked about one by one",
    [
      ["runtime/confirmations.ts", "49:>-to-<=", "const patience = { divisible: wanted.length > 1 };"],
      [
        "runtime/confirmations.ts",
        "25:>-to-<=",
        "if (wanted.length > 1 && wasRefused(error)) for (const one of wanted) void this.#ask([one], pauseMs);",
      ],
      [
        "runtime/confirmations.ts",
        "77:call-dropped",
        "if (wanted.length > 1 && wasRefused(error)) for (const one of wanted) void this.#ask([one], pauseMs);",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/moved-holds.test.ts: nothing is sent, but for a look each second where replicas are required",
    [
      ["runtime/confirmations.ts", "5:call-dropped", "this.#lookLater();"],
      ["runtime/confirmations.ts", "7:assignment-dropped", "this.#looking = undefined;"],
      [
        "runtime/confirmations.ts",
        "9:not-dropped",
        "if (!required || driver.lookForMoves === undefined || this.#stopped) return;",
      ],
      [
        "runtime/confirmations.ts",
        "19:||-to-&&",
        "if (!required || driver.lookForMoves === undefined || this.#stopped) return;",
      ],
      [
        "runtime/confirmations.ts",
        "42:===-to-!==",
        "if (!required || driver.lookForMoves === undefined || this.#stopped) return;",
      ],
      [
        "runtime/confirmations.ts",
        "5:assignment-dropped",
        "this.#looking ??= wheel.schedule(LOOK_MS, () => {",
      ],
      [
        "runtime/confirmations.ts",
        "11:not-dropped",
        "if (![...held()].some(({ isHeld }) => isHeld)) return;",
      ],
      ["runtime/confirmations.ts", "7:call-dropped", "void driver.lookForMoves?.();"],
      ["runtime/confirmations.ts", "7:call-dropped", "this.#lookLater();"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/moved-holds.test.ts: one about which it refuses to be asked is asked about again after a pause",
    [
      [
        "runtime/confirmations.ts",
        "25:>-to->=",
        "if (wanted.length > 1 && wasRefused(error)) for (const one of wanted) void this.#ask([one], pauseMs);",
      ],
      [
        "runtime/confirmations.ts",
        "29:&&-to-||",
        "if (wanted.length > 1 && wasRefused(error)) for (const one of wanted) void this.#ask([one], pauseMs);",
      ],
      ["runtime/confirmations.ts", "12:call-dropped", "else this.#askLater(wanted, pauseMs);"],
      ["runtime/confirmations.ts", "22:===-to-!==", "if (moved.length === 0 || this.#stopped) return;"],
      [
        "runtime/confirmations.ts",
        "5:call-dropped",
        "this.#services.wheel.schedule(pauseMs, () => this.#askAll(moved, nextMs));",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/moved-holds.test.ts: what its replicas do not acknowledge is lost after one command timeout where they are required (cluster)",
    [
      ["runtime/confirmations.ts", "32:call-dropped", "for (const one of moved) one.doubt(until);"],
      [
        "runtime/confirmations.ts",
        "38:||-to-&&",
        'if (answer?.status !== "renewed" || isShort || place !== this.#placeOf(one)) return false;',
      ],
      [
        "runtime/confirmations.ts",
        "49:||-to-&&",
        'if (answer?.status !== "renewed" || isShort || place !== this.#placeOf(one)) return false;',
      ],
      [
        "threads/confirmable-stay.ts",
        "40:call-dropped",
        "for (const hold of [...this.live]) hold.confirmBy(until);",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/moved-holds.test.ts: what replicas acknowledge at another try is held",
    [
      [
        "runtime/confirmations.ts",
        "47:not-dropped",
        "const left = asked.filter((each, at) => !this.#settle(each, reply[at], shortfall !== undefined));",
      ],
      ["runtime/confirmations.ts", "7:call-dropped", "this.#askLater("],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/moved-holds.test.ts: what was asked for before, and answered after, is asked about",
    [
      [
        "runtime/confirmations.ts",
        "28:<=-to-<",
        "if (sentAt.monotonicMs <= this.#movedMs) this.#confirm([one]);",
      ],
      [
        "runtime/confirmations.ts",
        "46:call-dropped",
        "if (sentAt.monotonicMs <= this.#movedMs) this.#confirm([one]);",
      ],
      [
        "runtime/confirmations.ts",
        "5:assignment-dropped",
        "this.#movedMs = this.#services.clock.monotonicMs();",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/watchdog-faults.test.ts: about keys that are not on one server goes out once more at once, a key at a time",
    [["runtime/watchdog.ts", "62:>-to-<=", "const patience = { timeoutMs, divisible: wanted.length > 1 };"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/watchdog-faults.test.ts: are tried again soon, then with pauses that grow to a second, and no more once the lease is lost",
    [["runtime/watchdog.ts", "7:assignment-dropped", "renewable.underRenewal = true;"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/watchdog-faults.test.ts: that is sent again leaves out what was released meanwhile",
    [
      ["runtime/watchdog.ts", "13:not-dropped", "if (!isFresh) wanted = this.#wantedOf(wanted);"],
      ["runtime/watchdog.ts", "23:assignment-dropped", "if (!isFresh) wanted = this.#wantedOf(wanted);"],
      ["runtime/watchdog.ts", "7:assignment-dropped", "isFresh = false;"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-doubts.test.ts: permits are renewed again once a new lease was refused, during which a renewal of them has failed",
    [
      ["runtime/watchdog.ts", "5:assignment-dropped", "renewable.underRenewal = false;"],
      [
        "threads/doubts.ts",
        "5:assignment-dropped",
        "this.#open = this.#open.filter((other) => other !== doubt);",
      ],
      ["threads/doubts.ts", "53:!==-to-===", "this.#open = this.#open.filter((other) => other !== doubt);"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/semaphore-requests.test.ts: Redis forgets the answers of hundreds of calls that are under way together",
    [
      [
        "runtime/requests.ts",
        "5:assignment-dropped",
        "this.#told = this.#book.take(commands.serverClock(count));",
      ],
      ["runtime/requests.ts", "14:===-to-!==", 'if (left === "nothing") return;'],
      [
        "runtime/requests.ts",
        "51:===-to-!==",
        'book.settle({ id: this.#id, copiesUntil: left === "copies" ? this.#deadline : undefined });',
      ],
    ],
  ),
];
