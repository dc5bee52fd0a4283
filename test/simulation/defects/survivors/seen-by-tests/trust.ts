import { alike, type Survivor } from "../survivor.js";

/** About the time for which something is believed: what was planted in the sources, whereupon the test that is named was red. */
export const seenInTrust: readonly Survivor[] = [
  ...alike(
    "a test sees it",
    "test/locks/hand-off.test.ts: is not trusted for longer than the one before was, until Redis has named it",
    [
      ["threads/trust.ts", "5:assignment-dropped", "this.#provisional = true;"],
      [
        "threads/trust.ts",
        "20:===-to-!==",
        'if (this.state === "held" && this.#provisional) this.confirm(this.isRenewed ? sentAt : this.takenAt);',
      ],
      [
        "threads/trust.ts",
        "53:call-dropped",
        'if (this.state === "held" && this.#provisional) this.confirm(this.isRenewed ? sentAt : this.takenAt);',
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/lease-abandoned.test.ts: and whose signal was kept still aborts that when its watchdog lease runs out",
    [
      ["threads/trust.ts", "5:assignment-dropped", "this.#lapses = true;"],
      ["threads/trust.ts", "10:call-dropped", "else this.letLapse();"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/lease-clocks.test.ts: after the event loop was blocked past its end, and a captured signal aborts in the next turn",
    [
      ["threads/trust.ts", "28:===-to-!==", 'else if (this.#state === "held") this.watch();'],
      ["threads/trust.ts", "40:call-dropped", 'else if (this.#state === "held") this.watch();'],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/lease-loss.test.ts: at its own end although nobody ever asked, as soon as somebody does, and test/locks/lease-clocks.test.ts: by its signal alone as well, which somebody has asked for before",
    [["threads/trust.ts", "5:call-dropped", "this.checkMs();"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/lease-loss.test.ts: when its key is somebody else's at the next renewal, with the reason stolen",
    [["threads/trust.ts", "37:call-dropped", "if (this.#loss !== undefined) this.#abort.abort(this.#loss);"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/lease-reasons.test.ts: as of permits that were given another lease",
    [
      [
        "threads/trust.ts",
        "25:||-to-&&",
        'if (!this.isRenewed || endMs >= this.#latest.monotonicMs) return "expired";',
      ],
    ],
  ),
  ...alike("a test sees it", "test/locks/lease-reasons.test.ts: as of permits whose semaphore ends then", [
    [
      "threads/trust.ts",
      "34:>=-to->",
      'if (!this.isRenewed || endMs >= this.#latest.monotonicMs) return "expired";',
    ],
  ]),
  ...alike(
    "a test sees it",
    "test/locks/lease-told.test.ts: of a watched lease is told when it comes, although a renewal is under way then",
    [
      [
        "threads/trust.ts",
        "34:>=-to-<",
        'if (!this.isRenewed || endMs >= this.#latest.monotonicMs) return "expired";',
      ],
    ],
  ),
  ...alike("a test sees it", "test/locks/lease-told.test.ts: of maxHoldMs is told when it comes", [
    [
      "threads/trust.ts",
      "15:>=-to->",
      'if (endMs >= this.takenAt.monotonicMs + (this.terms.maxHoldMs ?? NEVER.monotonicMs)) return "max-hold";',
    ],
  ]),
  ...alike(
    "a test sees it",
    "test/locks/moved-holds.test.ts: the signal of what nobody answers for aborts by then, however long its lease is, and test/synchronizers/permit-leases.test.ts: lengthens and shortens the trust in a handle of this client, and test/locks/lease-clocks.test.ts: a lease that was released takes its alarm with it",
    [["threads/trust.ts", "5:call-dropped", "this.#alarms.cancel(this);"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/moved-holds.test.ts: the signal of what nobody answers for aborts by then, however long its lease is",
    [["threads/trust.ts", "5:call-dropped", "this.watch();"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/watchdog-faults.test.ts: because they are not answered for 15 s leave the lock alive, and the watchdog goes on",
    [
      [
        "threads/trust.ts",
        "69:call-dropped",
        "if (this.checkMs(at) > 0 && sentAt.monotonicMs > this.#heardMs) this.confirm(sentAt);",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/locks/watchdog-faults.test.ts: extend nothing, and at the end of its window the lease is lost as unreachable",
    [
      ["threads/trust.ts", "5:assignment-dropped", "this.#unconfirmed = true;"],
      ["runtime/watchdog.ts", "7:call-dropped", "renewable.renewing();"],
      ["threads/renewed-stay.ts", "40:&&-to-||", "this.each((hold) => hold.isRenewed && hold.renewing());"],
      [
        "threads/renewed-stay.ts",
        "5:call-dropped",
        "this.each((hold) => hold.isRenewed && hold.renewing());",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-abandoned.test.ts: aborts its signal at the end of a new and shorter lease",
    [["threads/trust.ts", "24:!==-to-===", "return this.#abort !== undefined;"]],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-doubts.test.ts: a renewal that is confirmed after a new lease does not make it last longer",
    [
      [
        "threads/changeable-trust.ts",
        "24:&&-to-||",
        'if (this.isRenewed && this.state === "held") this.resumed();',
      ],
      ["runtime/watchdog.ts", "5:assignment-dropped", "renewable.watchdog = undefined;"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-doubts.test.ts: of two new leases the shorter one is trusted when the longer one, set before it, is confirmed after it",
    [
      ["threads/changeable-trust.ts", "5:call-dropped", "this.doubts?.cap(doubt.end);"],
      [
        "threads/doubts.ts",
        "37:assignment-dropped",
        "for (const doubt of this.#open) doubt.end = earlier(doubt.end, end);",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-leases.test.ts: lengthens and shortens the trust in a handle of this client",
    [
      [
        "threads/trust.ts",
        "21:!==-to-===",
        "if (this.#abort !== undefined || (isCertain && events.leaseLost.hasSubscribers)) this.watch();",
      ],
      [
        "threads/trust.ts",
        "35:||-to-&&",
        "if (this.#abort !== undefined || (isCertain && events.leaseLost.hasSubscribers)) this.watch();",
      ],
      ["threads/changeable-trust.ts", "5:call-dropped", "this.endsAt(doubt.end);"],
      ["threads/trust.ts", "21:===-to-!==", 'if (this.#state === "held") this.tellEnd();'],
      ["threads/trust.ts", "33:call-dropped", 'if (this.#state === "held") this.tellEnd();'],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-leases.test.ts: lengthens the trust in a handle as often as it is given one",
    [
      ["threads/changeable-trust.ts", "5:call-dropped", "this.notRelet(doubt);"],
      ["threads/changeable-trust.ts", "5:call-dropped", "this.doubts?.remove(doubt);"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-watchdog.test.ts: are renewed as before when a new lease was refused, as another permit of the list is gone",
    [
      [
        "threads/changeable-trust.ts",
        "50:call-dropped",
        'if (this.isRenewed && this.state === "held") this.resumed();',
      ],
      [
        "threads/changeable-trust.ts",
        "38:===-to-!==",
        'if (this.isRenewed && this.state === "held") this.resumed();',
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-watchdog.test.ts: are renewed no more once they have got a lease of their own",
    [
      [
        "threads/trust.ts",
        "31:&&-to-||",
        "return this.terms.renewed && !this.#lapses && (this.doubts?.isEmpty ?? true);",
      ],
    ],
  ),
];
