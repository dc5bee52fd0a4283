import type { Clock } from "../clock.js";
import type { LeaseLostError, LossReason } from "../errors.js";
import { events } from "../events.js";
import type { ExpiryAlarms } from "../runtime/expiry-alarms.js";
import type { Instant } from "../runtime/instant.js";
import type { Waiter } from "../runtime/waiter.js";
import type { Renewable, Watchdog } from "../runtime/watchdog.js";
import { Hold, type Terms, trustEnd } from "./hold.js";
import type { Thread } from "./thread.js";

/** What a holding needs of its client. */
export interface Custody {
  readonly clock: Clock;
  readonly alarms: ExpiryAlarms;
  readonly watchdog: Watchdog;
  /** Is told each time that a holding may be over; harmless twice. */
  over(holding: Holding): void;
}

/** The lock that is held. */
export interface Held {
  /** The name that the program uses. */
  readonly name: string;
  /** The key in Redis. */
  readonly key: string;
  /** Where its waiters listen. */
  readonly channel: string;
  readonly kind: { readonly name: string };
}

/**
 * One stay of a thread in a lock, from its outermost acquisition to the release of its last hold: one field in Redis,
 * under a number that no other stay ever has, so that a late copy of an old command touches nothing new.
 */
export class Holding implements Renewable {
  readonly thread: Thread;
  readonly lock: Held;
  readonly threadId: number;
  readonly field: string;
  /** The hold count that Redis has or is to have. Holds that were lost are in it until the next release. */
  storedCount = 0;
  /** On the server's clock: until then, copies of commands with an unknown outcome may arrive. 0: none can. */
  #copiesUntilMs = 0;
  /** The longest lease that was ever asked for: nothing in Redis lives longer without us. */
  #longestLeaseMs = 0;
  readonly #custody: Custody;
  readonly #live: Hold[] = [];
  #loss: LeaseLostError | undefined;
  /** How many commands that change the field are under way or may still arrive. */
  #underWay = 0;
  /** Who wants to enter once more, in order of arrival, and whether it may as far as others are concerned. */
  readonly #line = new Map<Waiter, () => boolean>();
  #turn: Promise<unknown> | undefined;

  constructor(thread: Thread, lock: Held, id: { threadId: number; field: string }, custody: Custody) {
    this.thread = thread;
    this.lock = lock;
    this.threadId = id.threadId;
    this.field = id.field;
    this.#custody = custody;
  }

  get key(): string {
    return this.lock.key;
  }

