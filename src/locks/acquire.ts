import {
  LeaseLostError,
  type LossReason,
  NotReplicatedError,
  UnavailableError,
  WrongTypeError,
} from "../errors.js";
import { events } from "../events.js";
import type { AcquireAnswer, Acquisition } from "../protocol/lock-calls.js";
import type { Exchanged } from "../runtime/commands.js";
import type { Request } from "../runtime/groups.js";
import { ANSWERS_LATE, MOST_VAIN_TRIES } from "../runtime/late-answers.js";
import type { Patience } from "../runtime/patience.js";
import type { Shortfall } from "../runtime/replication.js";
import type { Sighted } from "../runtime/signs-of-life.js";
import type { Hold } from "../threads/hold.js";
import type { Holding } from "../threads/holding.js";
import { cleanUp, reachStoredCount, takeBack, undoCopies } from "./clean-up.js";
import { enter } from "./enter.js";
import type { LockIdentity } from "./lock-kind.js";
import { release } from "./release.js";
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

export function notReplicated(
  name: string,
  { acknowledged, wanted, timeoutMs }: Shortfall,
  what?: string,
): NotReplicatedError {
  return new NotReplicatedError(name, acknowledged, wanted, timeoutMs, what);
}

/** Releases a hold that nobody was told of, be it lost by now. */
async function giveBack(lock: LockIdentity, hold: Hold): Promise<void> {
  if (hold.state === "held") return release(lock, hold);
  hold.dismissed = true;
  hold.holding.inRedis.count = hold.holding.keepLive();
  cleanUp(lock, hold.holding);
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
      throw new UnavailableError(commands.server, ANSWERS_LATE, false);
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
  wish.attempts += 1;
  const part = { lock, holding, wish, heldCount };
  const asked = wish.first ?? new Asking(part).send();
  wish.first = undefined;
  const { answer, command } = await asked;
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
export class Sending implements Request<Acquisition, AcquireAnswer> {
  readonly limited = true;
  readonly part: Part;
  #notAfterMs = 0;

  constructor(part: Part) {
    this.part = part;
    part.holding.inRedis.asking(part.wish.terms.leaseMs);
  }

  get key(): string {
    return this.part.lock.key;
  }

  get patience(): Patience {
    return this.part.wish;
  }

  isLike({ part }: Sending): boolean {
    const { lock, wish, heldCount } = this.part;
    const sameTerms = part.wish.terms.leaseMs === wish.terms.leaseMs && part.heldCount === heldCount;
    return sameTerms && part.lock.kind.fenced === lock.kind.fenced;
  }

  item(notAfterMs: number): Acquisition {
    this.#notAfterMs = notAfterMs;
    const { lock, wish, holding, heldCount } = this.part;
    const { key, kind, channel } = lock;
    const { terms, waits } = wish;
    const kin = wish.kin?.holding.field ?? "";
    const { leaseMs } = terms;
    return { key, holder: holding.field, leaseMs, heldCount, kin, waits, fenced: kind.fenced, channel };
  }

  answered(_answer: AcquireAnswer, { repeated, serverMs }: Exchanged<unknown>): void {
    const { inRedis } = this.part.holding;
    if (repeated) inRedis.copyMayArrive(this.#notAfterMs);
    inRedis.seenServer(serverMs);
  }

  failed(error: unknown): void {
    if (!(error instanceof UnavailableError) || !error.outcomeUnknown) return;
    const { lock, holding } = this.part;
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
  #resolve: ((answered: Answered<AcquireAnswer>) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;

  send(): Promise<Answered<AcquireAnswer>> {
    const { client, kind } = this.part.lock;
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      client.groups.send(kind.acquire, this);
    });
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

/** Asks for locks of one client and one script in one command: all of them or none. */
export async function sendTogether(
  parts: readonly [Part, ...Part[]],
): Promise<Exchanged<readonly AcquireAnswer[]>> {
  const [{ lock, wish }] = parts;
  const { commands } = lock.client;
  const sendings = parts.map((part) => new Sending(part));
  const input = () => {
    const notAfterMs = commands.notAfterMs(lock.key);
    return { notAfterMs, together: true, locks: sendings.map((sending) => sending.item(notAfterMs)) };
  };
  try {
    const sent = await commands.exchange(lock.kind.acquire, lock.key, input, wish);
    sendings.forEach((sending, at) => {
      const answer = sent.reply[at];
      if (answer !== undefined) sending.answered(answer, sent);
    });
    return sent;
  } catch (error) {
    for (const sending of sendings) sending.failed(error);
    throw error;
  }
}

/** @param found what Redis has just told; undefined when the loss was known before */
function lossOf(lock: LockIdentity, holding: Holding, wish: Wish, found?: LossReason): LeaseLostError {
  // A reader that is to enter on the strength of a write hold finds that one gone.
  const gone = wish.again ? holding : (wish.kin?.holding ?? holding);
  if (found !== undefined) gone.loseAll(found);
  return gone.loss ?? new LeaseLostError(lock.name, gone.field, "released", 0);
}
