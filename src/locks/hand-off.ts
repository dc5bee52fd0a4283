import { type Instant, leftMs, now } from "../runtime/instant.js";
import { Chain } from "../threads/chain.js";
import type { Hold, Holding } from "../threads/holding.js";
import { enter } from "./enter.js";
import type { LockIdentity } from "./lock-kind.js";
import { lineOf } from "./own-release.js";
import type { Wish } from "./wish.js";

/** With less trust left, Redis may not be told of the successor in time. */
const LEAST_TRUST_MS = 500;

/** One who waits for a lock, and takes over when another call of its client leaves. */
export class Heir {
  readonly #holding: Holding;
  readonly #wish: Wish;
  /** What it has taken over. */
  hold: Hold | undefined;

  constructor(holding: Holding, wish: Wish) {
    this.#holding = holding;
    this.#wish = wish;
  }

  /**
   * @param takenAt this moment
   * @returns undefined when it has to ask Redis
   */
  inherit(takenAt: Instant, { end, holding: before }: Hold): Hold | undefined {
    const { waiter, terms } = this.#wish;
    // Whoever waits elsewhere sleeps by the TTL that it has seen, and hears of a shorter one only when the lock is freed.
    if (terms.leaseMs < before.inRedis.longestLeaseMs) return undefined;
    const { thread, inRedis } = this.#holding;
    const isClean = !inRedis.isPossible && !inRedis.isChanging;
    if (!isClean || thread.explicitId !== undefined || waiter.over) return undefined;
    this.hold = enter(this.#holding, this.#wish, { takenAt, until: end, unnamed: true }, takenAt);
    if (this.hold !== undefined) waiter.wake();
    return this.hold;
  }
}

/**
 * Hands the lock to the next waiter of this client instead of freeing it: the waiter enters at once, and Redis is told behind.
 * For a hold that is all that its stay has.
 * @returns the chain whose latest holder Redis has to name; undefined when it is to be freed: nobody waits here, or it is the turn of others
 * @see docs/internals/states.md#hand-over
 */
export function handOver(lock: LockIdentity, hold: Hold): Chain | undefined {
  const { client } = lock;
  const { clock, settings } = client;
  const line = lineOf(lock);
  const heir = line?.heir;
  if (line === undefined || !(heir instanceof Heir) || settings.handOff === false) return undefined;
  // Somebody has freed it by force: who was last seen to have it is no one of this client.
  if (line.isElsewhere) return undefined;
  const at = now(clock);
  const chain = hold.holding.chain ?? new Chain(hold, at.monotonicMs);
  const { maxCount, maxMs } = settings.handOff;
  const isOver = chain.followers >= maxCount || at.monotonicMs >= chain.sinceMs + maxMs;
  if (isOver || leftMs(hold.end, at) < LEAST_TRUST_MS) return undefined;
  const next = heir.inherit(at, hold);
  if (next === undefined) return undefined;
  chain.pass(next);
  const { field } = next.holding;
  line.seenHeld({ holder: field, ttlMs: next.terms.leaseMs });
  return chain;
}
