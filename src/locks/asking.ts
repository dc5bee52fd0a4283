import { UnavailableError } from "../errors.js";
import type { AcquireAnswer, Acquisition } from "../protocol/lock-calls.js";
import type { Entrant, Room } from "../runtime/admission.js";
import type { Exchanged } from "../runtime/commands.js";
import type { Deadline } from "../runtime/deadline.js";
import type { Request } from "../runtime/groups.js";
import type { Patience } from "../runtime/patience.js";
import type { Waiter } from "../runtime/waiter.js";
import type { Holding } from "../threads/holding.js";
import { cleanUp } from "./clean-up.js";
import type { LockIdentity } from "./lock-kind.js";
import type { Wish } from "./wish.js";

/** One lock that is asked for. */
export interface Part {
  readonly lock: LockIdentity;
  readonly holding: Holding;
  readonly wish: Wish;
  readonly heldCount: number;
}

/** A part on its way to Redis. */
export class Sending implements Request<Acquisition, AcquireAnswer>, Entrant {
  readonly limited = true;
  readonly part: Part;
  #room: Room | undefined;
  #deadline: Deadline | undefined;

  /** @param room taken for it already */
  constructor(part: Part, room?: Room) {
    this.part = part;
    this.#room = room;
    part.holding.inRedis.asking(part.wish.terms.leaseMs);
  }

  get key(): string {
    return this.part.lock.key;
  }

  get patience(): Patience {
    return this.part.wish;
  }

  get waiter(): Waiter {
    return this.part.wish.waiter;
  }

  /** What re-enters keeps others from the lock meanwhile; one that stands in a queue in Redis may be given it any moment. */
  get goesFirst(): boolean {
    const { lock, wish, heldCount } = this.part;
    return heldCount > 0 || wish.kin !== undefined || (lock.kind.recordsWaiters && wish.attempts > 0);
  }

  /** Sends it, as soon as its server has room for it. One of several servers is asked at once, as it has little time to answer. */
  protected send(): void {
    const { lock, wish } = this.part;
    const { admission } = lock.client;
    if (wish.timeoutMs === undefined) {
      this.#room = admission.enter(lock.key);
      if (this.#room === undefined) {
        admission.wait(this);
        return;
      }
    }
    this.#goes();
  }

  admitted(room: Room): void {
    this.#room = room;
    this.#goes();
  }

  /** From here on it may reach Redis, whatever becomes of its caller. */
  #goes(): void {
    const { lock, wish } = this.part;
    wish.attempts += 1;
    lock.client.groups.send(lock.kind.acquire, this);
  }

  dismissed(_error?: UnavailableError): void {
    // Those that travel together wait before they are made.
  }

  isLike({ part }: Sending): boolean {
    const { lock, wish, heldCount } = this.part;
    const sameTerms = part.wish.terms.leaseMs === wish.terms.leaseMs && part.heldCount === heldCount;
    return sameTerms && part.lock.kind.fenced === lock.kind.fenced;
  }

  item(notAfterMs: number): Acquisition {
    const { lock, wish, holding, heldCount } = this.part;
    this.#deadline = lock.client.commands.deadline(lock.key, notAfterMs, this.#deadline);
    const { key, kind, channel } = lock;
    const { terms, waits } = wish;
    const kin = wish.kin?.holding.field ?? "";
    const { leaseMs } = terms;
    return { key, holder: holding.field, leaseMs, heldCount, kin, waits, fenced: kind.fenced, channel };
  }

  answered(_answer: AcquireAnswer, { repeated, clock, serverMs, sentAt }: Exchanged<unknown>): void {
    const { holding, lock } = this.part;
    if (this.#room !== undefined) lock.client.admission.answered(this.#room, sentAt);
    if (repeated) this.#copyMayArrive();
    holding.inRedis.seenServer(clock, serverMs);
  }

  failed(error: unknown): void {
    const { lock, holding } = this.part;
    if (this.#room !== undefined) lock.client.admission.failed(this.#room, error);
    if (!(error instanceof UnavailableError) || !error.outcomeUnknown) return;
    this.#copyMayArrive();
    // Where nothing is held, whoever has begun the stay sees to it.
    if (holding.inRedis.count > 0) cleanUp(lock, holding);
  }

  #copyMayArrive(): void {
    if (this.#deadline !== undefined) this.part.holding.inRedis.copyMayArrive(this.#deadline);
  }
}

/** The answer to one part of a command. */
export interface Answered<Answer> {
  readonly answer: Answer;
  /** What goes for all of it. */
  readonly command: Exchanged<unknown>;
}

/** A part whose answer is waited for. */
export class Asking extends Sending {
  #resolve: ((answered: Answered<AcquireAnswer> | undefined) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;

  /** @returns undefined when it was not sent, as its waiter's time is up or it was cancelled */
  ask(): Promise<Answered<AcquireAnswer> | undefined> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.send();
    });
  }

  override dismissed(error?: UnavailableError): void {
    if (error === undefined) this.#resolve?.(undefined);
    else this.#reject?.(error);
  }

  override answered(answer: AcquireAnswer, command: Exchanged<unknown>): void {
    super.answered(answer, command);
    this.#resolve?.({ answer, command });
  }

  override failed(error: unknown): void {
    super.failed(error);
    this.#reject?.(error);
  }
}
