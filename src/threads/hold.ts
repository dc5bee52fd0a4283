import type { Clock } from "../clock.js";
import { LeaseLostError, type LossReason } from "../errors.js";
import type { Expiring, ExpiryAlarms } from "../runtime/expiry-alarms.js";
import type { Instant } from "../runtime/instant.js";
import type { Holding } from "./holding.js";

/** How long a hold may last and who keeps it alive. */
export interface Terms {
  /** What Redis is told at each acquisition and renewal, in milliseconds. */
  readonly leaseMs: number;
  /** Whether the watchdog renews it. */
  readonly renewed: boolean;
  /** The watchdog stops after this. */
  readonly maxHoldMs: number | undefined;
  /** Taken off every lease on top of the margin. */
  readonly clockSkewMs: number;
}

export type HoldState = "held" | "released" | "lost";

/** The share of a lease, and the milliseconds besides, that are not trusted: clocks run at different rates. */
const MARGIN_SHARE = 0.01;
const MARGIN_MS = 2;
/** However small a lease, the margin leaves this share of it. */
const LARGEST_MARGIN_SHARE = 0.5;

/** Where a hold comes from. */
export interface Place {
  /** Before the acquisition was sent. */
  readonly takenAt: Instant;
  /** 1 for the outermost hold of its holding. */
  readonly holdCount: number;
  /** True for a hold that nobody's body lies in: it is on no path. */
  readonly bare: boolean;
  /** The fencing token, of a fenced lock. */
  readonly token?: bigint | undefined;
  /** Somebody else gave the hold, to be trusted only until then: the lease has yet to be written. */
  readonly until?: Instant | undefined;
}

/** When the trust in a hold that was just taken ends, on one of the clocks. */
export function trustEnd(
  terms: Terms,
  { takenAt, until }: Omit<Place, "holdCount">,
  at: keyof Instant,
): number {
  const end = leaseTrustEnd(terms, takenAt[at], takenAt[at]);
  return until === undefined ? end : Math.min(end, until[at]);
}

/**
 * When the trust in a lease ends, on whichever clock the times are of.
 * @param sentMs when the lease was asked for
 * @param takenMs when the hold was
 */
export function leaseTrustEnd(terms: Terms, sentMs: number, takenMs: number): number {
  const { leaseMs, maxHoldMs = Number.POSITIVE_INFINITY } = terms;
  const leaseEnd = sentMs + leaseMs - Math.min(marginMs(leaseMs, terms), LARGEST_MARGIN_SHARE * leaseMs);
  return Math.min(leaseEnd, takenMs + maxHoldMs);
}

/** What is taken off a time that was read from another clock so long ago, or is to be measured by this one. */
export function marginMs(durationMs: number, { clockSkewMs }: Terms): number {
  return MARGIN_MS + MARGIN_SHARE * durationMs + clockSkewMs;
}

/**
 * One acquisition, and the time during which it may be believed without asking Redis: from before the command was sent
 * until a margin before the lease ends, on both clocks. Whoever asks for the state makes it look at the clocks, so that
 * the answer is true however long the event loop was blocked. A loss is final.
 */
export class Hold implements Expiring {
  readonly holding: Holding;
  readonly terms: Terms;
  readonly holdCount: number;
  readonly bare: boolean;
  readonly token: bigint | undefined;
  /** Which of the holds of its holding it is in Redis, counted from 1. */
  slot = 1;
  /** True once the caller has heard that the lease is lost by trying to release it. */
  dismissed = false;
  /** The release under way or done, so that a second one can join it. */
  releasing: Promise<void> | undefined;
  readonly #clock: Clock;
  readonly #alarms: ExpiryAlarms;
  readonly #takenAt: Instant;
  /** On the monotonic clock: when the newest confirmation was asked for. */
  #confirmedMs = Number.NEGATIVE_INFINITY;
  #endMonotonicMs = 0;
  #endWallMs = 0;
  #state: HoldState = "held";
  #loss: LeaseLostError | undefined;
  #unconfirmed = false;
  #provisional = false;
  #lapses = false;
  #abort: AbortController | undefined;

  constructor(holding: Holding, terms: Terms, place: Place, clock: Clock, alarms: ExpiryAlarms) {
    this.holding = holding;
    this.terms = terms;
    this.holdCount = place.holdCount;
    this.bare = place.bare;
    this.token = place.token;
    this.#takenAt = place.takenAt;
    this.#clock = clock;
    this.#alarms = alarms;
    this.#confirm(place.takenAt);
    if (place.until === undefined) return;
    this.#endMonotonicMs = trustEnd(terms, place, "monotonicMs");
    this.#endWallMs = trustEnd(terms, place, "wallMs");
    this.#provisional = true;
  }

