import { invariant } from "../invariant.js";
import type { Deadline } from "../runtime/deadline.js";
import type { ServerClock } from "../runtime/server-clocks.js";
import { Turns } from "./turns.js";
import type { Lowered, Step, WantedRecord } from "./wanted.js";

/** No copy of a command is under way any more this long after the end of a lease. */
const COPIES_MS = 60_000;

/** The answers to a release, without `late`, which changes nothing. */
type ReleaseStatus = "released" | "absent" | "miscounted" | "wrong-type";

/**
 * What Redis has, or may have, of a stay. Commands may be lost, duplicated or late, so the stored count is known only as an interval: from
 * `lowestCount` to `highestCount`, unless the field was removed by force or by the TTL. The record does no I/O: its methods record what was
 * sent and answered, and `next` says what to send next.
 *
 * A stored count without a live hold is *tainted*: its acquisition was cancelled, answered too late or lost. No call acquires under the
 * same field before this count is gone, because the answer `held` could be about the older acquisition.
 *
 * A stay that hands its lock over gives its record to the next stay. The record then also knows which fields of these stays Redis may have.
 * @see docs/internals/states.md#what-redis-has-of-a-stay
 */
export class ServerRecord extends Turns {
  /** The hold count that Redis has, or will have after the release under way. Includes lost holds until the next release. */
  #count = 0;
  /** The lowest count that Redis may have, while the lease lasts. */
  #lowest = 0;
  /** The highest count that Redis may have: above `#count` while a command that lowers it may have been lost. */
  #highest = 0;
  /** How many times a release has lowered the count; one release covers all holds that are being released when it is sent. */
  #lowerings = 0;
  /** The time at which this client removed the field by force, on the monotonic clock: earlier acquisitions are gone as well. */
  #freedMs = 0;
  /** The time until which copies of commands with an unknown outcome may arrive; undefined: no copy can arrive. */
  #copiesUntil: Deadline | undefined;
  /** The shortest TTL that late copies may write. */
  #copiesTtlMs = Number.POSITIVE_INFINITY;
  /** The longest lease that was ever asked for: unless this client renews a lease, nothing in Redis lives longer. */
  #longestLeaseMs = 0;
  /** On the monotonic clock: after this time Redis can have nothing of the stay. */
  #outlivedMs: number | undefined;
  /** Whether a late copy may arrive that lowers the count: the copy would release a hold that was acquired meanwhile. */
  mayBeLowered = false;
  /** How long the key stays after the last hold is released; 0: the lock is freed. */
  keepForMs = 0;
  /** The hold count that replicas may have because they lack the latest release; 0: they lack nothing. */
  #missed = 0;
  /** Whether the field may be in the queue of a fair lock, where it may be granted the lock. */
  #isQueued = false;
  /** The fields of a chain, of which Redis has one; undefined: Redis has the stay's own field, or none. */
  #names: readonly string[] | undefined;
  /** Whether all fields of the chain must be freed, because the chain has no holder left. */
  #namesAreLeft = false;
  /** The {@link Reconciler} of locks/ that brings Redis to the wanted state; undefined while nothing is left to do. */
  reconciler: object | undefined;

  get count(): number {
    return this.#count;
  }

  get lowestCount(): number {
    return this.#lowest;
  }

  /** The highest hold count that Redis may have: a command that lowers it may have been lost. */
  get highestCount(): number {
    return this.#namesAreLeft ? 1 : Math.max(this.#highest, this.#missed);
  }

  get lowerings(): number {
    return this.#lowerings;
  }

  get freedMs(): number {
    return this.#freedMs;
  }

  /**
   * The time until which copies of commands with an unknown outcome may arrive, on the clock of the server that answered last; 0: no copy
   * can arrive.
   */
  get copiesUntilMs(): number {
    return this.#copiesUntil?.ms ?? 0;
  }

