import { type Instant, leftMs, now } from "../runtime/instant.js";
import type { WaitLine } from "../runtime/wait-line.js";
import type { Hold } from "../threads/hold.js";
import type { Holding } from "../threads/holding.js";
import { Succession } from "../threads/succession.js";
import { enter } from "./enter.js";
import type { LockIdentity } from "./lock-kind.js";
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
    inRedis.asking(terms.leaseMs);
    this.hold = enter(this.#holding, this.#wish, { takenAt, until: end, unnamed: true }, takenAt);
    if (this.hold !== undefined) waiter.wake();
    return this.hold;
  }
}

type FreeNames = (lock: LockIdentity, names: readonly string[], leaseMs: number) => void;

/**
 * Hands the lock to the next waiter of this client instead of freeing it: the waiter enters at once, and Redis is told behind.
 * For a hold that is all that its stay has.
 * @param free what frees the lock from holders of whom Redis may have one
 * @returns false when it is to be freed: nobody waits here, or it is the turn of others
 */
export function handOver(lock: LockIdentity, hold: Hold, free: FreeNames): boolean {
  const { client } = lock;
  const { clock, commands, settings } = client;
  const line = lineOf(lock);
  const heir = line?.heir;
  if (line === undefined || !(heir instanceof Heir) || settings.handOff === false) return false;
  // Somebody has freed it by force: who was last seen to have it is no one of this client.
  if (line.isElsewhere) return false;
  const at = now(clock);
  const succession = hold.holding.succession ?? new Succession(commands, hold, at.monotonicMs);
  const { maxCount, maxMs } = settings.handOff;
  const isOver = succession.count >= maxCount || at.monotonicMs >= succession.sinceMs + maxMs;
  if (isOver || leftMs(hold.end, at) < LEAST_TRUST_MS) return false;
  const next = heir.inherit(at, hold);
  if (next === undefined) return false;
  hold.holding.inRedis.empty();
  succession.pass(next);
  const { field } = next.holding;
  line.seenHeld({ holder: field, ttlMs: next.terms.leaseMs });
  if (succession.isNaming) return true;
  const aftermath = {
    free: (names: readonly string[], leaseMs: number) => free(lock, names, leaseMs),
    gone: () => client.lines.of(lock.id)?.wake(),
  };
  client.inBackground(() => succession.name(aftermath));
  return true;
}

/** To be called when the lock is about to be freed although calls of this client may wait. */
export function freeing(lock: LockIdentity): void {
  lineOf(lock)?.freeing();
}

/** What has become of the release nobody knows. */
export function notFreed(lock: LockIdentity): void {
  lineOf(lock)?.notFreed();
}

/** The lock was freed: whoever waits elsewhere has a turn before the calls of this client. */
export function freed(lock: LockIdentity, heard: number | undefined): void {
  lineOf(lock)?.freed(lock.client.knowsListeners ? heard : undefined);
}

/** Whether a lock passes on inside a client. */
export function handsOver({ client, kind }: LockIdentity): boolean {
  return kind.handsOver && client.settings.handOff !== false;
}

/** Those who wait here for a lock that is handed over; undefined for none. */
function lineOf(lock: LockIdentity): WaitLine | undefined {
  return handsOver(lock) ? lock.client.lines.of(lock.id) : undefined;
}
