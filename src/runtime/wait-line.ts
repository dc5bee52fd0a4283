import type { Clock, Timer } from "../clock.js";
import { isWakeUp } from "../protocol/messages.js";
import type { Subscriptions } from "./subscriptions.js";
import type { Waiter } from "./waiter.js";

/** Who was seen to hold a lock, and for how long. */
export interface Sighting {
  readonly holder: string;
  /** Milliseconds its lease had left at `seenMs`; -1 without a TTL. */
  readonly ttlMs: number;
  /** On the monotonic clock. */
  readonly seenMs: number;
}

/** What is waited for: a lock, permits or a latch. */
export interface Awaited {
  /** Whose line it is. */
  readonly id: string;
  /** Where releases are told. */
  readonly channel: string;
  /** Which messages make it worth asking. Default: those of locks. */
  readonly tells?: (message: string) => boolean;
}

/** How long to live without messages when listening has failed: twice as long each time, up to the safety period. */
const FIRST_DEAF_MS = 250;
/** Far more than a waiter of another process takes to ask once it was told, and little beside what others have to do. */
const YIELD_MS = 5;
/** The safety period is drawn from this share of it up to the whole, so that processes do not ask in step. */
const LEAST_SHARE = 0.8;

/**
 * The waiters of this client for one lock, or one number of permits, or one latch, first come, first served. Only the
 * first, its head, talks to Redis, so that waiting costs a server one waiter for each process and not one for each task.
 * A wake-up belongs to the line: when the head gives up instead of using it, the next one does.
 */
export class WaitLine {
  readonly awaited: Awaited;
  readonly #clock: Clock;
  readonly #subscriptions: Subscriptions;
  readonly #safetyPeriodMs: number;
  #head: Waiter | undefined;
  /** Those behind the head; undefined before the first. */
  #behind: Set<Waiter> | undefined;
  #unlisten: (() => void) | undefined;
  #woken = false;
  /** Whether the next message is the one of our own release. */
  #expectsOwn = false;
  /** Whether a message was taken for it since. */
  #hasIgnored = false;
  /** On the monotonic clock: by then others have had their turn, whatever was asked before. */
  #turnMs = Number.POSITIVE_INFINITY;
  /** On the monotonic clock: to ask before is useless unless somebody wakes the line. */
  #askAgainMs = Number.NEGATIVE_INFINITY;
  #sighting: Sighting | undefined;
  /** On the monotonic clock: to try to listen before is useless. */
  #listenAgainMs = Number.NEGATIVE_INFINITY;
  #deafMs = FIRST_DEAF_MS;
  /** Wakes the head, whoever it is by then. */
  #alarm: Timer | undefined;
  /** On the monotonic clock. */
  #alarmMs = Number.POSITIVE_INFINITY;

  constructor(awaited: Awaited, clock: Clock, subscriptions: Subscriptions, safetyPeriodMs: number) {
    this.awaited = awaited;
    this.#clock = clock;
    this.#subscriptions = subscriptions;
    this.#safetyPeriodMs = safetyPeriodMs;
  }

