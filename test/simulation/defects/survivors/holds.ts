import { alike, type Survivor } from "./survivor.js";

/** About what is held, and until when that is believed. */
export const inHolds: readonly Survivor[] = [
  ...alike(
    "only cost",
    "What is not to be kept alive any more stays with the watchdog until its next beat, which looks and leaves it out.",
    [
      ["threads/trust.ts", "5:call-dropped", "this.lapsed();"],
      ["threads/hold.ts", "5:call-dropped", "this.stay.lapsing();"],
      ["threads/stay.ts", "5:call-dropped", "this.lapsing();"],
    ],
  ),
  ...alike("equivalent", "What is lost, or not to be kept alive any more, has left the watchdog by itself.", [
    ["runtime/watchdog.ts", "31:call-dropped", "if (renewable.gone()) this.remove(renewable);"],
    ["runtime/watchdog.ts", "22:call-dropped", "if (!isWanted) this.remove(renewable);"],
  ]),
  ...alike(
    "equivalent",
    "An alarm is there already, for this end or an earlier one: it rings, looks, and sets itself anew.",
    [["threads/trust.ts", "5:call-dropped", "this.tellEnd();"]],
  ),
  ...alike(
    "one moment",
    "It was asked for at the very moment at which the hold came, whose answer was there by then, or a newer confirmation was asked for.",
    [["threads/trust.ts", "52:>-to->=", "sentAt.monotonicMs > this.#heardMs) this.confirm(sentAt);"]],
  ),
  ...alike("one moment", "What has no time left at that moment is told as taken away, or as run out.", [
    ["threads/trust.ts", ">-to->=", "if (leftMs(end, now(this.clock)) > 0)"],
  ]),
  ...alike("shorter trust", "An older renewal that is heard later moves the end back.", [
    ["threads/trust.ts", "assignment-dropped", "this.#heardMs = sentAt.monotonicMs;"],
  ]),
  ...alike("shorter trust", "What has raised the TTL of a lock says nothing about the holds that stay.", [
    ["threads/stay.ts", ">-to-<=", "const raisesAll = this.#live.length > 1"],
  ]),
  ...alike("one moment", "A copy that arrives in the very millisecond of its deadline.", [
    ["runtime/requests.ts", "<-to-<=", "until.ms < clock.latestMs"],
  ]),
  ...alike(
    "equivalent",
    "While Redis has yet to name it, who waits for the end of its turn has begun by saying what ends it.",
    [["threads/turns.ts", "61:||-to-&&", "return this.#turn !== undefined && ("]],
  ),
  ...alike("equivalent", "A stay is handed the lock once, so that nobody asks any more.", [
    ["threads/turns.ts", "assignment-dropped", "this.#turnEnds = undefined;"],
  ]),
  ...alike(
    "only cost",
    "A stay that was entered on the strength of another one is kept by that until it ends itself.",
    [["threads/stay.ts", "33:call-dropped", "host.#guests?.delete(this);"]],
  ),
  ...alike("only cost", "What holds nothing any more is looked for, and asked about, as well.", [
    ["threads/confirmable-stay.ts", ">-to->=", "return this.live.length > 0;"],
  ]),
  ...alike(
    "equivalent",
    "What is held is among the live holds, and Redis has counted at least as many as there are.",
    [["threads/stay.ts", "27:||-to-&&", "if (live.length !== 1 || live[0] !== hold || inRedis.count !== 1"]],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-doubts.test.ts: permits whose new lease is in doubt abort their signal when the shorter one is over. Once the outcome is known the end only lies later, and the alarm sets itself anew.",
    [["threads/changeable-trust.ts", "5:call-dropped", "this.moved();"]],
  ),
];
