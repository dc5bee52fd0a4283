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
/** One empty set for all stays, because hardly any stay has guests or companions. */
const NOBODY: ReadonlySet<Stay> = new Set();
const NO_HOLDS: Hold[] = [];

/** Tells calls whose time is up whether the lock or the permits that they want are taken. */
export interface Telling {
  /** Whether Redis has answered another waiting call, which asked after this call began, that the lock is taken. */
  hasTold(waiter: Waiter): boolean;
  /** Lets a call that has no answer yet wait this long for one. @returns false if the call cannot wait */
  waitOn(waiter: Waiter, ms: number): boolean;
}

/**
 * One stay of a thread in a lock, from its outermost acquisition to the release of its last hold. A stay has one field in Redis. A thread
 * number that the client made belongs to no other stay, so that a late copy of an old command cannot change a later stay.
 * @see docs/internals/states.md#a-stay
 */
export class Stay extends RenewedStay {
  readonly thread: Thread<Stay>;
  readonly lock: Held;
  readonly threadId: number;
  readonly field: string;
  /** What Redis has of the stay. A stay that hands its lock over gives its record to the next stay. */
  inRedis: ServerRecord = new ServerRecord();
  /** Whether a call is acquiring the first hold of the stay. */
  isBeginning = false;
  /**
   * How the call that acquires the first hold waits; the calls behind it learn from this whether the lock is taken. Undefined if the first
   * call asks only once.
   */
  waitsBy: Telling | undefined;
  /** How many holds of the stay are being released. */
  releases = 0;
  /** How many calls have their turn to re-enter the stay. Calls that have no turn yet wait in `#line`. */
  entering = 0;
  /** The shortest lease that a further renewed hold may have, because the watchdog keeps its period and writes one TTL for all holds. */
  leastLeaseMs = 0;
  /** The watchdog that will renew the stay once Redis has the stay's field. Until then, Redis has a field of another stay. */
  #watchdogOnceNamed: Watchdog | undefined;
  /** The hand-overs that brought the lock to this stay; undefined if a command acquired the lock. */
  chain: Chain | undefined;
  /** The stays of the same joint lease, in any client: a program names them all by the thread id of one. */
  companions: ReadonlySet<Stay> = NOBODY;
  readonly #custody: Custody<Stay>;
  /**
   * The write stay beside which this read stay began. That stay lists this one in `#guests`; each of the two wakes the calls that wait to
   * re-enter the other.
   */
  readonly #host: Stay | undefined;
  #guests: Set<Stay> | undefined;
  /** The live holds, the outermost first. */
  #live: Hold[] = NO_HOLDS;
  /** Why the latest hold was lost. */
  loss: LeaseLostError | undefined;
  /** How many commands that change the field are under way or may still arrive. Begins at 1, because a stay begins with its acquisition. */
  #underWay = 1;
  #line: EntryLine | undefined;
  /**
   * Counts holds that have ended or got another number: the answer to a command that was sent before such a change may be about an ended
   * hold.
   */
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

