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
 * Something that was acquired, and how long it may be trusted without asking Redis: until one lease, less a margin, after the command was
 * sent, on both clocks. Redis set the TTL later than that, and so keeps the field for longer. `state` reads the clocks each time, so it is
 * right even after a blocked event loop. A loss is final.
 * @see docs/internals/states.md#trust-of-a-hold
 */
export abstract class Trust implements Expiring, Forgettable {
  /** The release under way or done, so that a second one can join it. */
  releasing: Promise<void> | undefined;
  /** Used by abandonment.ts. */
  cradle: number | "registered" | undefined;
  /** The terms of its acquisition, or of its latest extension. */
  terms: Terms;
  readonly takenAt: Instant;
  protected readonly clock: Clock;
  readonly #alarms: ExpiryAlarms;
  /** When the newest confirmation was requested. */
  #confirmedAt: Instant;
  /** Answers to commands sent by then extend nothing: the hold did not exist yet, or a newer confirmation has come. */
  #heardMs: number;
  /** When the trust in Redis' confirmation ends, if not by its lease. */
  #otherEnd: Instant | undefined;
  /** At this time it ends, however its lease is prolonged. */
  readonly #latest: Instant;
  /** Its server has changed: it ends at this time unless the new server confirms it before. */
  #confirmBy: Instant | undefined;
  /** The leases that commands may have set, with an unknown outcome. Hardly any hold has some. */
  protected doubts: Doubts | undefined;
  /** The state at the latest check of the clocks. */
  #state: HoldState = "held";
  /** Why it was lost; undefined if it was not. */
  #loss: LeaseLostError | undefined;
  /** A renewal was sent since the newest confirmation: if the lease ends now, the reason is `unreachable`. */
  #unconfirmed = false;
  /** It was handed over or granted, and no answer has shown yet that Redis has its own lease. */
  #provisional = false;
  /** It is no longer renewed, and expires. */
  #lapses = false;
  /** Creates its signal; undefined until the signal is used. */
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

  /** Whether it can be released without its lease object. */
  abstract readonly isReachable: boolean;

  /** The error for its loss. @param heldMs milliseconds from the acquisition to the loss */
  protected abstract lossOf(reason: LossReason, heldMs: number): LeaseLostError;

  /** It has ended. @param loss undefined if it was released */
  protected abstract ended(loss: LeaseLostError | undefined): void;

  /** From now on the watchdog must not renew it. */
  protected abstract lapsed(): void;

  /** The watchdog must renew it again. */
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

  /** Aborts when the lease is lost: at the first check of the hold after its end, or else by its alarm, in the next turn of the timers. */
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

  /** Sets an alarm for an end that comes without any failure, if the signal or the event is used. See decision 31. */
  tellEnd(): void {
    const isCertain = !this.isRenewed || this.#provisional || this.#latest !== NEVER;
    if (this.#abort !== undefined || (isCertain && events.leaseLost.hasSubscribers)) this.watch();
  }

  /** Milliseconds for which it may be trusted from this moment on; 0 if it is over, which declares it lost. */
  checkMs(at?: Instant): number {
    const ms = this.believedMs(at);
    if (ms <= 0 && this.#state === "held") this.#ranOut();
    return ms;
  }

  /** As {@link checkMs}, but declares no loss: it changes nothing. */
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

  /** When the trust in Redis' confirmation ends. */
  get #end(): Instant {
    return this.#otherEnd ?? leaseEnd(this.terms, this.#confirmedAt);
  }

  /** When the trust in it ends unless it is prolonged. */
  get end(): Instant {
    const lease = earlier(this.#end, this.#latest);
    return earlier(this.doubts?.earliest(lease) ?? lease, this.#confirmBy ?? NEVER);
  }

  /** Whether the watchdog renews it. */
  get isRenewed(): boolean {
    return this.terms.renewed && !this.#lapses && (this.doubts?.isEmpty ?? true);
  }

  /** It is no longer needed but not released: the watchdog stops renewing it, and its lease expires. */
  letLapse(): void {
    if (this.#lapses) return;
    this.#lapses = true;
    this.lapsed();
    this.tellEnd();
  }

  /** No code can release it any more. If its signal is in use, a program may rely on it until its lease expires. */
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
   * Redis has confirmed a lease that was requested at `sentAt`. A confirmation that comes too late changes nothing.
   * @param at the current time
   */
  extend(sentAt: Instant, at?: Instant): void {
    if (this.checkMs(at) > 0 && sentAt.monotonicMs > this.#heardMs) this.confirm(sentAt);
  }

  /** True for a hold that was granted or handed over, until its own lease has been written. */
  get provisional(): boolean {
    return this.#provisional;
  }

  /** The own lease of a granted or handed-over hold has been written, by a command sent at `sentAt`. */
  confirmed(sentAt: Instant): void {
    if (this.state === "held" && this.#provisional) this.confirm(this.isRenewed ? sentAt : this.takenAt);
  }

  /** The lease began when a command was sent, or later. */
  protected confirm(sentAt: Instant): void {
    this.#confirmedAt = sentAt;
    this.#heardMs = sentAt.monotonicMs;
    this.#otherEnd = undefined;
    this.#unconfirmed = false;
    this.#provisional = false;
  }

  /** Its server has changed. Unless the new server confirms it by then, it is lost, and an alarm reports that. */
  confirmBy(until: Instant): void {
    this.#confirmBy ??= until;
    this.#alarms.cancel(this);
    this.watch();
  }

  /** The server that now has its key has confirmed it. Too late, this changes nothing. */
  isThere(): void {
    if (this.checkMs() > 0) this.#confirmBy = undefined;
  }

  /** Whether the server that now has its key has yet to confirm it. */
  get isDoubtful(): boolean {
    return this.#confirmBy !== undefined;
  }

  /** The end of its own lease does not count any more. */
  protected endsAt(end: Instant): void {
    this.#otherEnd = end;
  }

  /** The end has moved. */
  protected moved(): void {
    this.#alarms.moved(this);
    if (this.#state === "held") this.tellEnd();
  }

  /** A renewal is sent: if the lease ends before it is confirmed, the server was unreachable. */
  renewing(): void {
    this.#unconfirmed = true;
    if (events.leaseLost.hasSubscribers) this.watch();
  }

  /** The caller releases the hold: from here on it is not trusted. */
  release(): void {
    if (this.#state !== "held") return;
    this.#state = "released";
    this.#over();
    this.ended(undefined);
  }

  /** Loses it for this reason, unless its time was already over. */
  lose(reason: LossReason): void {
    if (this.checkMs() > 0) this.#lost(reason, this.heldMs);
  }

  /** A release has found nothing left to release: it was taken by force, unless its lease has ended meanwhile. */
  wasGone(): void {
    if (this.#state === "lost") return;
    // A hold that maxHoldMs has ended stays in Redis until its lease ends.
    const end = this.terms.maxHoldMs === undefined ? this.end : this.#end;
    if (leftMs(end, now(this.clock)) > 0) this.#lost("stolen", this.heldMs);
    else this.#ranOut();
  }

  /** Its time is over, even if that is noticed only now. */
  #ranOut(): void {
    // By the wall clock it may have ended before that.
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
    // It does not matter which of the two clocks has passed its end: both ends are equally far from the acquisition.
    if (endMs >= this.takenAt.monotonicMs + (this.terms.maxHoldMs ?? NEVER.monotonicMs)) return "max-hold";
    // A renewal under way does not matter for an end that it would not postpone.
    if (!this.isRenewed || endMs >= this.#latest.monotonicMs) return "expired";
    return this.#unconfirmed ? "unreachable" : "expired";
  }
}
