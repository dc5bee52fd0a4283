import type { AsyncResource } from "node:async_hooks";
import { UnavailableError } from "../errors.js";
import type { AcquireAnswer, AcquireItem } from "../protocol/lock-calls.js";
import type { Entrant, Room } from "../runtime/admission.js";
import type { Deadline } from "../runtime/deadline.js";
import type { Exchanged } from "../runtime/exchanged.js";
import type { GroupedRequest } from "../runtime/groups.js";
import type { Patience } from "../runtime/patience.js";
import type { WaitLine } from "../runtime/wait-line.js";
import type { Waiter } from "../runtime/waiter.js";
import type { Stay } from "../threads/stay.js";
import { leaveQueue } from "./leave-queue.js";
import type { LockIdentity, Part } from "./lock-kind.js";
import { reconcile } from "./reconciler.js";
import type { Wish } from "./wish.js";

/**
 * The part of an acquire command that is about one lock. Notes in `stay.inRedis` what the answer says about the stay's field in Redis.
 * @see docs/internals/states.md#one-acquisition
 */
export class AcquireCommand implements GroupedRequest<AcquireItem, AcquireAnswer>, Entrant, Part {
  readonly limited = true;
  readonly lock: LockIdentity;
  readonly key: string;
  readonly wish: Wish;
  readonly patience: Patience;
  readonly waiter: Waiter;
  readonly context: AsyncResource | undefined;
  /** The stay that the command acquires for. Replaced when the call starts over, or continues its wait under another field. */
  stay: Stay;
  /** The hold count that Redis has before the command runs. */
  heldCount = 0;
  /** The permission of `Admission` to send the command; undefined until then, and for a command that needs none. */
  #room: Room | undefined;
  /** Whether the current attempt was already sent once. */
  #wasSent = false;
  /** The latest deadline that the command was sent with. A copy of the command that arrives later changes nothing. */
  #deadline: Deadline | undefined;

  /** @param room the permission that `Admission` has already given for this command */
  constructor({ lock, stay, wish }: Part, room?: Room) {
    this.lock = lock;
    this.key = lock.key;
    this.stay = stay;
    this.wish = wish;
    this.patience = wish;
    this.waiter = wish.waiter;
    this.context = wish.waiter.context;
    this.#room = room;
  }

  /**
   * A re-entry goes first, because its caller already holds the lock. So does a call with a place in a queue in Redis, because the lock may
   * have been granted to it.
   */
  get goesFirst(): boolean {
    const { lock, wish, heldCount } = this;
    const isQueued = wish.queued !== undefined || lock.kind.recordsWaiters;
    return heldCount > 0 || wish.kin !== undefined || (isQueued && wish.attempts > 0);
  }

  /** Sends the command. From then on, it may reach Redis even if its caller gives up. */
  admitted(room: Room | undefined): void {
    this.#room = room;
    this.#wasSent = false;
    this.wish.attempts += 1;
    this.lock.client.groups.send(this.lock.kind.acquire, this);
  }

  dismissed(_error?: UnavailableError): void {
    // `takeTogether` asks `Admission` before it makes its commands, so these commands are never dismissed.
  }

  isLike({ lock, wish, heldCount }: AcquireCommand): boolean {
    if (wish.queued !== undefined || this.wish.queued !== undefined) return false;
    const sameTerms = wish.terms.leaseMs === this.wish.terms.leaseMs && heldCount === this.heldCount;
    return sameTerms && lock.kind.fenced === this.lock.kind.fenced;
  }

  item(notAfterMs: number): AcquireItem {
    const { lock, wish, stay, heldCount } = this;
    const { key, kind, channel, client } = lock;
    this.#deadline = client.commands.deadline(key, notAfterMs, this.#deadline);
    const { terms, waits } = wish;
    const kin = wish.kin?.stay.field ?? "";
    const { leaseMs } = terms;
    stay.inRedis.asking(leaseMs);
    // While a slot moves, a server refuses a command on two keys if it has only one of them. So a repeat of the command declares only the
    // lock's key.
    const isRefused = this.#wasSent && client.inCluster;
    this.#wasSent = true;
    const line = heldCount === 0 && !isRefused ? wish.queued : undefined;
    line?.ears?.mayStand();
    const queued = line && { waitsOn: line.length > 1, polls: wish.waiter.naps };
    return { key, holder: stay.field, leaseMs, heldCount, kin, waits, fenced: kind.fenced, channel, queued };
  }

  answered(answer: AcquireAnswer, { repeated, clock, serverMs, sentAt }: Exchanged<unknown>): void {
    const { status } = answer;
    const { inRedis } = this.stay;
    if (this.wish.queued !== undefined) this.#standsBy(answer, this.wish.queued);
    if (this.#room !== undefined) this.lock.client.admission.answered(this.#room, sentAt);
    if (repeated) this.#copyMayArrive();
    inRedis.seenServer(clock, serverMs);
    if (status === "queued") inRedis.queued();
    else if (status !== "held" && status !== "miscounted") inRedis.refused(status !== "late" || !repeated);
  }

  /**
   * If all calls gave up while this command was under way, the client has left the queue, but the command may have put it back: so the
   * client leaves again.
   */
  #standsBy(answer: AcquireAnswer, line: WaitLine): void {
    if (answer.status === "held" && answer.place !== undefined) line.ears?.entered(answer.place);
    if (answer.status !== "busy" || !answer.waiting?.stands || line.head !== undefined) return;
    line.ears?.mayStand();
    leaveQueue(this.lock);
  }

  failed(error: unknown): void {
    const { lock, stay } = this;
    if (this.#room !== undefined) lock.client.admission.failed(this.#room, error);
    if (!(error instanceof UnavailableError) || !error.outcomeUnknown) {
      stay.inRedis.refused(true);
      return;
    }
    this.#copyMayArrive();
    // If the stay has no hold, nothing is done here: when the call that began the stay ends, it undoes late copies of this command.
    if (stay.inRedis.count > 0) reconcile(lock, stay);
  }

  #copyMayArrive(): void {
    if (this.#deadline === undefined) return;
    const { lock, wish, stay, heldCount } = this;
    // After a grant, the first acquisition of a fair lock replaces the TTL of the grant by its own lease, which may be shorter.
    const writesTtl = lock.kind.recordsWaiters && heldCount === 0;
    stay.inRedis.copyMayArrive(this.#deadline, writesTtl ? wish.terms.leaseMs : undefined);
  }
}
