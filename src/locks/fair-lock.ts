import { fairAcquire, fairRelease, type RefreshAnswer } from "../protocol/fair-scripts.js";
import { clientChannel } from "../protocol/names.js";
import type { FairWaiter, Sighted } from "../runtime/fair-queue.js";
import { type LineNews, WaitLine } from "../runtime/wait-line.js";
import { enterByGrant } from "./grant.js";
import type { LockKind, Part } from "./lock-kind.js";
import { reentrantLock } from "./reentrant-lock.js";
import { WaitInLine } from "./wait-in-line.js";
import type { TakenHold } from "./way-of-waiting.js";
import type { QueuePlace } from "./wish.js";

/** Admits waiters in order of arrival, across processes. Source: Redisson's RedissonFairLock. */
export const fairLock: LockKind = {
  ...reentrantLock,
  name: "fair-lock",
  acquire: fairAcquire,
  release: fairRelease,
  keep: undefined,
  recordsWaiters: true,
  queues: false,
  handsOver: false,
  wait: (part) => new WaitInQueue(part),
};

/** A {@link fairLock} that is not reentrant, like {@link nonReentrantLock}. Source: Redisson's RedissonNonReentrantFairLock. */
export const nonReentrantFairLock: LockKind = {
  ...fairLock,
  name: "non-reentrant-fair-lock",
  reentrant: false,
};

/**
 * Waits in the lock's queue in Redis. The script that frees the lock grants it to the next waiter in the queue and publishes the grant on a
 * channel of that waiter's client. The waiter enters when the message arrives.
 *
 * The field under which a call waits is queued only once. If it were queued again, two calls could be in the lock, as follows. A message
 * grants the lock to the field. The answer to the call's own attempt overtakes the message, but arrives after the lease of this attempt has
 * ended. So the call gives the lock back and queues the field again, and another owner takes the lock. Then the message arrives and lets
 * the call in. For this reason a call that had to give the lock back continues its wait under another field.
 *
 * The waiter's `line` contains only this call.
 * @see docs/internals/states.md#a-place-in-a-fair-queue
 */
class WaitInQueue extends WaitInLine implements FairWaiter {
  readonly key: string = this.lock.key;
  readonly channel: string = this.lock.channel;
  readonly holder: string = this.part.stay.field;
  /** With an id that the caller chose, another field is impossible. */
  override readonly asksAgain: boolean = this.part.stay.thread.explicitId !== undefined;
  /**
   * Whether the field has certainly been queued only once, so that a message is about this wait. Under an id that the caller chose, earlier
   * stays had the same field.
   */
  #once = this.part.stay.thread.explicitId === undefined;
  /** The place in the queue according to the newest answer, and when the command with this answer was sent. */
  #place: QueuePlace | undefined;
  /** Whether a message says that this waiter was granted the lock. */
  #granted = false;
  /** Whether messages may name this waiter. */
  #isExpected = false;

  constructor(part: Part) {
    const { lock, wish } = part;
    const { id, fairQueues, lines, subscriptions } = lock.client;
    super(part, new WaitLine(lock, undefined, lines.services, wish.waiter));
    // So that an uncontended lock needs no subscription: messages can come already only if this client listens to its channel, or has waiters
    // in the queue.
    if (!fairQueues.queues.has(lock.key) && !subscriptions.isOpen(clientChannel(lock.channel, id))) return;
    this.#isExpected = true;
    fairQueues.expect(this);
  }

  override refused(): boolean {
    const { place } = this.wish;
    if (place === undefined) return false;
    // Only the first attempt may queue the field. If this attempt arrived more than once, its copies may have queued the field twice, which
    // the one answer does not show.
    if (place.repeated || place.pushed !== (this.#place === undefined)) this.#once = false;
    this.#seen(place);
    this.lock.client.fairQueues.stands(this, place);
    this.#isExpected = true;
    return true;
  }

  override sleep(awake: () => void): void {
    const ms = Math.max(0, this.line.askAgainMs - this.lock.client.clock.monotonicMs());
    this.wish.waiter.sleep(awake, ms);
  }

  override leave(): void {
    if (this.#isExpected) this.lock.client.fairQueues.remove(this);
  }

  refreshed(answer: RefreshAnswer, seen: Sighted, why: LineNews): void {
    if (answer.status === "queued") {
      if (answer.holder !== "") this.wish.saw(this.lock, answer.holder, answer.ttlMs);
      this.#seen({ ...seen, fallsInMs: answer.isHead && answer.ttlMs >= 0 ? answer.ttlMs : undefined });
    } else {
      this.line.wake(why);
    }
    this.wish.waiter.wake();
  }

  /** Enters if the lock was certainly granted to this waiter; asks Redis if this is not certain. */
  override taken(): TakenHold | undefined {
    if (!this.#granted || this.wish.waiter.cancelled) return undefined;
    this.#granted = false;
    const place = this.#once ? this.#place : undefined;
    const hold = place && enterByGrant(this.lock, this.part.stay, this.wish, place);
    if (hold === undefined) this.line.wake("message");
    return hold && { hold, by: "grant" };
  }

  /** The head of the queue asks when the holder's lease is over, because a dead holder publishes nothing. */
  #seen(place: QueuePlace): void {
    // If this command was sent before the command that gave the current place, its answer is out of date.
    if (this.#place !== undefined && place.sentAt.monotonicMs < this.#place.sentAt.monotonicMs) return;
    this.#place = place;
    this.line.answers.taken(place.sentAt.monotonicMs);
    const { fallsInMs = Number.POSITIVE_INFINITY } = place;
    this.line.askAgainMs = place.sentAt.monotonicMs + fallsInMs + 1;
  }

  told(given: boolean): void {
    if (given) this.#granted = true;
    else this.line.wake("message");
    this.wish.waiter.wake();
  }
}