  /** The live holds of this stay, of the read stays beside it, and of the write stay beside which it began. */
  company(): readonly Hold[] {
    const { live } = this;
    if (this.#guests === undefined && this.#host === undefined) return live;
    const guests = [...(this.#guests ?? NOBODY)].flatMap((guest) => guest.live);
    return [...live, ...guests, ...(this.#host?.live ?? NO_HOLDS)];
  }

  get innermost(): Hold | undefined {
    return this.live.at(-1);
  }

  /** True if the stay has no holds, and no command is under way. */
  get isIdle(): boolean {
    return this.#underWay === 0 && this.live.length === 0;
  }

  /** True once Redis can have nothing of an idle stay any more. */
  get isOutlived(): boolean {
    return this.isIdle && this.inRedis.isOutlived(this.#custody.clock.monotonicMs());
  }

  /** True if this live hold is the only one, here and in Redis, and its release ends the stay for good. */
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
   * Called before a command that changes the field: the stay does not end before `settled`.
   * @param enters whether a call has its turn to re-enter the stay
   */
  unsettled(enters = false): void {
    this.#underWay += 1;
    if (enters) this.entering += 1;
  }

  /** @param entered whether this ends the turn of a call that wanted to re-enter */
  settled(entered = false): void {
    this.#underWay -= 1;
    if (entered) this.entering -= 1;
    invariant(this.#underWay >= this.releases && this.releases >= 0, "a stay has settled more than it began");
    this.#changed();
  }

  /** Records a hold that Redis has confirmed. @returns undefined if the hold has ended by `at` */
  add(terms: Terms, place: HoldOrigin, at: Instant = now(this.#custody.clock)): Hold | undefined {
    if (place.takenAt.monotonicMs < this.inRedis.freedMs) return undefined;
    const hold = new HoldOf<Stay>(this, terms, place, this.#custody, at);
    // The answer may come after the lease is over.
    if (hold.believedMs(at) === 0) return undefined;
    hold.slot = this.inRedis.count + 1;
    // Most stays have only one hold; a growable list would be larger.
    if (this.#live.length === 0) {
      this.#live = [hold];
      this.#custody.occupancy.entered(this.lock.id);
    } else this.#live.push(hold);
    // The write that acquired this hold has also raised the TTL for the holds around it.
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

  /** Redis now has the field of this stay, with a lease that was requested at `sentAt`. */
  named(sentAt: Instant): void {
    for (const hold of this.live) {
      hold.confirmed(sentAt);
      if (this.needsRenewal(hold)) this.#watchdogOnceNamed?.add(this);
    }
  }

  get fields(): readonly string[] {
    return this.inRedis.names(this.field);
  }

  /** Removes a hold from the live holds, so that no renewal includes it any more. */
  remove(hold: Hold): void {
    const at = this.#live.indexOf(hold);
    if (at < 0) return;
    this.#live.splice(at, 1);
    if (this.#live.length === 0) this.#custody.occupancy.left(this.lock.id);
    this.changes += 1;
    this.lapsing();
    this.#changed();
  }

  /** Called when one of the holds must not be kept alive any more. */
  lapsing(): void {
    if (this.#live.length > 0 && this.isAlive()) return;
    this.watchdog?.remove(this);
    this.leastLeaseMs = 0;
  }

  /** What Redis should have of the stay. @param goesOn whether a call will ask for the lock again under the same field */
  wanted(goesOn: boolean): WantedRecord {
    const holds = this.live;
    const isReused = this.thread.explicitId !== undefined;
    return { holds, releases: this.releases, goesOn: goesOn || holds.length > 0 || isReused };
  }

  /** Numbers the live holds without gaps. @returns their number: the hold count that Redis should keep */
  keepLive(): number {
    this.changes += 1;
    const { live } = this;
    for (const [at, hold] of live.entries()) hold.slot = at + 1;
    return live.length;
  }

  /**
   * The TTL that the key must have for these holds. If no hold is left, the next command frees the lock, and the key must not expire before
   * that.
   */
  neededMs(live: readonly Pick<Hold, "neededMs">[] = this.live): number {
    if (live.length === 0) return Math.max(1, this.inRedis.longestLeaseMs);
    return live.reduce((ms, hold) => Math.max(ms, Math.ceil(hold.neededMs())), 1);
  }

  /**
   * How long Redis must keep each of the first `count` holds. A hold that is being released is kept as if no hold were left, see {@link
   * neededMs}.
   */
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
   * A command has found that Redis has nothing of the stay. A release that waits behind that command must find this too, to tell its
   * caller.
   * @param releases how many releases of the stay already know this
   */
  wasGone(releases: number): void {
    this.loseAll("stolen");
    if (this.releases <= releases) this.inRedis.gone();
  }

  /** Called by a hold when it is lost. */
  lost(hold: Hold, loss: LeaseLostError): void {
    const holdCount = this.#live.length;
    const { reason, heldMs } = loss;
    this.loss = loss;
    this.remove(hold);
    this.#custody.tellLoss({ key: this.key, kind: this.lock.kind.name }, reason);
    if (events.leaseLost.hasSubscribers)
      events.leaseLost.publish({ ...hold.about, reason, heldMs, holdCount });
  }

  /**
   * Puts the waiter into the line of calls that want to re-enter, and tells whether it is the waiter's turn: it may enter, no command is
   * under way, and no earlier waiter may enter. A waiter that enters must call {@link unsettled} first. The caller must call {@link
   * leaveEntryLine} when it stops waiting.
   * @throws the errors of `mayEnter`
   */
  isTurnOf(waiter: Waiter, mayEnter: () => boolean): boolean {
    this.#line ??= new EntryLine();
    this.#line.add(waiter, mayEnter);
    return mayEnter() && this.#underWay === 0 && this.#line.isFirst(waiter);
  }

  /** How many calls came before a call that waits to re-enter. */
  before(waiter: Waiter): number {
    return this.#line?.before(waiter) ?? 0;
  }

  /** Sets alarms, so that the end of a hold also wakes the calls that wait to re-enter. */
  watchCompany(): void {
    for (const hold of this.company()) hold.watch();
  }

  leaveEntryLine(waiter: Waiter): void {
    this.#line?.remove(waiter);
    this.#changed();
  }

  /** Called after a change. Checks no clock: if a hold is later found to have expired, the stay changes again. */
  #changed(): void {
    const host = this.#host;
    if (this.#underWay === 0 && this.#live.length === 0) {
      // The next stay under the same chosen id has the same field, so this stay does not end while Redis may have something of it.
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