  /** The shortest TTL that copies may write before {@link copiesUntilMs}: a longer lease may be shortened to this TTL. */
  get copiesTtlMs(): number {
    return this.#copiesTtlMs;
  }

  get longestLeaseMs(): number {
    return this.#longestLeaseMs;
  }

  /** True if Redis may have something of the stay. */
  get isPossible(): boolean {
    return this.#count > 0 || this.#copiesUntil !== undefined;
  }

  /**
   * True if Redis may have more of the stay than it should, now or later: a copy may arrive, or the field may be granted the lock in a
   * queue.
   */
  get isDoubtful(): boolean {
    return this.#highest > this.#count || this.#isQueued || this.#copiesUntil !== undefined;
  }

  /** True once Redis can have nothing of the stay any more, unless a call has asked for the lock since. */
  isOutlived(nowMs: number): boolean {
    return this.#outlivedMs !== undefined && nowMs > this.#outlivedMs;
  }

  /** Whether Redis has the latest holder's field. False from a hand-over until an answer shows the field, or until this holder has left. */
  get isNamed(): boolean {
    return this.#names === undefined || this.#namesAreLeft;
  }

  /** Whether replicas may lack the latest release. */
  get isShort(): boolean {
    return this.#missed > 0;
  }

  /** The fields of which Redis may have one. @param field the field of the stay itself */
  names(field: string): readonly string[] {
    return this.#names === undefined ? [field] : [...new Set([...this.#names, field])];
  }

