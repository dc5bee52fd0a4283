import type { LeaseLostError, LossReason } from "../../../src/errors.js";
import { type ClientPlan, longestWatchdogMs } from "../workload/plan.js";
import type { Checker } from "./checker.js";
import type { Holders, How } from "./holders.js";
import type { Trouble } from "./trouble.js";

/** What is told of a lease that was lost, by its error or by the event. */
export interface Loss {
  readonly name: string;
  readonly holder: string;
  readonly reason: LossReason;
  /** From the acquisition to the end of the lease, however late that was noticed. */
  readonly heldMs: number;
}

/** A clock that is set forward ends leases early, as do data that are older than the latest renewal. */
const SHORTENS = ["server-clock-step", "server-older", "server ahead takes over"];

/** Where these happen, a lock may be on a server that never had its holder. */
const ANOTHER_SERVER = ["failover", "failover after a crash", "node dies", "slot moves to one that dies"];
/** What makes the server of a lock another one. */
export const CHANGES: readonly string[] = [
  ...ANOTHER_SERVER,
  "slot moves",
  "slot moves ahead of a replica",
  "slot moves on",
];

/** Where these happen, what Redis had may be gone for no other reason. */
const DATA_LOST = ["server-older", "server-emptied"];

export const TAKEN: readonly How[] = ["by force", "otherwise"];

const US = 1_000;
/** A process that was killed, or whose own time is not that of the run, may have heard of no renewal any more. */
const ITS_OWN = ["kill", "clock step", "suspend", "stall"];
/** For how long that explains what comes after it, beyond a lease that the watchdog renews and the command timeouts. */
const ECHO_US = 2_000_000;
/** Renewals are timed by a wheel, whose ticks make each of them later by up to a tenth. */
const WHEEL = 1.12;
const RENEWALS_PER_LEASE = 3;
/** Until a renewal that has failed is tried again: at the first time, and later as a part of the lease. */
const FIRST_RETRY_MS = 100;
const RETRIES_PER_LEASE = 30;
/** A renewal is waited for as long as a command, but for no more than this part of the lease. */
const ANSWERS_PER_LEASE = 6;
/** A question, one for a server that has forgotten its scripts, and their answers. */
const WAYS = 4;
/** Timers are late, and the last one of them counts in coarse steps. */
const LATE_MS = 200;
/** No clock of a process goes slower than this. */
const SLOWEST = 0.998;

/** Whether the reason for which a lease was lost is one that has happened. */
export class Losses {
  readonly #checker: Checker;
  readonly #trouble: Trouble;
  readonly #holders: Holders;
  /** What was told first of each lease. */
  readonly #first = new WeakMap<object, LeaseLostError>();

  constructor(checker: Checker, trouble: Trouble, holders: Holders) {
    this.#checker = checker;
    this.#trouble = trouble;
    this.#holders = holders;
  }

  /** A lease tells of its loss: so it does for ever. */
  toldBy(lease: object, loss: LeaseLostError): void {
    const first = this.#first.get(lease) ?? loss;
    this.#first.set(lease, first);
    const { lockName, holder, reason, heldMs } = loss;
    if (first.reason === reason && first.heldMs === heldMs && first.lockName === lockName) return;
    const before = `"${first.lockName}" as ${first.reason} after ${first.heldMs} ms`;
    const text = `the lease of "${lockName}" by ${holder} was lost as ${reason} after ${heldMs} ms, and before that of ${before}`;
    this.#checker.fail("truth", text);
  }

