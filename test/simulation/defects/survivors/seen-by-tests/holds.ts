import { alike, type Survivor } from "../survivor.js";

/** About what is held: what was planted in the sources, whereupon the test that is named was red. */
export const seenInHolds: readonly Survivor[] = [
  ...alike(
    "a test sees it",
    "test/locks/chosen-ids.test.ts: are forgotten when nothing of them can be left",
    [
      [
        "threads/server-record.ts",
        "5:assignment-dropped",
        "this.#outlivedMs = nowMs + this.#longestLeaseMs + COPIES_MS;",
      ],
      [
        "threads/server-record.ts",
        "29:!==-to-===",
        "return this.#outlivedMs !== undefined && nowMs > this.#outlivedMs;",
      ],
      ["threads/stay.ts", "9:call-dropped", "this.inRedis.rests(this.#custody.clock.monotonicMs());"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/chosen-ids.test.ts: has a greater fencing token, though its field was still there: after its client has looked for what it can forget",
    [
      [
        "threads/server-record.ts",
        "43:&&-to-||",
        "return this.#outlivedMs !== undefined && nowMs > this.#outlivedMs;",
      ],
      [
        "threads/server-record.ts",
        "52:>-to-<=",
        "return this.#outlivedMs !== undefined && nowMs > this.#outlivedMs;",
      ],
      [
        "threads/stay.ts",
        "24:&&-to-||",
        "return this.isIdle && this.inRedis.isOutlived(this.#custody.clock.monotonicMs());",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/lease-ttl.test.ts: does not fall under an outer hold that is released while the clean-up of an inner one goes on",
    [
      [
        "threads/server-record.ts",
        "5:assignment-dropped",
        "this.#longestLeaseMs = Math.max(this.#longestLeaseMs, leaseMs);",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/moved-holds.test.ts: n holds of one slot are asked about in n / 100 commands, and others in none",
    [
      ["threads/confirmable-stay.ts", "12:not-dropped", "return !this.live.some((hold) => hold.isDoubtful);"],
      [
        "runtime/confirmations.ts",
        "58:!==-to-===",
        'if (answer?.status !== "renewed" || isShort || place !== this.#placeOf(one)) return false;',
      ],
      [
        "runtime/confirmations.ts",
        "73:&&-to-||",
        "this.#confirm([...this.#services.held()].filter((one) => one.isHeld && this.#isElsewhere(one)));",
      ],
      ["runtime/confirmations.ts", "25:&&-to-||", 'return place !== "" && place !== one.place;'],
      ["runtime/confirmations.ts", "12:call-dropped", "else alike.push(one);"],
      ["runtime/confirmations.ts", "9:not-dropped", "if (!one.found(question)) return false;"],
      ["runtime/confirmations.ts", "5:assignment-dropped", "one.place = place;"],
      [
        "threads/confirmable-stay.ts",
        "66:call-dropped",
        "for (const hold of [...this.live]) if (holds.includes(hold)) hold.isThere();",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/moved-holds.test.ts: permits that it confirms are held for as long as before",
    [["threads/permit-holds.ts", "5:call-dropped", "this.isThere();"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/moved-holds.test.ts: what it does not have is lost at once, with 'auto'",
    [
      ["threads/confirmable-stay.ts", "17:!==-to-===", "if (changes !== this.changes) return false;"],
      ["threads/confirmable-stay.ts", "5:call-dropped", 'this.loseAll("server-changed");'],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-doubts.test.ts: permits whose new lease is in doubt are not renewed because another one was refused meanwhile",
    [["threads/doubts.ts", "30:===-to-!==", "return this.#open.length === 0;"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/threads.test.ts: may still arrive until the latest of their deadlines has passed on the server's clock",
    [
      [
        "threads/server-record.ts",
        "34:>-to->=",
        "this.#copiesUntil = serverMs > until.ms ? undefined : until;",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/threads.test.ts: that Redis refused, but one with an unknown outcome only once that is cleaned up",
    [
      [
        "threads/server-record.ts",
        "5:assignment-dropped",
        "this.#copiesUntil = deadline.orLater(this.#copiesUntil);",
      ],
      [
        "threads/server-record.ts",
        "34:>-to-<=",
        "this.#copiesUntil = serverMs > until.ms ? undefined : until;",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-leases.test.ts: lengthens and shortens the trust in a handle",
    [["threads/trust.ts", "86:call-dropped", "if (this.#abort !== undefined || (isCertain"]],
  ),
  ...alike("a test sees it", "test/locks/lease-abandoned.test.ts: is told by an event, is renewed no more", [
    ["threads/trust.ts", "===-to-!==", "if (this.#abort === undefined) this.release();"],
  ]),
  ...alike("a test sees it", "test/synchronizers/permit-watchdog.test.ts: have got a lease of their own", [
    ["threads/changeable-trust.ts", "5:call-dropped", "this.letLapse();"],
  ]),
  ...alike("a test sees it", "test/locks/hand-off.test.ts: is that call's at once", [
    ["threads/stay.ts", ">-to-<=", "inRedis.copiesUntilMs > 0"],
  ]),
  ...alike(
    "a test sees it",
    "test/locks/hand-off-races.test.ts: when the message of the release came first",
    [["threads/stay.ts", "20:&&-to-||", "return !isBusy && !isCompany"]],
  ),
  ...alike("a test sees it", "test/faults/lost-releases.test.ts: takes the outer one from nobody", [
    ["threads/stay.ts", "+=-to--=", "this.changes += 1;"],
  ]),
  ...alike(
    "a test sees it",
    "test/faults/lost-releases.test.ts: tells of a loss, also after a release of the inner one",
    [["threads/stay.ts", ">-to->=", "return this.#underWay > 0;"]],
  ),
  ...alike("a test sees it", "test/locks/hand-off-races.test.ts: leaves before it was named", [
    ["threads/turns.ts", "79:!==-to-===", "return this.#turn !== undefined && ("],
  ]),
];
