import type { Clock } from "../clock.js";
import { environment } from "../environment.js";
import type { UnavailableError } from "../errors.js";
import { invariant } from "../invariant.js";
import type { WaitingPlace } from "../protocol/lock-calls.js";
import { isWakeUp, LOOK, YOU_ARE_NEXT, YOUR_TURN } from "../protocol/messages.js";
import type { Awaited } from "./awaited.js";
import { withKnownOutcome } from "./command-failures.js";
import { LineAlarm } from "./line-alarm.js";
import { LineAnswers } from "./line-answers.js";
import { type LineEarServices, LineEars, type LineHearer } from "./line-ears.js";
import { OwnMessage } from "./own-message.js";
import type { SeenHolder, Sighting } from "./sighting.js";
import type { Waiter } from "./waiter.js";
import { type UsableYield, Yields } from "./yields.js";

/** What all lines of a client share. */
export interface LineServices extends LineEarServices {
  readonly usableYield: UsableYield;
}

/** Why the first call in a line asks Redis: a message, a new subscription, a release of this client, or the time. */
export type LineNews = "message" | "reconnect" | "release" | "timer";

/** A granted lock is free again after this time if the client does not take it. As in waiting.lua. */
const GIVEN_MS = 1_500;
/** The safety period is drawn at random between this share of its length and the whole, so that processes do not all ask at once. */
const LEAST_SHARE = 0.8;

/**
 * The waiters of this client for one lock, one number of permits or one latch, in order of arrival. Only the first, the head, talks to
 * Redis, so a server has one waiter for each process and not one for each task. A wake-up belongs to the line: if the head gives up without
 * using the wake-up, the next waiter gets it.
 * @see docs/internals/states.md#the-line
 */
export class WaitLine implements LineHearer {
  readonly awaited: Awaited;
  readonly answers: LineAnswers = new LineAnswers();
  readonly #clock: Clock;
  readonly #services: LineServices;
  /** Decides how long the lock is left to other clients: longer each time, until one of them takes it. */
  #yields: Yields | undefined;
  /** The first in line; undefined while the line is empty. Only the line sets it. */
  head: Waiter | undefined;
  /** The waiters behind the head; undefined before the first of them. */
  #behind: Set<Waiter> | undefined;
  /** The channel on which this client is notified when its turn in the queue in Redis comes; undefined if it waits in no queue. */
  ownChannel: string | undefined;
  /** What the line listens to; undefined before it first listens. Only the line sets it. */
  ears: LineEars | undefined;
  /** Whether the head's question should put this client into the queue. True if a message about its turn would arrive. */
  queues = false;
  /** Whether the head should ask because something has happened since the latest question; `#news` says what. */
  #woken = false;
  #news: LineNews = "timer";
  /** Undefined until this client frees the lock while calls wait. */
  #ownMessage: OwnMessage | undefined;
  /** The time until which the lock is left to other clients after a release of this client. On the monotonic clock. */
  #turnMs = Number.POSITIVE_INFINITY;
  /**
   * Asking Redis before this time is useless, unless the line is woken. On the monotonic clock. In a line of one call, that call sets it.
   */
  askAgainMs: number = Number.NEGATIVE_INFINITY;
  /** The holder that was seen last, for the error of a call whose time is up. */
  sighting: Sighting | undefined;
  /** Whether the holder that was seen last belongs to another client. */
  isElsewhere = false;
  /** Wakes the head; undefined before it first sleeps. */
  #alarm: LineAlarm | undefined;

  /**
   * @param head the only call of a line of one: it has its own place in a queue in Redis, is notified through that place, and never leaves
   * the line
   */
  constructor(awaited: Awaited, ownChannel: string | undefined, services: LineServices, head?: Waiter) {
    this.awaited = awaited;
    this.#clock = services.clock;
    this.#services = services;
    this.ownChannel = ownChannel;
    this.head = head;
  }

  /** Whether this client waits in a queue in Redis. It then gets no message about a release that notifies another client in the queue. */
  get hasQueue(): boolean {
    return this.ownChannel !== undefined;
  }