  /** A release has resolved that was called at a moment: unless it may have been sent twice, the hold was there then. */
  released({ name, holder }: { readonly name: string; readonly holder: string }, calledUs: number): void {
    const member = this.#holders.memberOf(holder);
    const startUs = this.#checker.startOf(name, holder);
    if (member === undefined || startUs === undefined || !this.#holders.knows(name)) return;
    const { commandTimeoutMs } = member.plan.options;
    if (this.#trouble.has(member.process.name, calledUs - 2 * commandTimeoutMs * US)) return;
    if (!this.#holders.wasForced(name, holder, startUs, calledUs)) return;
    this.#checker.fail(
      "truth",
      `the release of "${name}" by ${holder} resolved, which was freed by force before`,
    );
  }

  /** Somebody was told of a loss. */
  told(loss: Loss): void {
    const complaint = this.untrue(loss);
    if (complaint === undefined) return;
    const { name, holder, reason, heldMs } = loss;
    this.#checker.fail(
      "truth",
      `the lease of "${name}" by ${holder} was lost as ${reason} after ${heldMs} ms: ${complaint}`,
    );
  }

  /** @returns what is wrong with it */
  untrue({ name, holder, reason, heldMs }: Loss): string | undefined {
    if (!this.#holders.knows(name)) return undefined;
    const startUs = this.#checker.startOf(name, holder) ?? 0;
    switch (reason) {
      case "stolen":
        if (this.#trouble.hasSince(startUs, [...ANOTHER_SERVER, ...SHORTENS])) return undefined;
        return this.#holders.hasGone(name, holder, startUs, this.#hows(holder))
          ? undefined
          : "nobody has taken it";
      case "unreachable":
        return this.#wasHurt(name, holder, startUs + heldMs * US * SLOWEST) ||
          this.#wentWithData(name, holder, startUs)
          ? undefined
          : "its server was reachable all the time";
      case "server-changed":
        return this.#trouble.happened(...CHANGES) ? undefined : "its server has not changed";
      default:
        return undefined;
    }
  }

  /** Whether something may have kept a holder's renewals away until its lease was over, at the latest at a moment. */
  #wasHurt(name: string, holder: string, untilUs: number): boolean {
    const member = this.#holders.memberOf(holder);
    if (member === undefined) return true;
    const { process, plan } = member;
    const { commandTimeoutMs } = plan.options;
    const watchdogMs = longestWatchdogMs(plan);
    const echoUs = (watchdogMs + 2 * commandTimeoutMs) * US + ECHO_US;
    // What came so late that its lease is over before the watchdog's next beat is not renewed in time.
    const isScarce =
      this.#checker.firstMsOf(name, holder) < (WHEEL * watchdogMs) / RENEWALS_PER_LEASE + LATE_MS;
    return (
      this.#trouble.has(process.name, untilUs - soonUs(plan)) ||
      this.#trouble.has(process.name, untilUs - echoUs, isScarce ? undefined : ITS_OWN)
    );
  }

  /** A reader beside whose hold a release is under way can not tell that its hold is gone from what that release has done. */
  #wentWithData(name: string, holder: string, startUs: number): boolean {
    const isShared = this.#checker.kindOf(name, holder)?.endsWith("read-write") ?? false;
    if (!isShared || !this.#trouble.hasSince(startUs, [...DATA_LOST, ...SHORTENS])) return false;
    return this.#holders.hasGone(name, holder, startUs, [...TAKEN, "ran out"]);
  }

  /** In which ways a field may have gone that was taken: `close({ releaseHeld })` takes it from calls that it cancels. */
  #hows(holder: string): readonly How[] {
    return this.#holders.memberOf(holder)?.isClosing === true ? [...TAKEN, "by its client"] : TAKEN;
  }
}

/** So long after all is well again a renewal is confirmed: one that was sent before is given up, and the next one answered. */
function soonUs(plan: ClientPlan): number {
  const { distance, options } = plan;
  const { commandTimeoutMs } = options;
  const watchdogMs = longestWatchdogMs(plan);
  const givenUpMs = Math.min(commandTimeoutMs, watchdogMs / ANSWERS_PER_LEASE);
  const pauseMs = Math.max(FIRST_RETRY_MS, watchdogMs / RETRIES_PER_LEASE);
  return (givenUpMs + pauseMs + LATE_MS) * US + WAYS * (distance.leastUs + distance.spreadUs);
}
