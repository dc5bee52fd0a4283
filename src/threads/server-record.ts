import { invariant } from "../invariant.js";
import type { Deadline } from "../runtime/deadline.js";
import type { ServerClock } from "../runtime/server-clocks.js";
import { Turns } from "./turns.js";
import type { Lowered, Step, WantedRecord } from "./wanted.js";

/** So long after a lease no copy of a command is under way any more. */
const COPIES_MS = 60_000;

/** What a release was answered; `late` changes nothing and is no answer. */
type ReleaseStatus = "released" | "absent" | "miscounted" | "wrong-type";

/**
 * What Redis has, or may have, of a stay. Commands may be lost, doubled or late, so that the stored count is known as an
 * interval only: it is between `lowestCount` and `highestCount` unless it was removed from outside (by force, or by its TTL). Pure: it gets
 * told what was sent and answered, and says what to send next.
 *
 * A stored count that no live hold stands for is *tainted*: its acquisition was cancelled, answered too late or lost. Nothing is
 * asked for under the same field before it is gone, since the answer `held` would then be about the older acquisition.
 *
 * A stay that hands its lock over gives its record to the next stay: the record then also says which of their fields Redis may have.
 * @see docs/internals/states.md#what-redis-has-of-a-stay
 */
export class ServerRecord extends Turns {
  /** The hold count that Redis has, or is to have by the release under way. Lost holds are in it until the next release. */
  #count = 0;
  /** The count that Redis has at least, while the lease lasts. */
  #lowest = 0;
  /** The count that Redis may have at most: above `#count` while a command that lowers it may have been lost. */
  #highest = 0;
  /** How often releases have lowered the count, each for all holds that were being released by then. */
  #lowerings = 0;
  /** When this client removed the field by force, on the monotonic clock: what was acquired before is gone as well. */
  #freedMs = 0;
  /** Until then, copies of commands with an unknown outcome may arrive; undefined: none can. */
  #copiesUntil: Deadline | undefined;
  /** The shortest TTL that such copies may write. */
  #copiesTtlMs = Number.POSITIVE_INFINITY;
  /** The longest lease that was ever asked for: nothing in Redis lives longer without this client. */
  #longestLeaseMs = 0;
  /** On the monotonic clock: from then on nothing can be there. */
  #outlivedMs: number | undefined;
  /** Whether a copy may arrive that lowers the count: it would take away what is asked for meanwhile. */
  mayBeLowered = false;
  /** For how long the key is to stay when the last hold is released; 0: the lock is freed. */
  keepForMs = 0;
  /** The hold count that replicas may have, as they miss the latest release; 0: they miss nothing. */
  #missed = 0;
  /** Whether the field may stand in the queue of a fair lock, from where it may be given the lock. */
  #isQueued = false;
  /** Redis has one of these fields; undefined: the stay's own, or none. */
  #names: readonly string[] | undefined;
  /** Whether a command is to free all names, as no holder of the chain is left. */
  #namesAreLeft = false;
  /** The {@link Reconciler} of locks/ that brings Redis to what is wanted; undefined while nothing is left to do. */
  reconciler: object | undefined;

  get count(): number {
    return this.#count;
  }

  get lowestCount(): number {
    return this.#lowest;
  }

  /** The hold count that Redis may have at most: a command that lowers it may have been lost. */
  get highestCount(): number {
    return this.#namesAreLeft ? 1 : Math.max(this.#highest, this.#missed);
  }

  get lowerings(): number {
    return this.#lowerings;
  }

  get freedMs(): number {
    return this.#freedMs;
  }

  /** Until then, copies of commands with an unknown outcome may arrive; 0: none can. On the clock of the server that answered last. */
  get copiesUntilMs(): number {
    return this.#copiesUntil?.ms ?? 0;
  }

  /** The shortest TTL that copies may write while {@link copiesUntilMs} has not passed: a longer lease may be shortened to it. */
  get copiesTtlMs(): number {
    return this.#copiesTtlMs;
  }

  get longestLeaseMs(): number {
    return this.#longestLeaseMs;
  }

  /** True when something may be there. */
  get isPossible(): boolean {
    return this.#count > 0 || this.#copiesUntil !== undefined;
  }

