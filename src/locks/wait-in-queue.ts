import type { WaitEnd } from "../events.js";
import type { RefreshAnswer } from "../protocol/fair-scripts.js";
import type { FairWaiter, Sighted } from "../runtime/fair-queue.js";
import { LineAnswers } from "../runtime/line-answers.js";
import type { Waiter } from "../runtime/waiter.js";
import type { Stay } from "../threads/stay.js";
import { enterByGrant } from "./grant.js";
import type { LockIdentity, Part } from "./lock-kind.js";
import type { TakenHold, WayOfWaiting } from "./way-of-waiting.js";
import type { FoundPlace, QueuePlace, Wish } from "./wish.js";

/**
 * Waits in the lock's queue in Redis. A call that frees the lock gives it to the next in the queue and says so on a channel of that
 * waiter's client; the waiter is in when the message arrives.
 *
 * A field stands in a queue once in its life. Otherwise two could be in the lock: a message grants it to the field; the answer to the
 * field's own question overtakes the message, but comes after its lease, so that the call gives the lock back and queues again; another
 * owner takes the lock; then the message arrives and lets the call in. So a call that had to give the lock back waits on under another
 * field.
 * @see docs/internals/states.md#a-place-in-a-fair-queue
 */
export class WaitInQueue implements WayOfWaiting, FairWaiter {
  readonly holder: string;
  /** Each call stands in the queue by itself, and asks. */
  readonly behind = 0;
  /** Under an id that the caller chose, the next field is the same. */
  readonly asksAgain: boolean;
  readonly #lock: LockIdentity;
  readonly #stay: Stay;
  readonly #wish: Wish;
  /**
   * Whether the field has surely stood in the queue once only, so that a message is about this time. Under an id that the caller
   * chose, earlier stays had the same field.
   */
  #once: boolean;
  /** Set when there was news since the latest attempt was sent, of which its answer may not know: how it came. */
  #heard: WaitEnd | undefined;
  /** Where it stood by the newest answer, and when that was asked for. */
  #place: QueuePlace | undefined;
  /** On the monotonic clock: the first attempt is made at once. */
  #askAtMs = Number.NEGATIVE_INFINITY;
  /** For other calls of the stay whose time is up; undefined before the first. */
  #answers: LineAnswers | undefined;
  /** A message says that this waiter was granted the lock. */
  #granted = false;

  constructor({ lock, stay, wish }: Part) {
    this.#lock = lock;
    this.#stay = stay;
    this.#wish = wish;
    this.holder = stay.field;
    this.asksAgain = stay.thread.explicitId !== undefined;
    this.#once = stay.thread.explicitId === undefined;
  }

  get key(): string {
    return this.#lock.key;
  }

  get channel(): string {
    return this.#lock.channel;
  }

  /** News from now on is for the next attempt, as the answer to this one may be older. So is a grant that a message has told. */
  asks(): WaitEnd | undefined {
    if (this.#lock.client.clock.monotonicMs() < this.#askAtMs) return undefined;
    const why = this.#heard ?? "timer";
    this.#heard = undefined;
    this.#askAtMs = Number.POSITIVE_INFINITY;
    this.#lock.client.fairQueues.expect(this);
    return this.#place === undefined ? "free" : why;
  }

  refused(): boolean {
    const { place } = this.#wish;
    if (place !== undefined) {
      this.#answers?.taken(place.sentAt.monotonicMs);
      this.#queued(place);
    }
    return place !== undefined;
  }

  failed(): void {}

  sleep(awake: () => void): void {
    const ms = Math.max(0, this.#askAtMs - this.#lock.client.clock.monotonicMs());
    this.#wish.waiter.sleep(awake, ms);
  }

  /** That this call stands in the queue tells the others of its stay as well. */
  hasTold(waiter: Waiter): boolean {
    const { monotonicMs = Number.NEGATIVE_INFINITY } = this.#place?.sentAt ?? {};
    if (monotonicMs >= waiter.startMs) waiter.told();
    return waiter.isTold;
  }

  /** Another call of the stay: this one asks for it. */
  waitOn(waiter: Waiter, ms: number): boolean {
    if (waiter === this.#wish.waiter || !waiter.waitOn(ms)) return false;
    this.#answers ??= new LineAnswers();
    this.#answers.wantedBy(waiter);
    this.#askNow("timer");
    return true;
  }

  over(): void {}

  /** The latest attempt was answered with this place: there is nothing to ask before news comes. */
  #queued(place: FoundPlace): void {
    // Only the first attempt may put the field into the queue. If it arrived more than once, its copies may have put the field there twice:
    // the one answer does not tell.
    if (place.repeated || place.pushed !== (this.#place === undefined)) this.#once = false;
    this.#seen(place);
    this.#lock.client.fairQueues.stands(this, place);
  }

  leave(): void {
    this.#lock.client.fairQueues.remove(this);
  }

  refreshed(answer: RefreshAnswer, seen: Sighted, why: WaitEnd): void {
    if (answer.status === "queued") {
      if (answer.holder !== "") this.#wish.saw(this.#lock, answer.holder, answer.ttlMs);
      this.#seen({ ...seen, fallsInMs: answer.isHead && answer.ttlMs >= 0 ? answer.ttlMs : undefined });
    } else {
      this.#askNow(why);
    }
    this.#wish.waiter.wake();
  }

  /** Enters if the lock was given to this waiter and it can be sure of that without asking; asks otherwise. */
  taken(): TakenHold | undefined {
    if (!this.#granted || this.#wish.waiter.cancelled) return undefined;
    this.#granted = false;
    const place = this.#once ? this.#place : undefined;
    const hold = place && enterByGrant(this.#lock, this.#stay, this.#wish, place);
    if (hold === undefined) this.#askNow("message");
    return hold && { hold, by: "grant" };
  }

  /** The next in the queue asks when the holder's lease is over: a holder that died publishes nothing. */
  #seen(place: QueuePlace): void {
    // An attempt that was sent after a sign of life may be answered before it: the older answer tells less.
    if (this.#place !== undefined && place.sentAt.monotonicMs < this.#place.sentAt.monotonicMs) return;
    this.#place = place;
    if (this.#heard !== undefined) return;
    this.#askAtMs =
      place.fallsInMs === undefined
        ? Number.POSITIVE_INFINITY
        : place.sentAt.monotonicMs + place.fallsInMs + 1;
  }

  told(given: boolean): void {
    if (given) this.#granted = true;
    else this.#askNow("message");
    this.#wish.waiter.wake();
  }

  #askNow(why: WaitEnd): void {
    this.#heard = why;
    this.#askAtMs = Number.NEGATIVE_INFINITY;
    this.#wish.waiter.wake();
  }
}
