import type { LeaseLostError, LossReason } from "../errors.js";
import { events } from "../events.js";
import { invariant } from "../invariant.js";
import { type Instant, now } from "../runtime/instant.js";
import type { Waiter } from "../runtime/waiter.js";
import type { Watchdog } from "../runtime/watchdog.js";
import { bySlot, NO_VALUES } from "./by-slot.js";
import type { Chain } from "./chain.js";
import type { Custody } from "./custody.js";
import { EntryLine } from "./entry-line.js";
import type { Held } from "./held.js";
import { HoldOf, type HoldOrigin } from "./hold.js";
import { RenewedStay } from "./renewed-stay.js";
import { ServerRecord } from "./server-record.js";
import type { Terms } from "./terms.js";
import type { Thread } from "./thread.js";
import type { WantedRecord } from "./wanted.js";

/** One acquisition of a lock. */
export type Hold = HoldOf<Stay>;
/** Shared, as hardly any stay ever has any. */
const NOBODY: ReadonlySet<Stay> = new Set();
const NO_HOLDS: Hold[] = [];

/** Tells calls whose time is up whether what they want is taken. */
export interface Telling {
  /** Whether Redis has told others for the call, since it began, that the lock is taken. */
  hasTold(waiter: Waiter): boolean;
  /** Nothing has told: the call waits on for so long, until something does. @returns false where it can not */
  waitOn(waiter: Waiter, ms: number): boolean;
}

/**
 * One stay of a thread in a lock, from its outermost acquisition to the release of its last hold: one field in Redis,
 * under a number that no other stay ever has, so that a late copy of an old command touches nothing new.
 * @see docs/internals/states.md#a-stay
 */
export class Stay extends RenewedStay {
  readonly thread: Thread<Stay>;
  readonly lock: Held;
  readonly threadId: number;
  readonly field: string;
  /** What Redis has of it. A stay that hands its lock over gives its record to the next one. */
  inRedis: ServerRecord = new ServerRecord();
  /** Whether a call is acquiring its first hold. */
  isBeginning = false;
  /** How that call waits, which may tell those that wait for their turn behind it; undefined: it asks once. */
  waitsBy: Telling | undefined;
  /** How many of its holds are being released. */
  releases = 0;
  /** How many calls have their turn to enter it once more. Those before their turn wait in `#line`. */
  entering = 0;
  /** The lease that a further renewed hold needs: the watchdog keeps its beat, and one TTL is written for all holds. */
  leastLeaseMs = 0;
  /** Renews it once it is named: before, Redis has a field of another stay. */
  #watchdogOnceNamed: Watchdog | undefined;
  /** The hand-overs that have brought the lock here; undefined where it was acquired by a command. */
  chain: Chain | undefined;
  /** The stays of the same joint lease, of any client: the id of one stands for all. */
  companions: ReadonlySet<Stay> = NOBODY;
  readonly #custody: Custody<Stay>;
  /** The write stay beside which this read stay began, as one of its `#guests`: they wake each other's lines. */
  readonly #host: Stay | undefined;
  #guests: Set<Stay> | undefined;
  /** The live holds, the outermost first. */
  #live: Hold[] = NO_HOLDS;
  /** Why the latest hold was lost. */
  loss: LeaseLostError | undefined;
  /** How many commands that change the field are under way or may still arrive. A stay begins with its acquisition. */
  #underWay = 1;
  #line: EntryLine | undefined;
  /** Counts holds that have ended: an answer that was asked for before such an end may be about that hold. */
  changes = 0;

  constructor(
    thread: Thread<Stay>,
    lock: Held,
    id: { readonly threadId: number; readonly field: string; readonly host: Stay | undefined },
    custody: Custody<Stay>,
  ) {
    super();
    this.thread = thread;
    this.lock = lock;
    this.threadId = id.threadId;
    this.field = id.field;
    this.#custody = custody;
    this.#host = id.host;
    if (id.host === undefined) return;
    id.host.#guests ??= new Set();
    id.host.#guests.add(this);
  }

  get live(): readonly Hold[] {
    return this.#live.length === 0 ? this.#live : this.each((hold) => hold.checkMs());
  }

  get held(): readonly Hold[] {
    return this.#live;
  }

  protected each(act: (hold: Hold) => void): readonly Hold[] {
    const live = this.#live;
    for (const hold of live.length > 1 ? [...live] : live) act(hold);
    return live;
  }