  get length(): number {
    return (this.head === undefined ? 0 : 1) + (this.#behind?.size ?? 0);
  }

  get waiters(): readonly Waiter[] {
    return this.head === undefined ? [] : [this.head, ...(this.#behind ?? [])];
  }

  /** Puts a waiter at the end, unless it is already in line. */
  add(waiter: Waiter): void {
    if (this.head !== undefined) {
      if (this.head === waiter) return;
      this.#behind ??= new Set();
      this.#behind.add(waiter);
      return;
    }
    // The line was empty: what it knew when it last had a call is outdated.
    invariant(!this.#behind?.size, "a line has waiters and no head");
    this.#woken = false;
    this.#ownMessage = undefined;
    this.#turnMs = Number.POSITIVE_INFINITY;
    this.askAgainMs = Number.NEGATIVE_INFINITY;
    this.sighting = undefined;
    this.isElsewhere = false;
    // If messages already arrive, none can be missed during the first attempt, so no second attempt is needed.
    if (this.#services.subscriptions.isOpen(this.ownChannel ?? this.awaited.channel)) this.listen();
    else if (this.awaited.releasedAs !== undefined && this.ears?.forgetOwn()) this.ownChannel = undefined;
    this.head = waiter;
  }

  /** @returns true when the line is empty now */
  remove(waiter: Waiter): boolean {
    if (this.answers.untold !== undefined) this.answers.waitsNoMore(waiter);
    if (this.head !== waiter) {
      this.#behind?.delete(waiter);
      return false;
    }
    const next = this.#behind?.values().next().value;
    this.head = next;
    if (next === undefined) {
      this.ears?.rest();
      this.#alarm?.cancel();
      return true;
    }
    this.#behind?.delete(next);
    const isDue = this.#woken || this.answers.untold !== undefined;
    const mayDoze = !isDue && this.ears?.listens && this.#alarm?.ringsBy(this.#nextMs);
    if (!mayDoze || next.naps) next.wake();
    return false;
  }

  /** True when it may be worth asking Redis for the lock now. */
  shouldAsk(): boolean {
    const dueMs = Math.min(this.askAgainMs, this.#turnMs);
    return this.#woken || this.answers.untold !== undefined || this.#clock.monotonicMs() >= dueMs;
  }

  /**
   * The waiter's time is up, but no answer has shown that the lock, or whatever it wants, was taken. The waiter waits this much longer, and
   * the head asks Redis.
   * @returns false if the waiter was given more time before, or if the head's question itself waits because too many commands are under way
   */
  waitOn(waiter: Waiter, ms: number): boolean {
    if (this.head?.queued !== undefined || !waiter.waitOn(ms)) return false;
    this.answers.wantedBy(waiter);
    if (this.head?.isAsleep) this.head.wake();
    return true;
  }

  get #nextMs(): number {
    return Math.min(this.askAgainMs, this.#turnMs);
  }

  /**
   * The head is about to ask: from now on, wake-ups are for the next question.
   * @param polls whether the client wants a place in the queue although it will not be notified
   * @returns why it asks
   */
  asking(polls = false): LineNews {
    invariant(this.head?.isAsleep === false, "a line asks without its head");
    // After its release, this client leaves the lock to others for a time: if that time is over, the release is the reason to ask.
    const byTurn = this.#clock.monotonicMs() >= this.#turnMs ? "release" : "timer";
    const news = this.#woken ? this.#news : byTurn;
    this.queues = polls ? this.ownChannel !== undefined : (this.ears?.hearsTurn ?? false);
    if (polls && this.queues) this.ears ??= new LineEars(this.awaited, this.ownChannel, this.#services, this);
    this.#woken = false;
    this.#turnMs = Number.POSITIVE_INFINITY;
    return news;
  }

  /** The head's `heir`, through which another call of this client hands the lock to the head; undefined while the head does not sleep. */
  get heir(): object | undefined {
    return this.head?.isAsleep ? this.head.heir : undefined;
  }

  /** This client is about to free what the line waits for. The message of that release must be ignored. */
  freeing(): void {
    const isSubscribed = this.#services.subscriptions.isOpen(this.awaited.channel);
    this.#ownMessage ??= new OwnMessage();
    this.#ownMessage.expect(this.ears?.hearsAll ?? false, isSubscribed);
  }

  /**
   * This client has freed what the line waits for. If other clients listen, they may take it first.
   * @param heard how many clients received the message; undefined if unknown
   */
  freed(heard: number | undefined): void {
    const own = this.#ownMessage?.freed(heard) ?? 0;
    this.#yields ??= new Yields(this.#services.usableYield);
    const nowMs = this.#clock.monotonicMs();
    const yieldMs = this.#yields.next(nowMs, heard === undefined ? undefined : heard - own);
    if (yieldMs === 0) this.wake();
    else {
      this.rest(yieldMs);
      this.#turnMs = nowMs + yieldMs;
    }
    this.head?.wake();
  }

  /** This client has changed the lock's TTL. If the lock now expires sooner than the line knew, the head asks at that time. */
  endsIn(ms: number): void {
    // A question may be under way. Its answer may be older than the change, but may be read after it.
    if (this.head?.isAsleep === false) this.wake("timer");
    const askAgainMs = this.#clock.monotonicMs() + ms + 1;
    if (askAgainMs >= this.askAgainMs) return;
    this.askAgainMs = askAgainMs;
    this.head?.wake();
  }

  /** It is unknown whether this client has freed what the line waits for. */
  notFreed(): void {
    const wasIgnored = this.#ownMessage?.end() ?? false;
    // Without the common channel, the line would have missed a message about that release.
    const isDeaf = this.hasQueue && this.ears?.hearsAll !== true;
    if (wasIgnored || isDeaf) this.wake();
  }

  /**
   * The lock was seen held, by another client or by the waiter of this line that has just taken it.
   * @param soonestMs asks again after this time at the latest
   */
  seenHeld({ holder, ttlMs, own = true }: SeenHolder, soonestMs: number = Number.POSITIVE_INFINITY): void {
    const seenMs = this.#clock.monotonicMs();
    this.sighting = { holder, ttlMs, seenMs };
    this.isElsewhere = !own;
    if (!own) this.#yields?.used(seenMs);
    this.rest(ttlMs, soonestMs, seenMs);
  }

  /**
   * For this time, asking is useless unless the line is woken.
   * @param ms the time that Redis answered; negative: unknown
   * @param soonestMs asks again after this time at the latest
   */
  rest(
    ms: number,
    soonestMs: number = Number.POSITIVE_INFINITY,
    nowMs: number = this.#clock.monotonicMs(),
  ): void {
    const jitteredMs =
      this.#services.safetyPeriodMs * (LEAST_SHARE + (1 - LEAST_SHARE) * environment.random());
    const safetyMs = Math.min(jitteredMs, soonestMs);
    // Redis rounds to whole milliseconds: one millisecond more, and the time is certainly over.
    this.askAgainMs = nowMs + (ms < 0 ? safetyMs : Math.min(ms + 1, safetyMs));
  }

  /**
   * The head is about to sleep. The line listens, and wakes the head when there is a reason to ask Redis or to listen to another channel.
   * If the time to ask is put off after this call, the head wakes once without a reason.
   */
  watch(): void {
    this.listen();
    const untilMs = this.ears?.listens
      ? this.#nextMs
      : Math.min(this.#nextMs, this.ears?.againMs ?? Number.POSITIVE_INFINITY);
    this.#alarm ??= new LineAlarm(this.#clock, () => this.head?.wake());
    this.#alarm.setFor(untilMs);
  }

  /** The head asks again after this many milliseconds, or when it is woken. @returns how long it may sleep */
  nap(ms: number): number {
    this.askAgainMs = this.#clock.monotonicMs() + ms;
    return this.#woken ? 0 : ms;
  }

  /** Makes sure that the line gets messages about releases. Each time messages begin to arrive, the head asks again. */
  listen(): void {
    this.ears ??= new LineEars(this.awaited, this.ownChannel, this.#services, this);
    this.ears.listen();
  }

  heard(message: string): void {
    const { tells = isWakeUp } = this.awaited;
    if (!tells(message) || this.#ownMessage?.ignores()) return;
    this.#yields?.used(this.#clock.monotonicMs());
    this.wake("message");
  }

  called(message: string): void {
    if (this.awaited.releasedAs !== undefined) this.ears?.called(message);
    if (message === YOUR_TURN) this.wake("message");
    else if (message === YOU_ARE_NEXT) this.endsIn(GIVEN_MS);
    else if (message === LOOK) this.ears?.mayStand();
  }

  ready(): void {
    this.#ownMessage?.lost();
    this.wake("reconnect");
  }

  failed(): void {
    this.head?.wake();
  }

  /** Redis has answered which place this client has in the lock's queue. */
  stands(place: WaitingPlace, ttlMs: number): void {
    const { waits, ahead } = place;
    this.ears?.stands(place, this.isElsewhere);
    // An expiry is not announced, so the first client in the queue asks when the lease is over. The second client asks a little later, in
    // case the first does not.
    if (waits && ahead > 0) this.rest(ahead === 1 && ttlMs >= 0 ? ttlMs + GIVEN_MS : -1);
  }

  /** This client has freed the lock, and the release has given it to another waiting client. Now this client waits like the others. */
  given(): void {
    this.#ownMessage?.end();
    this.#yields ??= new Yields(this.#services.usableYield);
    this.#yields.given(this.#clock.monotonicMs());
    if (this.ears?.place?.waits) this.endsIn(GIVEN_MS);
    else this.wake();
  }

  /** Redis could not be asked. All waiters in line fail now, not one after the other. Only the head has asked anything. */
  fail(error: UnavailableError): void {
    for (const waiter of this.waiters) waiter.cancel(withKnownOutcome(error));
  }

  /** @param news the reason. Default: a release of this client */
  wake(news: LineNews = "release"): void {
    this.#woken = true;
    this.#news = news;
    this.head?.wake();
  }
}
