import { earlier, type Instant, later, NEVER } from "../runtime/instant.js";

/** How long a hold may last, and whether the watchdog keeps it alive. */
export interface Terms {
  /** What Redis is told at each acquisition and renewal, in milliseconds; Infinity: it never ends by itself. */
  readonly leaseMs: number;
  /** Whether the watchdog renews it. */
  readonly renewed: boolean;
  /** The watchdog stops after this. */
  readonly maxHoldMs: number | undefined;
  /** Taken off every lease on top of the margin. */
  readonly clockSkewMs: number;
  /** The lease that the watchdog beats for, where a call has one of its own; undefined: the client's watchdog renews it. */
  readonly watchdogMs: number | undefined;
  /** What the caller says about the hold, for tools. */
  readonly note: string | undefined;
  /** For how long a lease is trusted from the moment before it was asked for. */
  readonly trustedMs: number;
}

/** What terms are made of. */
type GivenTerms = Pick<Terms, "leaseMs" | "renewed" | "maxHoldMs" | "clockSkewMs"> &
  Partial<Pick<Terms, "watchdogMs" | "note">>;

export function makeTerms(given: GivenTerms): Terms {
  const { leaseMs, renewed, maxHoldMs, clockSkewMs, watchdogMs, note } = given;
  const isEndless = leaseMs === Number.POSITIVE_INFINITY;
  const lostMs = isEndless ? 0 : Math.min(marginMs(leaseMs, given), LARGEST_MARGIN_SHARE * leaseMs);
  return { leaseMs, renewed, maxHoldMs, clockSkewMs, watchdogMs, note, trustedMs: leaseMs - lostMs };
}

/** The share of a lease, and the milliseconds besides, that are not trusted: clocks run at different rates. */
const MARGIN_SHARE = 0.01;
const MARGIN_MS = 2;
/** However small a lease, the margin leaves this share of it. */
const LARGEST_MARGIN_SHARE = 0.5;

/** Since when something is held. */
export interface Since {
  /** Before the acquisition was sent. */
  readonly takenAt: Instant;
  /** Set for a hold that was granted or handed over: Redis does not have its own lease yet, and it is trusted only until then. */
  readonly until?: Instant | undefined;
  /** After so many milliseconds it is over, however its lease is prolonged. */
  readonly ttlMs?: number | undefined;
}

/** When the trust in what was taken ends, however its lease is prolonged. */
export function latestEnd(terms: Terms, { takenAt, ttlMs = Number.POSITIVE_INFINITY }: Since): Instant {
  const { maxHoldMs } = terms;
  const end =
    ttlMs === Number.POSITIVE_INFINITY ? NEVER : leaseEnd(makeTerms({ ...terms, leaseMs: ttlMs }), takenAt);
  return maxHoldMs === undefined ? end : earlier(end, later(takenAt, maxHoldMs));
}

/** When the trust ends in a lease that was asked for at `sentAt`. */
export function leaseEnd({ trustedMs }: Terms, sentAt: Instant): Instant {
  return trustedMs === Number.POSITIVE_INFINITY ? NEVER : later(sentAt, trustedMs);
}

/** How long that is from a moment; negative when it is over. */
export function leaseLeftMs({ trustedMs: ms }: Terms, sentAt: Instant, at: Instant): number {
  // To the same rounding as the end itself.
  return Math.min(sentAt.monotonicMs + ms - at.monotonicMs, sentAt.wallMs + ms - at.wallMs);
}

/** The margin to take off a duration, as this clock and another one measure it differently. */
export function marginMs(durationMs: number, { clockSkewMs }: Pick<Terms, "clockSkewMs">): number {
  return MARGIN_MS + MARGIN_SHARE * durationMs + clockSkewMs;
}