  /** The live holds of this stay, of the read stays beside it, and of the write stay that it began beside. */
  company(): readonly Hold[] {
    const { live } = this;
    if (this.#guests === undefined && this.#host === undefined) return live;
    const guests = [...(this.#guests ?? NOBODY)].flatMap((guest) => guest.live);
    return [...live, ...guests, ...(this.#host?.live ?? NO_HOLDS)];
  }

  get innermost(): Hold | undefined {
    return this.live.at(-1);
  }

  /** True when it has no holds, and nothing is under way to Redis. */
  get isIdle(): boolean {
    return this.#underWay === 0 && this.live.length === 0;
  }

  /** True once Redis can have nothing of an idle stay any more. */
  get isOutlived(): boolean {
    return this.isIdle && this.inRedis.isOutlived(this.#custody.clock.monotonicMs());
  }

  /** True when a live hold is all that there is, here and in Redis, and its release ends the stay for good. */
  isAlone(hold: Hold): boolean {
    const live = this.#live;
    const { inRedis } = this;
    if (live.length !== 1 || live[0] !== hold || inRedis.count !== 1 || inRedis.copiesUntilMs > 0)
      return false;
    const isBusy = this.#underWay > 0 || (inRedis.isNamed ? inRedis.isChanging : inRedis.isAwaited);
    const isCompany = this.lock.kind.shared || this.#host !== undefined || this.#guests !== undefined;
    return !isBusy && !isCompany && this.thread.explicitId === undefined;
  }

  /**
   * To be called before a command that changes the field; the stay is not over before `settled`.
   * @param enters whether a call has its turn to enter the stay once more
   */
  unsettled(enters = false): void {
    this.#underWay += 1;
    if (enters) this.entering += 1;
  }

  /** @param entered whether it ends the turn of a call that was to enter */
  settled(entered = false): void {
    this.#underWay -= 1;
    if (entered) this.entering -= 1;
    invariant(this.#underWay >= this.releases && this.releases >= 0, "a stay has ended more than it began");
    this.#changed();
  }

  /** Records what Redis has confirmed. @returns undefined when it is over already, `at` this moment */
  add(terms: Terms, place: HoldOrigin, at: Instant = now(this.#custody.clock)): Hold | undefined {
    if (place.takenAt.monotonicMs < this.inRedis.freedMs) return undefined;
    const hold = new HoldOf<Stay>(this, terms, place, this.#custody, at);
    // Its answer may come when its lease is over already.
    if (hold.believedMs(at) === 0) return undefined;
    hold.slot = this.inRedis.count + 1;
    // Most stays have one, for which a list that may grow would be too large.
    if (this.#live.length === 0) {
      this.#live = [hold];
      this.#custody.occupancy.entered(this.lock.id);
    } else this.#live.push(hold);
    // The same write has raised the TTL for the holds around this one.
    const raisesAll = this.#live.length > 1 && terms.renewed && !this.lock.kind.shared;
    if (raisesAll && place.until === undefined) this.renewed(place.takenAt, at);
    if (this.needsRenewal(hold)) {
      const { usual } = this.#custody.watchdogs;
      const { watchdogMs: ms, leaseMs } = terms;
      const watchdog = this.watchdog ?? (ms === undefined ? usual : this.#custody.watchdogs.of(ms));
      this.leastLeaseMs = Math.max(this.leastLeaseMs, terms.renewed ? leaseMs : watchdog.leaseMs);
      if (place.unnamed) this.#watchdogOnceNamed = watchdog;
      else watchdog.add(this);
    }
    hold.tellEnd();
    this.#custody.confirmations?.taken(this, place.takenAt);
    return hold;
  }

  /** Redis names it now, with a lease that was asked for at `sentAt`. */
  named(sentAt: Instant): void {
    for (const hold of this.live) {
      hold.confirmed(sentAt);
      if (this.needsRenewal(hold)) this.#watchdogOnceNamed?.add(this);
    }
  }

  get fields(): readonly string[] {
    return this.inRedis.names(this.field);
  }

  /** Takes a hold off the live ones. From here on no renewal concerns it. */
  remove(hold: Hold): void {
    const at = this.#live.indexOf(hold);
    if (at < 0) return;
    this.#live.splice(at, 1);
    if (this.#live.length === 0) this.#custody.occupancy.left(this.lock.id);
    this.changes += 1;
    this.lapsing();
    this.#changed();
  }

  /** One of the holds is not to be kept alive any more. */
  lapsing(): void {
    if (this.#live.length > 0 && this.isAlive()) return;
    this.watchdog?.remove(this);
    this.leastLeaseMs = 0;
  }

  /** What Redis is to have of it. @param goesOn whether something is asked for under the same field afterwards */
  wanted(goesOn: boolean): WantedRecord {
    const holds = this.live;
    const isReused = this.thread.explicitId !== undefined;
    return { holds, releases: this.releases, goesOn: goesOn || holds.length > 0 || isReused };
  }

  /** Numbers the live holds without gaps. @returns how many they are: the hold count that Redis is to keep */
  keepLive(): number {
    this.changes += 1;
    const { live } = this;
    for (const [at, hold] of live.entries()) hold.slot = at + 1;
    return live.length;
  }

  /** The TTL that the key must have for these holds. With none left the next command frees the lock: it must not fall before that. */
  neededMs(live: readonly Pick<Hold, "neededMs">[] = this.live): number {
    if (live.length === 0) return Math.max(1, this.inRedis.longestLeaseMs);
    return live.reduce((ms, hold) => Math.max(ms, Math.ceil(hold.neededMs())), 1);
  }

  /** For how long Redis must keep each of the first `count` holds. One that is being released is kept as in {@link neededMs}. */
  keptMs(count: number): readonly number[] {
    if (count === 0) return NO_VALUES;
    const restMs = this.releases > 0 ? this.neededMs([]) : 1;
    return bySlot(this.live, count, (hold) => Math.max(1, Math.ceil(hold?.neededMs() ?? restMs)));
  }

  get isChanging(): boolean {
    return this.#underWay > 0;
  }

  loseAll(reason: LossReason): void {
    for (const hold of [...this.#live]) hold.lose(reason);
  }

  /**
   * A command has found that Redis has nothing of it. A release that waits behind that command is to find the same, and so to tell its
   * caller.
   * @param releases how many of its releases know that already
   */
  wasGone(releases: number): void {
    this.loseAll("stolen");
    if (this.releases <= releases) this.inRedis.gone();
  }

  /** A hold tells that it is lost. */
  lost(hold: Hold, loss: LeaseLostError): void {
    const holdCount = this.#live.length;
    const { reason, heldMs } = loss;
    this.loss = loss;
    this.remove(hold);
    if (holdCount === 1 && this.lock.queues) this.lock.kind.leaveQueue?.(this.lock);
    this.#custody.tellLoss({ key: this.key, kind: this.lock.kind.name }, reason);
    if (events.leaseLost.hasSubscribers)
      events.leaseLost.publish({ ...hold.about, reason, heldMs, holdCount });
  }

  /**
   * Stands in line to enter once more, and asks whether it is the waiter's turn: no command is under way, and no earlier waiter may enter.
   * A waiter that enters is to call {@link unsettled} first. To be followed by {@link leaveEntryLine}.
   * @throws what `mayEnter` throws
   */
  isTurnOf(waiter: Waiter, mayEnter: () => boolean): boolean {
    this.#line ??= new EntryLine();
    this.#line.add(waiter, mayEnter);
    return mayEnter() && this.#underWay === 0 && this.#line.isFirst(waiter);
  }

  /** How many calls came before one that waits to enter once more. */
  before(waiter: Waiter): number {
    return this.#line?.before(waiter) ?? 0;
  }

  /** A hold that ends by itself wakes the line to enter as well. */
  watchCompany(): void {
    for (const hold of this.company()) hold.watch();
  }

  leaveEntryLine(waiter: Waiter): void {
    this.#line?.remove(waiter);
    this.#changed();
  }

  /** Looks at no clock: a hold that is found to have run out later changes the stay once more. */
  #changed(): void {
    const host = this.#host;
    if (this.#underWay === 0 && this.#live.length === 0) {
      // Under a chosen id, which the next stay has as well, it is not over while Redis may have something of it.
      if (this.thread.explicitId !== undefined && this.inRedis.isPossible) {
        this.inRedis.rests(this.#custody.clock.monotonicMs());
      } else {
        if (host !== undefined) host.#guests?.delete(this);
        this.#custody.over(this);
      }
    }
    this.#line?.wake();
    if (host !== undefined) host.#line?.wake();
    for (const guest of this.#guests ?? NOBODY) guest.#line?.wake();
  }
}
