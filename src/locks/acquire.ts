import {
  LeaseLostError,
  type LossReason,
  NotReplicatedError,
  UnavailableError,
  WrongTypeError,
} from "../errors.js";
import { events } from "../events.js";
import type { AcquireAnswer, Acquisition } from "../protocol/lock-calls.js";
import type { Entrant, Room } from "../runtime/admission.js";
import type { Exchanged } from "../runtime/commands.js";
import type { Request } from "../runtime/groups.js";
import type { Patience } from "../runtime/patience.js";
import type { Shortfall } from "../runtime/replication.js";
import type { Sighted } from "../runtime/signs-of-life.js";
import type { Waiter } from "../runtime/waiter.js";
import type { Hold } from "../threads/hold.js";
import type { Holding } from "../threads/holding.js";
import { cleanUp, reachStoredCount, takeBack, undoCopies } from "./clean-up.js";
import { enter } from "./enter.js";
import type { LockIdentity } from "./lock-kind.js";
import { MOST_VAIN_TRIES } from "./lowering.js";
import { giveBack } from "./release.js";
import type { Wish } from "./wish.js";

/**
 * Asks Redis, once unless the answer comes too late to be of use.
 * @returns undefined when somebody else has the lock
 * @throws the reason of a cancelled wait; LeaseLostError when the stay to enter is over; UnavailableError, WrongTypeError
 */
export async function ask(lock: LockIdentity, holding: Holding, wish: Wish): Promise<Hold | undefined> {
  const { waiter } = wish;
  const attempt = attemptUntilOfUse(lock, holding, wish);
  const hold = await waiter.unlessCancelled(attempt);
  if (hold !== undefined || !waiter.cancelled) return hold;
  // Whatever the attempt brings is given back behind the scenes.
  holding.unsettled();
  const givenBack = attempt.then((late) => (late === undefined ? undefined : giveBack(lock, late)));
  lock.client.inBackground(() =>
    givenBack.finally(() => {
      undoCopies(lock, holding);
      holding.settled();
    }),
  );
  throw waiter.reason;
}

export function notReplicated(name: string, { acknowledged, wanted }: Shortfall): NotReplicatedError {
  return new NotReplicatedError(name, acknowledged, wanted);
}

async function attemptUntilOfUse(
  lock: LockIdentity,
  holding: Holding,
  wish: Wish,
): Promise<Hold | undefined> {
  const { waiter } = wish;
  const { commands } = lock.client;
  for (let vainTries = 0; ; ) {
    const outcome = await holding.inRedis.inTurn(() => attempt(lock, holding, wish));
    if (outcome === "busy") return undefined;
    if (outcome instanceof NotReplicatedError) {
      // Who asks several servers at once does not wait for one that is slow to take its lock back.
      if (wish.timeoutMs !== undefined) cleanUp(lock, holding, { goesOn: true });
      else await takeBack(lock, holding);
      throw outcome;
    }
    if (typeof outcome !== "string") return outcome;
    if (outcome === "spent" || outcome === "leftover") {
      if (wish.timeoutMs !== undefined) {
        cleanUp(lock, holding, { goesOn: true });
        return undefined;
      }
      await reachStoredCount(lock, holding, { goesOn: true });
    }
    if (outcome !== "spent" && ++vainTries >= MOST_VAIN_TRIES) {
      throw new UnavailableError(
        commands.server,
        `lock "${lock.name}" could not be asked for in time`,
        false,
      );
    }
    if (waiter.cancelled || (outcome === "spent" && waiter.over)) return undefined;
  }
}

/**
 * `late`: the command arrived after its deadline. `spent`: it was taken, but the lease is over already. `leftover`: holds
 * of an earlier stay under the same explicit id, which were lost, are still there.
 */
async function attempt(
  lock: LockIdentity,
  holding: Holding,
  wish: Wish,
): Promise<Hold | NotReplicatedError | "busy" | "late" | "spent" | "leftover"> {
  const heldCount = holding.inRedis.count;
  if (wish.again && heldCount === 0) throw lossOf(lock, holding, wish);
  const part = { lock, holding, wish, heldCount };
  const asking = wish.first ?? new Asking(part).ask();
  wish.first = undefined;
  const asked = await asking;
  if (asked === undefined) return "busy";
  const { answer, command } = asked;
  if (answer.status === "held") {
    const { shortfall, sentAt } = command;
    if (shortfall !== undefined) return notReplicated(lock.name, shortfall);
    return enter(holding, wish, { takenAt: sentAt, token: answer.token }) ?? "spent";
  }
  return refusal(part, answer, command);
}

