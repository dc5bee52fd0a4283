import { alike, type Survivor } from "./survivor.js";

const SCRIPTS = "protocol/scripts";
const BESIDE_A_JVM =
  "It shifts the scores by which a JVM passes over who is late. Whom it passes over is the order beside a JVM: see test/kinds/fair-lock-jvm.test.ts.";

/** What comes to the same, or to what nobody judges. */
export const same: readonly Survivor[] = [
  ...alike("equivalent", "A TTL that is as long already is set to what it is.", [
    [`${SCRIPTS}/include/raise-ttl.lua`, "<-to-<="],
    [`${SCRIPTS}/include/leased-permits.lua`, "<-to-<=", "< ends_ms then"],
  ]),
  ...alike("equivalent", "What is raised to a TTL of 0 stays as it is.", [
    [`${SCRIPTS}/read-release.lua`, "16:>-to->=", "if longest > 0 then"],
  ]),
  ...alike("equivalent", "Nothing is taken, or added, where there is nothing.", [
    [`${SCRIPTS}/semaphore-drain.lua`, ">-to->=", "if available > 0 then"],
    [`${SCRIPTS}/fair-refresh.lua`, ">-to->=", "#waiters > 0 and read("],
    ["runtime/groups.ts", "<-to-<=", "at < requests.length"],
    ["runtime/watchdog.ts", ">-to->=", "if (unsettled.length > 0)"],
  ]),
  ...alike("equivalent", "Of two that are equal either will do.", [
    ["runtime/deadline.ts", ">-to->=", "same.ms > this.ms"],
    ["runtime/groups.ts", "<-to-<=", "patience.leaseMs < leaseMs"],
  ]),
  ...alike("equivalent", "What is over hears of it without effect.", [
    ["threads/trust.ts", "26:>-to->=", "if (this.checkMs(at) > 0 && sentAt.monotonicMs > this.#heardMs)"],
    ["threads/trust.ts", ">-to->=", "if (this.checkMs() > 0) this.#confirmBy = undefined;"],
    ["threads/trust.ts", "&&-to-||", 'if (this.state === "held" && this.#provisional) this.confirm('],
  ]),
  ...alike("equivalent", "Nothing is begun after the end of the client.", [
    ["runtime/watchdog.ts", "5:assignment-dropped", "this.#beat = undefined;"],
    ["runtime/fair-queues.ts", "5:assignment-dropped", "this.#beat = undefined;"],
  ]),
  ...alike("equivalent", "A list of one is copied, or a hold confirms itself by what it was taken with.", [
    ["threads/stay.ts", ">-to->=", "live.length > 1 ? [...live] : live"],
    ["threads/stay.ts", ">-to->=", "const raisesAll = this.#live.length > 1"],
  ]),
  ...alike("equivalent", "What is left of a lease that is there is more than 0.", [
    ["synchronizers/leased-permits.ts", "<-to-<=", "(leftMs < 0 ?"],
  ]),
  ...alike("shorter trust", "What has raised the TTL of a lock says nothing about the holds that stay.", [
    ["locks/release.ts", "call-dropped", "stay.renewed(sentAt);"],
    ["locks/release.ts", "19:>-to-*", "if (keptCount > 0 && shortfall === undefined) stay.renewed(sentAt);"],
    ["threads/stay.ts", "call-dropped", "this.renewed(place.takenAt, at);"],
    ["threads/stay.ts", "===-to-!==", "if (raisesAll && place.until === undefined)"],
  ]),
  ...alike("not judged", BESIDE_A_JVM, [
    ...[
      "local before = place > 0",
      "local base_ms = before and",
      "if place == 0 and other_ms < base_ms",
      'redis.call("ZADD", fair.timeouts, milliseconds(base_ms), other)',
      "if by_ms <= 0 then",
      'redis.call("ZADD", fair.timeouts, unpack(lowered))',
      "if top.holder and not is_ours(top.holder) then",
    ].map((line) => [`${SCRIPTS}/include/fair-keys.lua`, "*", line] as const),
    ...[
      "if head and last_ms and not is_ours(head) then",
      "if behind and found.timeout_ms and not is_ours(behind) then",
      "local timeout_ms = is_before_jvm and",
      "bring_nearer(fair,",
    ].map((line) => [`${SCRIPTS}/include/fair-queue.lua`, "*", line] as const),
  ]),
];
