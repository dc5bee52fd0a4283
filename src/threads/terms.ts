import { earlier, type Instant, later, NEVER } from "../runtime/instant.js";

/** How long a hold may last, and whether the watchdog keeps it alive. */
export interface Terms {
  /** The lease that each acquisition and renewal asks for, in milliseconds; Infinity: it never ends by itself. */
  readonly leaseMs: number;
  /** Whether the watchdog renews it. */
  readonly renewed: boolean;
  /** After this time the watchdog stops renewing the hold. */
  readonly maxHoldMs: number | undefined;
  /** Subtracted from every lease in addition to the margin. */
  readonly clockSkewMs: number;
  /** The lease of the watchdog that a call asked for; undefined: the client's watchdog renews the hold. */
  readonly watchdogMs: number | undefined;
  /** What the caller says about the hold, for tools. */
  readonly note: string | undefined;
  /** How long a lease is trusted, counted from just before it was requested. */
  readonly trustedMs: number;
}

/** The values from which terms are made. */
type GivenTerms = Pick<Terms, "leaseMs" | "renewed" | "maxHoldMs" | "clockSkewMs"> &
  Partial<Pick<Terms, "watchdogMs" | "note">>;

export function makeTerms(given: GivenTerms): Terms {
  const { leaseMs, renewed, maxHoldMs, clockSkewMs, watchdogMs, note } = given;
  const isEndless = leaseMs === Number.POSITIVE_INFINITY;
  const lostMs = isEndless ? 0 : Math.min(marginMs(leaseMs, given), LARGEST_MARGIN_SHARE * leaseMs);
  return { leaseMs, renewed, maxHoldMs, clockSkewMs, watchdogMs, note, trustedMs: leaseMs - lostMs };
}

/** The share of a lease, and the additional milliseconds, that are not trusted: clocks run at different rates. */
const MARGIN_SHARE = 0.01;
const MARGIN_MS = 2;
/** The margin takes at most this share of a lease, however short the lease is. */
const LARGEST_MARGIN_SHARE = 0.5;

/** The start of a hold. */
export interface Since {
  /** A time before the acquisition was sent. */
  readonly takenAt: Instant;
  /**
   * Set for a hold that was granted or handed over: Redis does not have the hold's own lease yet, and the hold is trusted only until this
   * time.
   */
  readonly until?: Instant | undefined;
  /** The hold ends after this many milliseconds, however its lease is prolonged. */
  readonly ttlMs?: number | undefined;
}

/** When the trust ends, however the lease is prolonged. */
export function latestEnd(terms: Terms, { takenAt, ttlMs = Number.POSITIVE_INFINITY }: Since): Instant {
  const { maxHoldMs } = terms;
  const end =
    ttlMs === Number.POSITIVE_INFINITY ? NEVER : leaseEnd(makeTerms({ ...terms, leaseMs: ttlMs }), takenAt);
  return maxHoldMs === undefined ? end : earlier(end, later(takenAt, maxHoldMs));
}

/** Until when a lease that was requested at `sentAt` is trusted. */
export function leaseEnd({ trustedMs }: Terms, sentAt: Instant): Instant {
  return trustedMs === Number.POSITIVE_INFINITY ? NEVER : later(sentAt, trustedMs);
}

/** Milliseconds from `at` to the {@link leaseEnd}; negative if it has passed. */
export function leaseLeftMs({ trustedMs: ms }: Terms, sentAt: Instant, at: Instant): number {
  // Adds in the same order as `leaseEnd`, so that both round alike.
  return Math.min(sentAt.monotonicMs + ms - at.monotonicMs, sentAt.wallMs + ms - at.wallMs);
}

/** The margin to subtract from a duration, because this clock and another one measure it differently. */
export function marginMs(durationMs: number, { clockSkewMs }: Pick<Terms, "clockSkewMs">): number {
  return MARGIN_MS + MARGIN_SHARE * durationMs + clockSkewMs;
}
