import type { Clock } from "../clock.js";
import type { LeaseLostError, LossReason } from "../errors.js";
import { events } from "../events.js";
import { invariant } from "../invariant.js";
import type { Expiring, ExpiryAlarms } from "../runtime/expiry-alarms.js";
import { frameless } from "../runtime/for-caller.js";
import { earlier, type Instant, leftMs, NEVER, now } from "../runtime/instant.js";
import { type Forgettable, unguard } from "./abandonment.js";
import type { Doubts } from "./doubts.js";
import type { HoldState, Subject } from "./held.js";
import { latestEnd, leaseEnd, leaseLeftMs, type Since, type Terms } from "./terms.js";

/**
 * A hold of a lock or of permits, and how long it may be trusted without asking Redis: for one lease, less a margin, counted on both local
 * clocks from the sending of the command. Redis sets the TTL after the command was sent, and so keeps the field for longer. `state` reads
 * the clocks each time, so it is right even after the event loop was blocked. A loss is final.
 * @see docs/internals/states.md#trust-of-a-hold
 */
export abstract class Trust implements Expiring, Forgettable {
  /** The release, under way or done, so that a second call can wait for the same release. */
  releasing: Promise<void> | undefined;
  /** Used by abandonment.ts. */
  cradle: number | "registered" | undefined;
  /** The terms of the acquisition, or of the latest extension. */
  terms: Terms;
  readonly takenAt: Instant;
  protected readonly clock: Clock;
  readonly #alarms: ExpiryAlarms;
  /** The sending time of the command that brought the newest confirmation. */
  #confirmedAt: Instant;
  /** Answers to commands that were sent up to this time extend nothing: the hold did not exist yet, or a newer confirmation has come. */
  #heardMs: number;
  /** An end of the trust in the hold that does not depend on the lease; undefined if the trust ends with the lease. */
  #otherEnd: Instant | undefined;
  /** The time at which the hold ends, however its lease is prolonged. */
  readonly #latest: Instant;
  /** Set if the key has moved to another server: the hold ends at this time unless the new server has confirmed it by then. */
  #confirmBy: Instant | undefined;
  /** The leases that commands with an unknown outcome may have set. Hardly any hold has such leases. */
  protected doubts: Doubts | undefined;
  /** The state at the latest check of the clocks. */
  #state: HoldState = "held";
  /** Why the hold was lost; undefined if it is not lost. */
  #loss: LeaseLostError | undefined;
  /** True if a renewal was sent after the newest confirmation. If the lease ends then, the reason is `unreachable`. */
  #unconfirmed = false;
  /** Whether the hold was handed over or granted, and no answer has shown yet that Redis has the hold's own lease. */
  #provisional = false;
  /** Whether the hold is no longer renewed, and expires. */
  #lapses = false;
  /** Creates the signal; undefined until the signal is used. */
  #abort: AbortController | undefined;

  constructor(terms: Terms, since: Since, clock: Clock, alarms: ExpiryAlarms, at: Instant) {
    this.terms = terms;
    this.takenAt = since.takenAt;
    this.clock = clock;
    this.#alarms = alarms;
    this.#latest = latestEnd(terms, since);
    this.#heardMs = at.monotonicMs;
    this.#confirmedAt = since.takenAt;
    if (since.until === undefined) return;
    this.#otherEnd = earlier(this.#end, since.until);
    this.#provisional = true;
  }

  /** The lock or semaphore and the holder, for messages and events. */
  abstract readonly about: Subject;

  /** Whether the hold can be released without its lease object. */
  abstract readonly isReachable: boolean;

  /** The error for the loss of the hold. @param heldMs milliseconds from the acquisition to the loss */
  protected abstract lossOf(reason: LossReason, heldMs: number): LeaseLostError;

  /** The hold has ended. @param loss undefined if it was released */
  protected abstract ended(loss: LeaseLostError | undefined): void;

  /** The watchdog must no longer renew the hold. */
  protected abstract lapsed(): void;

  /** The watchdog must renew the hold again. */
  protected abstract resumed(): void;

  get state(): HoldState {
    this.checkMs();
    return this.#state;
  }

