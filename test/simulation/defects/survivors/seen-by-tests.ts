import { alike, type Survivor } from "./survivor.js";

/** What was planted in the sources, whereupon the test that is named was red. */
export const seenByTests: readonly Survivor[] = [
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-leases.test.ts: lengthens and shortens the trust in a handle",
    [["threads/trust.ts", "86:call-dropped", "if (this.#abort !== undefined || (isCertain"]],
  ),
  ...alike("a test sees it", "test/locks/lease-abandoned.test.ts: is told by an event, is renewed no more", [
    ["threads/trust.ts", "===-to-!==", "if (this.#abort === undefined) this.release();"],
  ]),
  ...alike("a test sees it", "test/synchronizers/permit-watchdog.test.ts: have got a lease of their own", [
    ["threads/trust.ts", "5:call-dropped", "this.letLapse();"],
  ]),
  ...alike("a test sees it", "test/locks/hand-off.test.ts: is that call's at once", [
    ["threads/holding.ts", ">-to-<=", "inRedis.copiesUntilMs > 0"],
  ]),
  ...alike(
    "a test sees it",
    "test/locks/hand-off-races.test.ts: hears that the server could not be reached",
    [["threads/holding.ts", "&&-to-||", "if (this.#needsRenewal(hold) && !place.unnamed)"]],
  ),
  ...alike(
    "a test sees it",
    "test/locks/hand-off-races.test.ts: when the message of the release came first",
    [["threads/holding.ts", "20:&&-to-||", "return !isBusy && !isCompany"]],
  ),
  ...alike("a test sees it", "test/faults/lost-releases.test.ts: takes the outer one from nobody", [
    ["threads/holding.ts", "+=-to--=", "this.changes += 1;"],
  ]),
  ...alike(
    "a test sees it",
    "test/faults/lost-releases.test.ts: tells of a loss, also after a release of the inner one",
    [["threads/holding.ts", ">-to->=", "return this.#underWay > 0;"]],
  ),
  ...alike("a test sees it", "test/locks/hand-off-races.test.ts: leaves before it was named", [
    ["threads/in-redis.ts", "79:!==-to-===", "return this.#turn !== undefined && ("],
  ]),
  ...alike(
    "a test sees it",
    "test/locks/hand-off.test.ts: after so many hand-overs another client has a turn",
    [["threads/succession.ts", "assignment-dropped", "this.count += 1;"]],
  ),
];