  /** The holds that are neither released nor lost, in order of acquisition. */
  get live(): readonly Hold[] {
    for (const hold of [...this.#live]) hold.checkMs();
    return this.#live;
  }

  get innermost(): Hold | undefined {
    return this.live.at(-1);
  }

  /** True when nothing of the stay is left, neither here nor under way to Redis. */
  get isOver(): boolean {
    return this.#underWay === 0 && this.live.length === 0;
  }

  /** To be called before a command that changes the field; the stay is not over before `settled`. */
  unsettled(): void {
    this.#underWay += 1;
  }

  settled(): void {
    this.#underWay -= 1;
    this.#changed();
  }

  get copiesUntilMs(): number {
    return this.#copiesUntilMs;
  }

  get longestLeaseMs(): number {
    return this.#longestLeaseMs;
  }

  /** @param leaseMs of an acquisition that is about to be sent */
  asking(leaseMs: number): void {
    this.#longestLeaseMs = Math.max(this.#longestLeaseMs, leaseMs);
  }

  /** A command has an unknown outcome, or may have been sent twice. @param notAfterMs its deadline */
  copyMayArrive(notAfterMs: number): void {
    this.#copiesUntilMs = Math.max(this.#copiesUntilMs, notAfterMs);
  }

  /** The server's clock has been seen. */
  seenServer(serverMs: number): void {
    if (serverMs > this.#copiesUntilMs) this.#copiesUntilMs = 0;
  }

  /** Records an acquisition that Redis has confirmed. @returns undefined when its lease is over already */
  add(terms: Terms, takenAt: Instant, bare: boolean): Hold | undefined {
    const { clock, alarms, watchdog } = this.#custody;
    const { monotonicMs, wallMs } = takenAt;
    if (trustEnd(terms, monotonicMs, monotonicMs) <= clock.monotonicMs()) return undefined;
    if (trustEnd(terms, wallMs, wallMs) <= clock.wallMs()) return undefined;
    const place = { holdCount: this.live.length + 1, bare, takenAt };
    const hold = new Hold(this, terms, place, clock, alarms);
    this.#live.push(hold);
    if (terms.renewed) {
      // The same write has raised the TTL for the holds around this one.
      this.renewed(takenAt);
      watchdog.add(this);
    }
    return hold;
  }

  /** Takes a hold off the live ones. No renewal will tell it anything any more. */
  remove(hold: Hold): void {
    const at = this.#live.indexOf(hold);
    if (at < 0) return;
    this.#live.splice(at, 1);
    if (!this.#live.some(({ terms }) => terms.renewed)) this.#custody.watchdog.remove(this);
    this.#changed();
  }

  /**
   * The TTL that the key must have for the holds that stay, in whole milliseconds of at least 1. With none left the next
   * command frees the lock; until then it must not fall by itself, or that command would find the hold gone.
   */
  neededMs(): number {
    const { live } = this;
    if (live.length === 0) return Math.max(1, this.#longestLeaseMs);
    return Math.max(1, ...live.map((hold) => Math.ceil(hold.neededMs())));
  }

  isAlive(): boolean {
    return this.live.some(({ terms }) => terms.renewed);
  }

  renewed(sentAt: Instant): void {
    for (const hold of [...this.#live]) if (hold.terms.renewed) hold.extend(sentAt);
  }

  renewing(): void {
    for (const hold of this.#live) if (hold.terms.renewed) hold.renewing();
  }

  gone(taken: boolean): void {
    this.loseAll(taken ? "stolen" : "expired");
  }

  loseAll(reason: LossReason): void {
    for (const hold of [...this.#live]) hold.lose(reason);
  }

  /** Why the latest hold was lost. */
  get loss(): LeaseLostError | undefined {
    return this.#loss;
  }

  /** A hold tells that it is lost. */
  lost(hold: Hold, loss: LeaseLostError): void {
    this.#loss = loss;
    this.remove(hold);
    if (!events.leaseLost.hasSubscribers) return;
    const { name, kind } = this.lock;
    const { reason, heldMs } = loss;
    events.leaseLost.publish({ name, kind: kind.name, holder: this.field, reason, heldMs });
  }

  /**
   * Stands in line to enter once more, until nothing is under way, `mayEnter` is true and nobody who came earlier may.
   * What `mayEnter` throws ends the standing. The one who entered has to call `settled` afterwards.
   * @returns false when the waiter's time was up
   */
  async enterInTurn(mayEnter: () => boolean, waiter: Waiter): Promise<boolean> {
    this.#line.set(waiter, mayEnter);
    try {
      for (;;) {
        if (mayEnter() && this.#underWay === 0 && this.#isFirstOf(waiter)) {
          this.unsettled();
          return true;
        }
        if (waiter.over) return false;
        // A hold that ends by itself is to wake the line, too.
        for (const hold of this.#live) hold.watch();
        await waiter.pause();
      }
    } finally {
      this.#line.delete(waiter);
      this.#changed();
    }
  }

  /** Whoever waits for a body to end may not hold up that body's own calls, and so is passed. */
  #isFirstOf(waiter: Waiter): boolean {
    for (const [earlier, mayEnter] of this.#line) {
      if (earlier === waiter) return true;
      if (!earlier.over && isTrue(mayEnter)) return false;
    }
    return true;
  }

  /** Runs commands of this holding one after the other, so that each knows the hold count before it. */
  async inTurn<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#turn;
    const mine = before === undefined ? work() : before.then(work, work);
    this.#turn = mine;
    try {
      return await mine;
    } finally {
      if (this.#turn === mine) this.#turn = undefined;
    }
  }

  #changed(): void {
    if (this.isOver) this.#custody.over(this);
    for (const waiter of this.#line.keys()) waiter.wake();
  }
}

/** One that throws is about to leave the line. */
function isTrue(mayEnter: () => boolean): boolean {
  try {
    return mayEnter();
  } catch {
    return false;
  }
}