  /** Milliseconds since the acquisition was sent. */
  get heldMs(): number {
    return this.clock.monotonicMs() - this.takenAt.monotonicMs;
  }

  get loss(): LeaseLostError | undefined {
    this.checkMs();
    return this.#loss;
  }

  /**
   * Aborts when the lease is lost: at the first check of the hold after its end, or when the hold's alarm goes off, whichever comes first.
   */
  get signal(): AbortSignal {
    this.checkMs();
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#loss !== undefined) this.#abort.abort(this.#loss);
      else if (this.#state === "held") this.watch();
    }
    return this.#abort.signal;
  }

  /** Whether the signal was used, so that a program may rely on it. */
  get isObserved(): boolean {
    return this.#abort !== undefined;
  }

  /** Sets an alarm, so that the hold ends in time even if no code checks it. */
  watch(): void {
    if (this.checkMs() < Number.POSITIVE_INFINITY) this.#alarms.set(this);
  }

  /**
   * Sets an alarm if the signal is used, or if the hold will end even without a failure and the event of a loss has a listener. See
   * decision 31.
   */
  tellEnd(): void {
    const isCertain = !this.isRenewed || this.#provisional || this.#latest !== NEVER;
    if (this.#abort !== undefined || (isCertain && events.leaseLost.hasSubscribers)) this.watch();
  }

  /** Milliseconds for which the hold may be trusted from now on. If its time is over, returns 0 and declares the hold lost. */
  checkMs(at?: Instant): number {
    const ms = this.believedMs(at);
    if (ms <= 0 && this.#state === "held") this.#ranOut();
    return ms;
  }

  /** Like {@link checkMs}, but changes nothing: it declares no loss. */
  believedMs(at: Instant = now(this.clock)): number {
    if (this.#state !== "held") return 0;
    let ms =
      this.#otherEnd === undefined
        ? leaseLeftMs(this.terms, this.#confirmedAt, at)
        : leftMs(this.#otherEnd, at);
    if (this.#latest !== NEVER) ms = Math.min(ms, leftMs(this.#latest, at));
    if (this.doubts !== undefined) ms = Math.min(ms, leftMs(this.doubts.earliest(NEVER), at));
    if (this.#confirmBy !== undefined) ms = Math.min(ms, leftMs(this.#confirmBy, at));
    return Math.max(ms, 0);
  }

  /** When the trust in the newest confirmation ends. */
  get #end(): Instant {
    return this.#otherEnd ?? leaseEnd(this.terms, this.#confirmedAt);
  }

  /** When the trust in the hold ends unless its lease is prolonged. */
  get end(): Instant {
    const lease = earlier(this.#end, this.#latest);
    return earlier(this.doubts?.earliest(lease) ?? lease, this.#confirmBy ?? NEVER);
  }

  /** Whether the watchdog renews the hold. */
  get isRenewed(): boolean {
    return this.terms.renewed && !this.#lapses && (this.doubts?.isEmpty ?? true);
  }

  /** Lets the lease of a hold that is no longer needed expire: the watchdog stops renewing the hold. */
  letLapse(): void {
    if (this.#lapses) return;
    this.#lapses = true;
    this.lapsed();
    this.tellEnd();
  }

  /** No code can release the hold any more. If its signal is in use, a program may rely on the hold until the lease expires. */
  forget(): void {
    if (this.#abort === undefined) this.release();
    else this.letLapse();
  }

  /** How long Redis must keep the key for this hold alone, from now on. */
  neededMs(): number {
    if (this.isRenewed) return this.terms.leaseMs;
    if (this.doubts?.extensionMs !== undefined) return this.doubts.extensionMs;
    return this.#confirmedAt.monotonicMs + this.terms.leaseMs - this.clock.monotonicMs();
  }

  /**
   * Redis has confirmed a lease that was requested at `sentAt`. Does nothing if the confirmation comes too late.
   * @param at the current time
   */
  extend(sentAt: Instant, at?: Instant): void {
    if (this.checkMs(at) > 0 && sentAt.monotonicMs > this.#heardMs) this.confirm(sentAt);
  }

  /** True for a hold that was granted or handed over, until its own lease has been written. */
  get provisional(): boolean {
    return this.#provisional;
  }

  /** A command sent at `sentAt` has given a granted or handed-over hold its own lease. */
  confirmed(sentAt: Instant): void {
    if (this.state === "held" && this.#provisional) this.confirm(this.isRenewed ? sentAt : this.takenAt);
  }

  /** Records that the lease began at `sentAt`, or later. */
  protected confirm(sentAt: Instant): void {
    this.#confirmedAt = sentAt;
    this.#heardMs = sentAt.monotonicMs;
    this.#otherEnd = undefined;
    this.#unconfirmed = false;
    this.#provisional = false;
  }

  /**
   * The key has moved to another server. If the new server has not confirmed the hold by `until`, the hold is lost, and an alarm reports
   * the loss.
   */
  confirmBy(until: Instant): void {
    this.#confirmBy ??= until;
    this.#alarms.cancel(this);
    this.watch();
  }

  /** The server that now has the key has confirmed the hold. Does nothing if the hold has already ended. */
  isThere(): void {
    if (this.checkMs() > 0) this.#confirmBy = undefined;
  }

  /** Whether the server that now has the key has not confirmed the hold yet. */
  get isDoubtful(): boolean {
    return this.#confirmBy !== undefined;
  }

  /** Sets the end of the trust, which then does not depend on the lease. */
  protected endsAt(end: Instant): void {
    this.#otherEnd = end;
  }

  /** Adjusts the alarm after the end has moved. */
  protected moved(): void {
    this.#alarms.moved(this);
    if (this.#state === "held") this.tellEnd();
  }

  /** A renewal is sent: if the lease ends before the renewal is confirmed, the server was unreachable. */
  renewing(): void {
    this.#unconfirmed = true;
    if (events.leaseLost.hasSubscribers) this.watch();
  }

  /** The caller releases the hold, which is then no longer trusted. */
  release(): void {
    if (this.#state !== "held") return;
    this.#state = "released";
    this.#over();
    this.ended(undefined);
  }

  /** Declares the hold lost for this reason, unless its time was already over. */
  lose(reason: LossReason): void {
    if (this.checkMs() > 0) this.#lost(reason, this.heldMs);
  }

  /** A release has found nothing left in Redis: the lock was freed by force, unless the lease has ended meanwhile. */
  wasGone(): void {
    if (this.#state === "lost") return;
    // If `maxHoldMs` has ended a hold, Redis keeps the field until the lease ends.
    const end = this.terms.maxHoldMs === undefined ? this.end : this.#end;
    if (leftMs(end, now(this.clock)) > 0) this.#lost("stolen", this.heldMs);
    else this.#ranOut();
  }

  /** Declares the hold lost because its time is over, even if this is noticed late. */
  #ranOut(): void {
    // By the wall clock the hold may have ended earlier than by the monotonic clock.
    this.#lost(this.#reasonOfEnd(), Math.min(this.end.monotonicMs - this.takenAt.monotonicMs, this.heldMs));
  }

  #lost(reason: LossReason, heldMs: number): void {
    invariant(this.#state !== "lost", "a hold is lost twice");
    const loss = frameless(() => this.lossOf(reason, heldMs));
    this.#state = "lost";
    this.#loss = loss;
    this.#over();
    this.#abort?.abort(loss);
    this.ended(loss);
  }

  #over(): void {
    this.#alarms.cancel(this);
    unguard(this);
  }

  #reasonOfEnd(): LossReason {
    const endMs = this.end.monotonicMs;
    if (this.#confirmBy?.monotonicMs === endMs) return "server-changed";
    // The end on one clock is enough here: on both clocks, the end is equally far from the acquisition.
    if (endMs >= this.takenAt.monotonicMs + (this.terms.maxHoldMs ?? NEVER.monotonicMs)) return "max-hold";
    // If a renewal could not postpone this end, a missing answer to a renewal is not the reason.
    if (!this.isRenewed || endMs >= this.#latest.monotonicMs) return "expired";
    return this.#unconfirmed ? "unreachable" : "expired";
  }
}