/**
 * What an answer other than "held" comes to.
 * @throws LeaseLostError, WrongTypeError, UnavailableError
 */
export function refusal(
  { lock, holding, wish }: Part,
  answer: Exclude<AcquireAnswer, { status: "held" }>,
  { sentAt, serverMs, resets }: Sighted,
): "busy" | "late" | "leftover" {
  switch (answer.status) {
    case "queued":
      wish.place = {
        sentAt,
        serverMs,
        resets,
        fallsInMs: answer.isHead && answer.ttlMs >= 0 ? answer.ttlMs : undefined,
      };
      seenHeld(lock, wish, answer);
      return "busy";
    case "busy":
      seenHeld(lock, wish, answer);
      return "busy";
    case "free":
      return "busy";
    case "late":
      return "late";
    case "lost":
      throw lossOf(lock, holding, wish, "stolen");
    case "miscounted":
      if (!wish.again) return "leftover";
      throw lossOf(lock, holding, wish, "stolen");
    case "wrong-type":
      throw new WrongTypeError(lock.key, answer.type);
    case "refused":
      throw new UnavailableError(lock.client.commands.server, answer.message, false);
  }
}

function seenHeld(
  lock: LockIdentity,
  wish: Wish,
  { holder, ttlMs }: { holder: string; ttlMs: number },
): void {
  if (holder === "") return;
  wish.obstacle = { holder, ttlMs, own: lock.client.owns(holder) };
  if (wish.attempts === 1 && events.contended.hasSubscribers) {
    events.contended.publish({ name: lock.name, kind: lock.kind.name, holder, ttlMs });
  }
}

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
  /** 0 until it is sent. */
  #notAfterMs = 0;

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
    const { admission, groups } = lock.client;
    this.#notAfterMs = 0;
    if (wish.timeoutMs === undefined) {
      this.#room = admission.enter(lock.key);
      if (this.#room === undefined) {
        admission.wait(this);
        return;
      }
    }
    groups.send(lock.kind.acquire, this);
  }

  admitted(room: Room): void {
    const { client, kind } = this.part.lock;
    this.#room = room;
    client.groups.send(kind.acquire, this);
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
    if (this.#notAfterMs === 0) wish.attempts += 1;
    this.#notAfterMs = notAfterMs;
    const { key, kind, channel } = lock;
    const { terms, waits } = wish;
    const kin = wish.kin?.holding.field ?? "";
    const { leaseMs } = terms;
    return { key, holder: holding.field, leaseMs, heldCount, kin, waits, fenced: kind.fenced, channel };
  }

  answered(_answer: AcquireAnswer, { repeated, serverMs, sentAt }: Exchanged<unknown>): void {
    const { holding, lock } = this.part;
    const { inRedis } = holding;
    if (this.#room !== undefined) lock.client.admission.answered(this.#room, sentAt);
    if (repeated) inRedis.copyMayArrive(this.#notAfterMs);
    inRedis.seenServer(serverMs);
  }

  failed(error: unknown): void {
    const { lock, holding } = this.part;
    if (this.#room !== undefined) lock.client.admission.failed(this.#room, error);
    if (!(error instanceof UnavailableError) || !error.outcomeUnknown) return;
    holding.inRedis.copyMayArrive(this.#notAfterMs);
    // Where nothing is held, whoever has begun the stay sees to it.
    if (holding.inRedis.count > 0) cleanUp(lock, holding);
  }
}

/** The answer to one part of a command. */
export interface Answered<Answer> {
  readonly answer: Answer;
  /** What goes for all of it. */
  readonly command: Exchanged<unknown>;
}

/** A part whose answer is waited for. */
class Asking extends Sending {
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

/** @param found what Redis has just told; undefined when the loss was known before */
function lossOf(lock: LockIdentity, holding: Holding, wish: Wish, found?: LossReason): LeaseLostError {
  // A reader that is to enter on the strength of a write hold finds that one gone.
  const gone = wish.again ? holding : (wish.kin?.holding ?? holding);
  if (found !== undefined) gone.loseAll(found);
  return gone.loss ?? new LeaseLostError(lock.name, gone.field, "released", 0);
}