  /**
   * The next command that brings Redis to the wanted state. Only one command is under way at a time, with one exception: the last release
   * may overtake the command that writes the latest holder's field.
   */
  next({ holds, releases, goesOn }: WantedRecord): Step {
    const isLeft = holds.length === 0 && releases === 0;
    if (this.#names !== undefined) {
      if (this.#namesAreLeft || isLeft) return { does: "free-names" };
      // If the latest holder is being released, that release frees all fields.
      return { does: holds.length === 0 ? "nothing" : "name" };
    }
    const keptCount = isLeft ? 0 : this.#count;
    const isLeftOver = this.#count > keptCount;
    // If the stay sends another command, that command also brings replicas up to date.
    const isToTell = this.#missed > 0 && keptCount === 0 && !goesOn;
    const isToWrite = holds.some(({ lacksLease }) => lacksLease);
    const isToRelease = isLeftOver || this.isDoubtful || isToTell || isToWrite;
    return isToRelease ? { does: "release", ...this.lowered(keptCount, goesOn) } : { does: "nothing" };
  }

  /**
   * How a release lowers the count. A late copy of a release that deletes a field does no harm if the field is never used again. A release
   * that is sent while copies may arrive asks for the server's time, which shows whether copies may still arrive.
   * @param goesOn whether a call will ask for the lock again under the same field
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
   * The answer to the acquisition was that it changed nothing.
   * @param isProof whether the answer proves that no earlier copy has changed anything; `late` does not, because an earlier copy may have
   * been in time
   */
  refused(isProof: boolean): void {
    if (isProof && this.#copiesUntil === undefined && !this.#isQueued) this.#highest = this.#count;
  }

  /** The answer to the acquisition was that the field is in the queue of a fair lock. */
  queued(): void {
    this.#isQueued = true;
  }

  /** A hold has begun: its acquisition was answered in time, or another client has granted the lock to its holder. */
  entered(): void {
    this.#count += 1;
    this.#lowest = this.#count;
    this.#highest = Math.max(this.#highest, this.#missed, this.#count);
    this.#isQueued = false;
    this.#missed = 0;
  }

  /** A hold's lease is about to be changed. */
  extends(leaseMs: number): void {
    this.#longestLeaseMs = Math.max(this.#longestLeaseMs, leaseMs);
  }

  /** The last hold is about to be released, and its key must stay for this time. Every release keeps the key until one has succeeded. */
  keepsFor(ms: number): void {
    this.keepForMs = ms;
  }

  /** Sets the wanted count to `keptCount`, whatever happens to the command that writes it. */
  lowers(keptCount: number): void {
    invariant(keptCount >= 0 && keptCount <= this.#count, "a release would raise the hold count");
    this.#count = keptCount;
    this.#lowest = Math.min(this.#lowest, keptCount);
    this.#lowerings += 1;
  }

  /** A release to 0 was refused, or never sent: the count in Redis is unchanged. */
  keeps(count: number): void {
    this.#count = count;
  }

  /** A release was answered. @param isShort whether too few replicas have the release */
  released(keptCount: number, status: ReleaseStatus, isShort: boolean): void {
    const isGone = status === "absent" || status === "wrong-type";
    const left = isGone ? 0 : keptCount;
    this.#missed = isShort ? Math.max(this.#highest, this.#missed, 1) : 0;
    this.#lowest = Math.min(this.#lowest, left);
    // Only a copy of an acquisition can now bring the field back, and then the field must be freed at once.
    if (left === 0 && !isShort) this.keepForMs = 0;
    if (this.#copiesUntil !== undefined) return;
    if (left === 0) this.#isQueued = false;
    this.#highest = left;
  }

  /** Redis turned out to have nothing of the stay. */
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
   * @param deadline the deadline of the command
   * @param ttlMs the shortest TTL that the command may write over a longer one. Default: it writes no TTL
   * @param lowers whether the command lowers the count
   */
  copyMayArrive(deadline: Deadline, ttlMs: number = Number.POSITIVE_INFINITY, lowers = false): void {
    this.#copiesUntil = deadline.orLater(this.#copiesUntil);
    this.#copiesTtlMs = Math.min(this.#copiesTtlMs, ttlMs);
    this.mayBeLowered ||= lowers;
  }

  /** A server's clock was read. @param clock undefined if the server is unknown */
  seenServer(clock: ServerClock | undefined, serverMs: number): void {
    if (this.#copiesUntil === undefined || clock === undefined) return;
    const until = this.#copiesUntil.on(clock, serverMs);
    this.#copiesUntil = serverMs > until.ms ? undefined : until;
    if (this.#copiesUntil === undefined) this.#noCopies();
  }

  /** No call asks for the lock under this field at present. @param nowMs on the monotonic clock */
  rests(nowMs: number): void {
    this.#outlivedMs = nowMs + this.#longestLeaseMs + COPIES_MS;
  }

  /** Redis certainly has nothing of the stay any more. */
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
   * The lock has passed to another stay, which now owns this record. Redis still has a field of the previous stay.
   * @param field the field of the previous stay
   * @param leaseMs the lease of the new holder
   */
  handedOver(field: string, leaseMs: number): void {
    this.#longestLeaseMs = Math.max(this.#longestLeaseMs, leaseMs);
    if (this.#names === undefined) this.beginTurn();
    this.#names ??= [field];
  }

  /** A command is being sent that writes the latest holder's field. @returns the fields that it may replace */
  naming(field: string): readonly string[] {
    const predecessors = this.names(field).filter((name) => name !== field);
    this.#names = [...predecessors, field];
    return predecessors;
  }

  /** Redis has the field that the latest `naming` wrote. @param isLatest whether it is still the latest holder's field */
  named(field: string, isLatest: boolean): void {
    this.#names = isLatest ? undefined : [field];
  }

  /** The holders of a chain have left, and no command has freed their fields yet. Until one has, acquisitions find the count 0. */
  namesLeft(): void {
    this.#namesAreLeft = true;
    this.#count = 0;
    this.#lowest = 0;
    this.#highest = 0;
  }

  /** Redis has none of the chain's fields any more. @param isShort whether too few replicas have the release */
  namesFreed(isShort: boolean): void {
    this.namesLeft();
    this.#names = undefined;
    this.#namesAreLeft = false;
    this.#missed = Number(isShort);
    if (!isShort) this.keepForMs = 0;
  }
}
