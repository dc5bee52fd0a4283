import { UnavailableError } from "../errors.js";
import type { WaitEnd } from "../events.js";
import type { WaitLine } from "../runtime/wait-line.js";
import type { Waiter } from "../runtime/waiter.js";
import { Heir } from "./hand-off.js";
import { leaveQueue } from "./leave-queue.js";
import type { LockIdentity, Part } from "./lock-kind.js";
import { handsOver } from "./own-release.js";
import type { TakenHold, WayOfWaiting } from "./way-of-waiting.js";
import type { Wish } from "./wish.js";

/**
 * Waits in line with this client's other calls for the lock. The first call in line, its head, talks to Redis.
 * @see docs/internals/states.md#the-line
 */
export class WaitInLine implements WayOfWaiting {
  readonly asksAgain: boolean = true;
  protected readonly line: WaitLine;
  protected readonly wish: Wish;
  protected readonly lock: LockIdentity;
  protected readonly part: Part;
  /** Whether the call may wait in a queue in Redis; it does so once the line can get messages about a turn in that queue. */
  readonly #queues: boolean;
  /** Takes over a lock that is handed to this call; undefined before it first sleeps. */
  #heir: Heir | undefined;
  /** Whether the call has asked or slept. */
  #hasBegun = false;

  /** @param line the line to wait in. Default: its client's line for the lock */
  constructor(part: Part, line?: WaitLine) {
    const { lock, wish } = part;
    this.part = part;
    this.lock = lock;
    this.wish = wish;
    this.#queues = lock.queues && !lock.kind.recordsWaiters;
    this.line = line ?? lock.client.lines.join(lock, wish.waiter, this.#queues);
  }

  get behind(): number {
    return this.line.length - 1;
  }

  asks(): WaitEnd | undefined {
    const { waiter } = this.wish;
    if (this.line.head !== waiter || !this.line.shouldAsk()) return undefined;
    // A call that is asking does not take over a lock: if its answer comes too late, its stay must first release what the call has
    // acquired.
    waiter.heir = undefined;
    const news = this.line.asking(this.#hasBegun && waiter.naps);
    this.wish.queued = this.#queues && this.line.queues ? this.line : undefined;
    const isFirst = !this.#hasBegun;
    this.#hasBegun = true;
    return isFirst ? "free" : news;
  }

  refused(): boolean {
    const { obstacle, waiting } = this.wish;
    const { asksEachMs, fieldEnding } = this.lock.kind;
    if (obstacle !== undefined) {
      // If the holder is a reader of this client, its release does not notify the client's waiting writers.
      const own = obstacle.own && obstacle.holder.endsWith(fieldEnding);
      this.line.seenHeld({ ...obstacle, own }, asksEachMs);
    }
    if (waiting !== undefined) this.line.stands(waiting, obstacle?.ttlMs ?? -1);
    else if (this.wish.queued !== undefined || (!this.#queues && this.line.hasQueue))
      this.line.ears?.hearAll();
    return true;
  }

  /**
   * If the server is unavailable, all calls in line fail, unless this call asked only once. In all other cases the next call in line gets
   * the wake-up that this call has used.
   */
  failed(error: unknown): void {
    const { cancelled, once } = this.wish;
    if (error instanceof UnavailableError && !cancelled && !once) this.line.fail(error);
    else this.line.wake();
  }

  sleep(awake: () => void): void {
    const { waiter } = this.wish;
    this.#hasBegun = true;
    if (handsOver(this.lock)) this.#heir ??= new Heir(this.part.stay, this.wish);
    waiter.heir = this.#heir;
    if (this.line.head === waiter) this.line.watch();
    waiter.sleep(awake);
  }

  taken(): TakenHold | undefined {
    const hold = this.#heir?.hold;
    return hold && { hold, by: "hand-off" };
  }

  hasTold(waiter: Waiter): boolean {
    return this.line.answers.tell(waiter);
  }

  waitOn(waiter: Waiter, ms: number): boolean {
    return this.line.waitOn(waiter, ms);
  }

  /** Records the holder that was seen last, for the error of a call that has waited in vain. */
  over(): void {
    const { sighting } = this.line;
    if (sighting === undefined) return;
    this.wish.obstacle = { ...sighting, own: this.lock.client.holdsAs(sighting.holder) };
  }

  /** Tells the calls behind this call how this call ended. In a shared lock, they may enter now; in any other, they learn the new TTL. */
  leave(byAnswer: boolean): void {
    const { waiter } = this.wish;
    waiter.heir = undefined;
    if (byAnswer && this.line.length > 1) {
      const { stay, wish } = this.part;
      if (this.lock.kind.shared) this.line.wake();
      else this.line.seenHeld({ holder: stay.field, ttlMs: wish.terms.leaseMs });
    }
    const wasNapping = waiter.naps && !byAnswer && this.line.head === waiter;
    this.lock.client.lines.leave(this.line, waiter);
    // The client may have no place in the queue yet. The next call would then miss the release, so it is woken and asks for a place.
    if (wasNapping) this.line.wake();
    const hasEntered = byAnswer || this.#heir?.hold !== undefined;
    if (!hasEntered && this.line.hasQueue) leaveQueue(this.lock);
  }
}
