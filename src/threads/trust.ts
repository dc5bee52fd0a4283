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
 * Something that was acquired, and the time during which that may be believed without asking Redis: until one lease, less a
 * margin, after the command was sent, on both clocks. Redis set the TTL later than that, and so keeps the field for longer.
 * `state` looks at the clocks each time, so that it is true however long the event loop was blocked. A loss is final.
 * @see docs/internals/states.md#trust-of-a-hold
 */
export abstract class Trust implements Expiring, Forgettable {
  /** The release under way or done, so that a second one can join it. */
  releasing: Promise<void> | undefined;
  /** As abandonment.ts keeps it. */
  cradle: number | "registered" | undefined;
  /** Those of its acquisition, or of its latest extension. */
  terms: Terms;
  readonly takenAt: Instant;
  protected readonly clock: Clock;
  readonly #alarms: ExpiryAlarms;
  /** When the newest confirmation was asked for. */
  #confirmedAt: Instant;
  /** Answers to commands sent by then extend nothing: the hold was not there yet, or a newer confirmation has come. */
  #heardMs: number;
  /** When the trust in what Redis has confirmed ends, if that is not by its lease. */
  #otherEnd: Instant | undefined;
  /** By then it is over, however its lease is prolonged. */
  readonly #latest: Instant;
  /** Its server has changed: by then the new one has confirmed it, or it is over. */
  #confirmBy: Instant | undefined;
  /** The leases that commands may have set, with an outcome that is not known. Hardly any hold ever has some. */
  protected doubts: Doubts | undefined;
  /** As it was found at the latest look at the clocks. */
  #state: HoldState = "held";
  /** Why it was lost; undefined while it was not. */
  #loss: LeaseLostError | undefined;
  /** A renewal was sent since the newest confirmation: an end that comes now is `unreachable`. */
  #unconfirmed = false;
  /** It was handed over or granted, and no answer says yet that Redis has its own lease. */
  #provisional = false;
  /** It is not renewed any more, and runs out. */
  #lapses = false;
  /** Makes its signal; undefined until that is asked for. */
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

  /** Whether it can be released without its lease. */
  abstract readonly isReachable: boolean;

  /** What its loss is told as. @param heldMs milliseconds from the acquisition to the loss */
  protected abstract lossOf(reason: LossReason, heldMs: number): LeaseLostError;

  /** It is over. @param loss undefined when it was released */
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

  /** Aborts when the lease is lost: at the first look at the hold after its end, or else by its alarm, in the next turn of the timers. */
  get signal(): AbortSignal {
    this.checkMs();
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#loss !== undefined) this.#abort.abort(this.#loss);
      else if (this.#state === "held") this.watch();
    }
    return this.#abort.signal;
  }

  /** Whether the signal was asked for, so that a program may rely on it. */
  get isObserved(): boolean {
    return this.#abort !== undefined;
  }

  /** Sets an alarm, so that the hold ends in time although no code looks at it. */
  watch(): void {
    if (this.checkMs() < Number.POSITIVE_INFINITY) this.#alarms.set(this);
  }

  /** Sets an alarm for an end that comes although nothing fails, if the signal or the event was asked for. See decision 31. */
  tellEnd(): void {
    const isCertain = !this.isRenewed || this.#provisional || this.#latest !== NEVER;
    if (this.#abort !== undefined || (isCertain && events.leaseLost.hasSubscribers)) this.watch();
  }

  /** Milliseconds for which it may be trusted from this moment on; 0 when it is over, which this declares as a loss. */
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

  /** When the trust in what Redis has confirmed ends. */
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

  /** It is of no use any more, but not released: the watchdog does not renew it, and its lease runs out. */
  letLapse(): void {
    if (this.#lapses) return;
    this.#lapses = true;
    this.lapsed();
    this.tellEnd();
  }

  /** No code can release it any more. If its signal is in use, a program may rely on it until its lease runs out. */
  forget(): void {
    if (this.#abort === undefined) this.release();
    else this.letLapse();
  }

  /** How long Redis is to keep the key for this hold alone, from now on. */
  neededMs(): number {
    if (this.isRenewed) return this.terms.leaseMs;
    if (this.doubts?.extensionMs !== undefined) return this.doubts.extensionMs;
    return this.#confirmedAt.monotonicMs + this.terms.leaseMs - this.clock.monotonicMs();
  }

  /**
   * Redis has confirmed a lease that was asked for at `sentAt`. A confirmation that comes too late changes nothing.
   * @param at this moment
   */
  extend(sentAt: Instant, at?: Instant): void {
    if (this.checkMs(at) > 0 && sentAt.monotonicMs > this.#heardMs) this.confirm(sentAt);
  }

  /** True for a hold that was granted or handed over, until its own lease has been written. */
  get provisional(): boolean {
    return this.#provisional;
  }

  /** The own lease of a hold that was granted or handed over has been written, by a command sent at `sentAt`. */
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

  /** Its server has changed. It is lost unless the new one confirms it by then, and tells so by itself. */
  confirmBy(until: Instant): void {
    this.#confirmBy ??= until;
    this.#alarms.cancel(this);
    this.watch();
  }

  /** The server that has its key now has confirmed it. Too late, it changes nothing. */
  isThere(): void {
    if (this.checkMs() > 0) this.#confirmBy = undefined;
  }

  /** Whether the server that has its key now has yet to confirm it. */
  get isDoubtful(): boolean {
    return this.#confirmBy !== undefined;
  }

  /** The end of its own lease does not count any more. */
  protected endsAt(end: Instant): void {
    this.#otherEnd = end;
  }

  /** The end lies elsewhere now. */
  protected moved(): void {
    this.#alarms.moved(this);
    if (this.#state === "held") this.tellEnd();
  }

  /** A renewal is sent: should the lease end before it is confirmed, the server was not reached. */
  renewing(): void {
    this.#unconfirmed = true;
    if (events.leaseLost.hasSubscribers) this.watch();
  }

  /** The caller gives the hold back: from here on it is not trusted. */
  release(): void {
    if (this.#state !== "held") return;
    this.#state = "released";
    this.#over();
    this.ended(undefined);
  }

  /** Loses it for this reason, unless its time was over before. */
  lose(reason: LossReason): void {
    if (this.checkMs() > 0) this.#lost(reason, this.heldMs);
  }

  /** A release has found that there was nothing to release any more: taken by force, unless its lease has ended meanwhile. */
  wasGone(): void {
    if (this.#state === "lost") return;
    // What maxHoldMs ends stays in Redis until the lease ends.
    const end = this.terms.maxHoldMs === undefined ? this.end : this.#end;
    if (leftMs(end, now(this.clock)) > 0) this.#lost("stolen", this.heldMs);
    else this.#ranOut();
  }

  /** Its time is over, even if that is noticed only now. */
  #ranOut(): void {
    // By the wall clock it may be over before that.
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
    // Which of the two clocks has passed its end is left open: the ends lie equally far from the acquisition.
    if (endMs >= this.takenAt.monotonicMs + (this.terms.maxHoldMs ?? NEVER.monotonicMs)) return "max-hold";
    // A renewal that is under way has no part in an end that it would not put off.
    if (!this.isRenewed || endMs >= this.#latest.monotonicMs) return "expired";
    return this.#unconfirmed ? "unreachable" : "expired";
  }
}
