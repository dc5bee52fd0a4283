import { type Instant, leftMs, now } from "../runtime/instant.js";
import { Chain } from "../threads/chain.js";
import type { Hold, Stay } from "../threads/stay.js";
import { enter } from "./enter.js";
import type { LockIdentity } from "./lock-kind.js";
import { lineOf } from "./own-release.js";
import type { Wish } from "./wish.js";

/** A lock whose lease ends sooner is not handed over: Redis might learn of the next holder too late. */
const LEAST_TRUST_MS = 500;

/** A sleeping waiter that can take over the lock when another call of its client hands it over. */
export class Heir {
  readonly #stay: Stay;
  readonly #wish: Wish;
  /** The hold that the waiter has taken over. */
  hold: Hold | undefined;

  constructor(stay: Stay, wish: Wish) {
    this.#stay = stay;
    this.#wish = wish;
  }

  /**
   * @param takenAt the current time
   * @returns undefined if the waiter has to ask Redis
   */
  inherit(takenAt: Instant, { end, stay: before }: Hold): Hold | undefined {
    const { waiter, terms } = this.#wish;
    // Waiters of other clients sleep for the TTL that they have seen. No message tells them of a shorter lease, so they would sleep past
    // its end.
    if (terms.leaseMs < before.inRedis.longestLeaseMs) return undefined;
    const { thread, inRedis } = this.#stay;
    const isClean = !inRedis.isPossible && !inRedis.isChanging;
    if (!isClean || thread.explicitId !== undefined || waiter.over) return undefined;
    this.hold = enter(this.#stay, this.#wish, { takenAt, until: end, unnamed: true }, takenAt);
    if (this.hold !== undefined) waiter.wake();
    return this.hold;
  }
}

/**
 * Hands the lock to the next waiter of this client instead of freeing it: the waiter enters at once, and Redis is told afterwards. Possible
 * only if the stay has no other hold.
 * @returns the next hold, which must be written to Redis; undefined when the lock is to be freed: no call of this client may take over, or
 * it is the turn of other clients
 * @see docs/internals/states.md#hand-over
 * @see docs/decisions/022-a-lock-passes-on-inside-a-client.md
 */
export function handOver(lock: LockIdentity, hold: Hold): Hold | undefined {
  const { client } = lock;
  const { clock, settings } = client;
  const line = lineOf(lock);
  const heir = line?.heir;
  if (line === undefined || !(heir instanceof Heir) || settings.handOff === false) return undefined;
  // An answer has shown a holder of another client: Redis no longer has this hold, for example because the lock was freed by force.
  if (line.isElsewhere) return undefined;
  const at = now(clock);
  const chain = hold.stay.chain ?? new Chain(hold, at.monotonicMs);
  const { maxCount, maxMs } = settings.handOff;
  const isOver = chain.followers >= maxCount || at.monotonicMs >= chain.sinceMs + maxMs;
  if (isOver || leftMs(hold.end, at) < LEAST_TRUST_MS) return undefined;
  const next = heir.inherit(at, hold);
  if (next === undefined) return undefined;
  chain.pass(next);
  const { field } = next.stay;
  line.seenHeld({ holder: field, ttlMs: next.terms.leaseMs });
  // A fixed lease is not renewed, so only an alarm notices its end. At this end, the client gives up the place that it still has in the
  // queue in Redis.
  if (!next.terms.renewed) next.watch();
  return next;
}