  get length(): number {
    return (this.#head === undefined ? 0 : 1) + (this.#behind?.size ?? 0);
  }

  /** Who had the lock when somebody of this line last saw it. */
  get sighting(): Sighting | undefined {
    return this.#sighting;
  }

  /** Those who stand in it, the head first. */
  get waiters(): readonly Waiter[] {
    return this.#head === undefined ? [] : [this.#head, ...(this.#behind ?? [])];
  }

  /** Puts a waiter at the end, unless it stands in line already. */
  add(waiter: Waiter): void {
    if (this.#head === undefined) this.#begin(waiter);
    else if (this.#head !== waiter) {
      this.#behind ??= new Set();
      this.#behind.add(waiter);
    }
  }

  /** Whatever was known when somebody last stood here is known no more. */
  #begin(head: Waiter): void {
    this.#woken = false;
    this.#expectsOwn = false;
    this.#hasIgnored = false;
    this.#turnMs = Number.POSITIVE_INFINITY;
    this.#askAgainMs = Number.NEGATIVE_INFINITY;
    this.#sighting = undefined;
    this.#listenAgainMs = Number.NEGATIVE_INFINITY;
    this.#deafMs = FIRST_DEAF_MS;
    // With the messages coming in already, the first attempt misses none, and no second one is needed.
    if (this.#subscriptions.isOpen(this.awaited.channel)) this.#listen();
    this.#head = head;
  }

  /** @returns true when the line is empty now */
  remove(waiter: Waiter): boolean {
    if (this.#head !== waiter) {
      this.#behind?.delete(waiter);
      return false;
    }
    this.#head = this.#next();
    if (this.#head === undefined) {
      this.#end();
      return true;
    }
    const mayDoze = !this.#woken && this.#unlisten !== undefined && this.#isWatched(this.#nextMs);
    if (!mayDoze || this.#head.naps) this.#head.wake();
    return false;
  }

  #end(): void {
    this.#unlisten?.();
    this.#unlisten = undefined;
    this.#unset();
  }

  /** Takes out the first of those behind the head. */
  #next(): Waiter | undefined {
    for (const next of this.#behind ?? []) {
      this.#behind?.delete(next);
      return next;
    }
    return undefined;
  }

  isHead(waiter: Waiter): boolean {
    return this.#head === waiter;
  }

  /** True when it may be worth asking Redis for the lock now. */
  shouldAsk(): boolean {
    return this.#woken || this.#clock.monotonicMs() >= this.#nextMs;
  }

  get #nextMs(): number {
    return Math.min(this.#askAgainMs, this.#turnMs);
  }

  /** The head is about to ask: wake-ups from now on are news. */
  asking(): void {
    this.#woken = false;
    this.#turnMs = Number.POSITIVE_INFINITY;
  }

  /** Who may be given what another call of this client leaves: the head's, while it sleeps. */
  get heir(): object | undefined {
    return this.#head?.isAsleep ? this.#head.heir : undefined;
  }

  /** This client is about to free what is waited for: its own message is no news. */
  freeing(): void {
    this.#expectsOwn = this.#unlisten !== undefined && this.#subscriptions.isOpen(this.awaited.channel);
  }

  /**
   * This client has freed it: where others listen as well, they have their turn first.
   * @param heard how many heard of it; undefined when nobody knows
   */
  freed(heard: number | undefined): void {
    const own = this.#expectsOwn || this.#hasIgnored ? 1 : 0;
    this.#hasIgnored = false;
    if (heard === 0) this.#expectsOwn = false;
    if (heard !== undefined && heard <= own) this.wake();
    else {
      this.rest(YIELD_MS);
      this.#turnMs = this.#clock.monotonicMs() + YIELD_MS;
    }
    this.#head?.wake();
  }

  /** Nobody knows whether this client has freed it. */
  notFreed(): void {
    this.#expectsOwn = false;
    if (!this.#hasIgnored) return;
    this.#hasIgnored = false;
    this.wake();
  }

  /**
   * The lock was seen held, by others or by the waiter of this line that just took it.
   * @param soonestMs to ask again by then in any case
   */
  seenHeld({ holder, ttlMs }: Omit<Sighting, "seenMs">, soonestMs: number = Number.POSITIVE_INFINITY): void {
    const seenMs = this.#clock.monotonicMs();
    this.#sighting = { holder, ttlMs, seenMs };
    this.#rest(seenMs, ttlMs, soonestMs);
  }

  /**
   * To ask is useless for so many milliseconds, unless somebody wakes the line.
   * @param ms as Redis answered; negative: it does not know
   * @param soonestMs to ask again by then in any case
   */
  rest(ms: number, soonestMs: number = Number.POSITIVE_INFINITY): void {
    this.#rest(this.#clock.monotonicMs(), ms, soonestMs);
  }

  #rest(nowMs: number, ms: number, soonestMs: number): void {
    const jitteredMs = this.#safetyPeriodMs * (LEAST_SHARE + (1 - LEAST_SHARE) * Math.random());
    const safetyMs = Math.min(jitteredMs, soonestMs);
    // Redis answers times in whole milliseconds, rounded: one more and it is surely over.
    this.#askAgainMs = nowMs + (ms < 0 ? safetyMs : Math.min(ms + 1, safetyMs));
  }

  /**
   * The head is about to sleep: the line listens, and wakes it when there is something to ask or to listen to. What is put
   * off later on is not: then it wakes for nothing, once.
   */
  watch(): void {
    this.listen();
    const listening = this.#unlisten !== undefined;
    const untilMs = listening ? this.#nextMs : Math.min(this.#nextMs, this.#listenAgainMs);
    if (this.#isWatched(untilMs)) return;
    this.#unset();
    const ring = () => {
      this.#alarm = undefined;
      this.#head?.wake();
    };
    this.#alarmMs = untilMs;
    this.#alarm = this.#clock.schedule(Math.max(untilMs - this.#clock.monotonicMs(), 0), ring, true);
  }

  /** Whether the head will be woken by then, at the latest. */
  #isWatched(untilMs: number): boolean {
    return this.#alarm !== undefined && this.#alarmMs <= untilMs;
  }

  #unset(): void {
    this.#alarm?.cancel();
    this.#alarm = undefined;
  }

  /** The head asks again after so many milliseconds, or when it is woken. @returns how long it may sleep */
  nap(ms: number): number {
    this.#askAgainMs = this.#clock.monotonicMs() + ms;
    return this.#woken ? 0 : ms;
  }

  /** Makes sure that the line hears of releases. Each time messages begin to arrive, the head asks again. */
  listen(): void {
    if (this.#unlisten !== undefined || this.#clock.monotonicMs() < this.#listenAgainMs) return;
    this.#listen();
  }

  #listen(): void {
    const { channel, tells = isWakeUp } = this.awaited;
    this.#unlisten = this.#subscriptions.listen(channel, {
      onMessage: (message) => {
        if (!tells(message)) return;
        if (this.#expectsOwn) {
          this.#expectsOwn = false;
          this.#hasIgnored = true;
        } else this.wake();
      },
      onReady: () => {
        this.#expectsOwn = false;
        this.#deafMs = FIRST_DEAF_MS;
        this.wake();
      },
      onFailure: () => this.#failedToListen(),
    });
  }

  /** After a pause the head listens again, and asks once that has begun: a message may be missed meanwhile. */
  #failedToListen(): void {
    this.#unlisten = undefined;
    this.#listenAgainMs = this.#clock.monotonicMs() + this.#deafMs;
    this.#deafMs = Math.min(2 * this.#deafMs, this.#safetyPeriodMs);
    this.#head?.wake();
  }

  /** Redis could not be asked: everybody in line hears of it now and not one after the other. */
  fail(error: unknown): void {
    for (const waiter of this.waiters) waiter.cancel(error);
  }

  wake(): void {
    this.#woken = true;
    this.#head?.wake();
  }
}