  /** True when Redis may have more than it is to have, now or later: a copy may arrive, or the field may be given the lock in a queue. */
  get isDoubtful(): boolean {
    return this.#highest > this.#count || this.#isQueued || this.#copiesUntil !== undefined;
  }

  /** True once nothing can be there any more, unless something was asked for since. */
  isOutlived(nowMs: number): boolean {
    return this.#outlivedMs !== undefined && nowMs > this.#outlivedMs;
  }

  /** False from a hand-over until the client has the answer that Redis has the latest holder's field, or that holder has left. */
  get isNamed(): boolean {
    return this.#names === undefined || this.#namesAreLeft;
  }

  /** Whether replicas may miss the latest release. */
  get isShort(): boolean {
    return this.#missed > 0;
  }

  /** The fields of which Redis may have one. @param field the stay's own */
  names(field: string): readonly string[] {
    return this.#names === undefined ? [field] : [...new Set([...this.#names, field])];
  }

  /**
   * What is to be sent so that Redis has what is wanted. One command is under way at a time, except for a last release, which may overtake a
   * naming.
   */
  next({ holds, releases, goesOn }: WantedRecord): Step {
    const isLeft = holds.length === 0 && releases === 0;
    if (this.#names !== undefined) {
      if (this.#namesAreLeft || isLeft) return { does: "free-names" };
      // The release that is under way frees all names.
      return { does: holds.length === 0 ? "nothing" : "name" };
    }
    const keptCount = isLeft ? 0 : this.#count;
    const isLeftOver = this.#count > keptCount;
    // Replicas hear of a stay that goes on by what is sent next.
    const isToTell = this.#missed > 0 && keptCount === 0 && !goesOn;
    const isToWrite = holds.some(({ lacksLease }) => lacksLease);
    const isToRelease = isLeftOver || this.isDoubtful || isToTell || isToWrite;
    return isToRelease ? { does: "release", ...this.lowered(keptCount, goesOn) } : { does: "nothing" };
  }

  /**
   * How a release lowers the count. A late copy of one that deletes a field does no harm if the field is never used again. A release that
   * is sent while copies may arrive asks for the server's time, by which they are known to be too late.
   * @param goesOn whether something is asked for under the same field afterwards
   */
  lowered(keptCount: number, goesOn: boolean): Lowered {
    const limited = goesOn || keptCount > 0 || this.#copiesUntil !== undefined;
    return { heldCount: Math.max(this.#highest, this.#missed, keptCount, 1), keptCount, limited };
  }

  /** An acquisition is about to be sent. @param leaseMs its lease */
  asking(leaseMs: number): void {
    this.#longestLeaseMs = Math.max(this.#longestLeaseMs, leaseMs);
    this.#highest = Math.max(this.#highest, this.#count + 1);
  }

  /**
   * The acquisition was answered that it changed nothing.
   * @param isProof whether no earlier copy can have changed anything either: `late` says nothing about one that was in time
   */
  refused(isProof: boolean): void {
    if (isProof && this.#copiesUntil === undefined && !this.#isQueued) this.#highest = this.#count;
  }

  /** The acquisition was answered that the field stands in the queue of a fair lock. */
  queued(): void {
    this.#isQueued = true;
  }

  /** A hold is believed from now on: its acquisition was answered in time, or another client has given it the lock. */
  entered(): void {
    this.#count += 1;
    this.#lowest = this.#count;
    this.#highest = Math.max(this.#highest, this.#missed, this.#count);
    this.#isQueued = false;
    this.#missed = 0;
  }

  /** A hold's lease is about to be set anew. */
  extends(leaseMs: number): void {
    this.#longestLeaseMs = Math.max(this.#longestLeaseMs, leaseMs);
  }

  /** The last hold is about to be released, and the key is to stay for so long. Until Redis has done that, each release does it. */
  keepsFor(ms: number): void {
    this.keepForMs = ms;
  }

  /** The count is to be `keptCount` from now on, whatever becomes of the command that is sent for it. */
  lowers(keptCount: number): void {
    invariant(keptCount >= 0 && keptCount <= this.#count, "a release would raise the hold count");
    this.#count = keptCount;
    this.#lowest = Math.min(this.#lowest, keptCount);
    this.#lowerings += 1;
  }

  /** A release to 0 was refused, or not even sent: Redis has what it had. */
  keeps(count: number): void {
    this.#count = count;
  }

  /** A release was answered. @param isShort whether too few replicas have it */
  released(keptCount: number, status: ReleaseStatus, isShort: boolean): void {
    const isGone = status === "absent" || status === "wrong-type";
    const left = isGone ? 0 : keptCount;
    this.#missed = isShort ? Math.max(this.#highest, this.#missed, 1) : 0;
    this.#lowest = Math.min(this.#lowest, left);
    // From now on only a copy of an acquisition can bring the field back, and that is freed at once.
    if (left === 0 && !isShort) this.keepForMs = 0;
    if (this.#copiesUntil !== undefined) return;
    if (left === 0) this.#isQueued = false;
    this.#highest = left;
  }

  /** Redis was found to have nothing of what it was to have. */
  gone(): void {
    this.#count = 0;
    this.#lowest = 0;
  }

  /** A force-unlock of this client has removed the field. @param nowMs on the monotonic clock */
  forced(nowMs: number): void {
    this.#freedMs = nowMs;
    this.#lowest = 0;
  }

  /**
   * A command has an unknown outcome, or may have been sent twice.
   * @param deadline its own
   * @param ttlMs the shortest TTL that it may write in the place of a longer one. Default: it writes none
   * @param lowers whether it lowers the count
   */
  copyMayArrive(deadline: Deadline, ttlMs: number = Number.POSITIVE_INFINITY, lowers = false): void {
    this.#copiesUntil = deadline.orLater(this.#copiesUntil);
    this.#copiesTtlMs = Math.min(this.#copiesTtlMs, ttlMs);
    this.mayBeLowered ||= lowers;
  }

  /** A server's clock has been seen. @param clock undefined when it is not known which server's */
  seenServer(clock: ServerClock | undefined, serverMs: number): void {
    if (this.#copiesUntil === undefined || clock === undefined) return;
    const until = this.#copiesUntil.on(clock, serverMs);
    this.#copiesUntil = serverMs > until.ms ? undefined : until;
    if (this.#copiesUntil === undefined) this.#noCopies();
  }

  /** Nothing is asked for any more for now. @param nowMs on the monotonic clock */
  rests(nowMs: number): void {
    this.#outlivedMs = nowMs + this.#longestLeaseMs + COPIES_MS;
  }

  /** There is surely nothing any more. */
  empty(): void {
    this.#count = 0;
    this.#lowest = 0;
    this.#highest = 0;
    this.#noCopies();
    this.keepForMs = 0;
  }

  #noCopies(): void {
    this.#copiesUntil = undefined;
    this.#copiesTtlMs = Number.POSITIVE_INFINITY;
    this.mayBeLowered = false;
  }

  /**
   * The lock has passed to another stay, which this record belongs to from now on. Redis still has a field of the stay before it.
   * @param field of the stay before
   * @param leaseMs of the new holder
   */
  handedOver(field: string, leaseMs: number): void {
    this.#longestLeaseMs = Math.max(this.#longestLeaseMs, leaseMs);
    if (this.#names === undefined) this.beginTurn();
    this.#names ??= [field];
  }

  /** A command is sent that names the latest holder. @returns the fields that it replaces */
  naming(field: string): readonly string[] {
    const predecessors = this.names(field).filter((name) => name !== field);
    this.#names = [...predecessors, field];
    return predecessors;
  }

  /** Redis has the field that was sent last. @param isLatest whether it is still that of the latest holder */
  named(field: string, isLatest: boolean): void {
    this.#names = isLatest ? undefined : [field];
  }

  /** The holders of a chain have left without a command that frees their fields. What is asked for meanwhile finds the count 0. */
  namesLeft(): void {
    this.#namesAreLeft = true;
    this.#count = 0;
    this.#lowest = 0;
    this.#highest = 0;
  }

  /** Redis has none of the names any more. @param isShort whether too few replicas have their release */
  namesFreed(isShort: boolean): void {
    this.namesLeft();
    this.#names = undefined;
    this.#namesAreLeft = false;
    this.#missed = Number(isShort);
    if (!isShort) this.keepForMs = 0;
  }
}