  get state(): HoldState {
    this.checkMs();
    return this.#state;
  }

  /** Milliseconds since the acquisition was sent. */
  get heldMs(): number {
    return this.#clock.monotonicMs() - this.#takenAt.monotonicMs;
  }

  /** Why the lease was lost; undefined while it was not. */
  get loss(): LeaseLostError | undefined {
    this.checkMs();
    return this.#loss;
  }

  /** Aborts when the lease is lost, in the next turn of the timers if nobody asks earlier. */
  get signal(): AbortSignal {
    this.checkMs();
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#loss !== undefined) this.#abort.abort(this.#loss);
      else if (this.#state === "held") this.watch();
    }
    return this.#abort.signal;
  }

  /** Makes the hold end by itself in time, without anybody asking. */
  watch(): void {
    this.#alarms.set(this);
  }

  checkMs(): number {
    if (this.#state !== "held") return 0;
    const leftMs = Math.min(
      this.#endMonotonicMs - this.#clock.monotonicMs(),
      this.#endWallMs - this.#clock.wallMs(),
    );
    if (leftMs > 0) return leftMs;
    this.lose(this.#reasonOfEnd());
    return 0;
  }

  /** Whether the watchdog is to keep it alive. */
  get renewed(): boolean {
    return this.terms.renewed && !this.#lapses;
  }

  /** It is of no use any more, but not released: the watchdog leaves it alone, and its lease runs out. */
  letLapse(): void {
    if (this.#lapses) return;
    this.#lapses = true;
    this.holding.lapsing();
  }

  /** Nobody can release it any more. Whoever has its signal relies on it until its lease runs out. */
  forget(): void {
    if (this.#abort === undefined) this.release();
    else this.letLapse();
  }

  /** How long Redis is to keep the key for this hold alone, from now on. */
  neededMs(): number {
    if (this.renewed) return this.terms.leaseMs;
    return this.#confirmedMs + this.terms.leaseMs - this.#clock.monotonicMs();
  }

  /** Redis has confirmed a lease that was asked for at `sentAt`. A confirmation that comes too late changes nothing. */
  extend(sentAt: Instant): void {
    if (this.state !== "held" || sentAt.monotonicMs < this.#confirmedMs) return;
    this.#confirm(sentAt);
  }

  /** True until the lease of a hold that somebody else gave has been written. */
  get provisional(): boolean {
    return this.#provisional;
  }

  /** The lease of a hold that somebody else gave has been written, by a command sent at `sentAt`. */
  confirmed(sentAt: Instant): void {
    if (this.state === "held" && this.#provisional) this.#confirm(this.renewed ? sentAt : this.#takenAt);
  }

  #confirm(sentAt: Instant): void {
    const taken = this.#takenAt;
    this.#confirmedMs = sentAt.monotonicMs;
    this.#endMonotonicMs = leaseTrustEnd(this.terms, sentAt.monotonicMs, taken.monotonicMs);
    this.#endWallMs = leaseTrustEnd(this.terms, sentAt.wallMs, taken.wallMs);
    this.#unconfirmed = false;
    this.#provisional = false;
  }

  /** A renewal is sent: should the lease end before it is confirmed, the server was not reached. */
  renewing(): void {
    this.#unconfirmed = true;
  }

  /** The caller gives the hold back: from here on it is not trusted. */
  release(): void {
    if (this.#state !== "held") return;
    this.#state = "released";
    this.#alarms.cancel(this);
    this.holding.remove(this);
  }

  lose(reason: LossReason): void {
    if (this.#state !== "held") return;
    this.#lost(reason);
  }

  /** A release has found that there was nothing to release any more. */
  wasStolen(): void {
    if (this.#state !== "lost") this.#lost("stolen");
  }

  #lost(reason: LossReason): void {
    const { lock, field } = this.holding;
    const loss = new LeaseLostError(lock.name, field, reason, this.heldMs);
    this.#state = "lost";
    this.#loss = loss;
    this.#alarms.cancel(this);
    this.#abort?.abort(loss);
    this.holding.lost(this, loss);
  }

  #reasonOfEnd(): LossReason {
    const { maxHoldMs } = this.terms;
    // Which of the two clocks has passed its end is left open: the ends lie equally far from the acquisition.
    if (maxHoldMs !== undefined && this.#endMonotonicMs >= this.#takenAt.monotonicMs + maxHoldMs)
      return "max-hold";
    return this.#unconfirmed ? "unreachable" : "expired";
  }
}
