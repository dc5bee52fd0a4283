import type { Client } from "../client.js";
import { environment } from "../environment.js";
import {
  ClientClosedError,
  LeaseLostError,
  NotReplicatedError,
  QuorumError,
  UnavailableError,
  WrongTypeError,
} from "../errors.js";
import type { LockOptions } from "../options.js";
import { isWakeUp } from "../protocol/messages.js";
import type { JointHold, JointMember } from "./joint-hold.js";
import type { JointLease } from "./joint-lease.js";
import { giveBack, type JointCall, JointLock } from "./joint-lock.js";
import { jointMembers } from "./joint-members.js";
import type { Lock } from "./lock.js";
import { type AskedLock, RedRound } from "./red-round.js";
import { retake } from "./retake.js";
import type { SingleLock } from "./single-lock.js";
import { Strangers } from "./strangers.js";

/** Two who have split the servers between them try again after a random pause, longer each time. */
const FIRST_PAUSE_MS = 10;
const TIMEOUTS_PER_LEASE = 4;
const LONGEST_PAUSE_MS = 200;

/**
 * Locks on independent servers as one: held while a majority of them is. All are asked at once, each for a short time
 * only, so that a minority that is dead, slow or has lost its data does no harm. Source: Redisson's RedissonRedLock.
 */
export class RedLock extends JointLock {
  constructor(locks: readonly Lock[], client: Pick<Client, "settings" | "about">) {
    const members = jointMembers(locks, "a red lock");
    super("red-lock", members, Math.floor(members.length / 2) + 1, client);
  }

  protected async take(call: JointCall): Promise<readonly JointMember[] | undefined> {
    const { waiter } = call;
    const ears = new Ears(this.members, () => waiter.wake());
    if (call.waits) ears.open({ onlyOpen: true });
    let pauseMs = FIRST_PAUSE_MS;
    /** To be waited for while nothing else is held: a sibling tells nobody in Redis when it leaves. */
    let entered: SingleLock | undefined;
    try {
      for (;;) {
        ears.asking();
        const answers = await this.#askAll(call, entered);
        const members = answers.flatMap(({ member }) => member ?? []);
        if (members.filter(({ hold }) => hold.state === "held").length >= this.quorum) return members;
        this.#giveUp(members, answers, call);
        if (!call.waits || waiter.over) return undefined;
        entered = answers.find(({ bySibling }) => bySibling)?.lock;
        if (entered !== undefined) continue;
        ears.open();
        ears.answered(answers.flatMap(({ lock, ttlMs }) => (ttlMs === undefined ? [] : [lock])));
        await waiter.pause(this.#sleepMs(answers));
        call.waitEndedBy = ears.news ?? "timer";
        if (waiter.cancelled) throw waiter.reason;
        await waiter.pause(environment.random() * pauseMs);
        pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
      }
    } finally {
      ears.close();
    }
  }

  protected override taken(hold: JointHold, lease: JointLease, call: JointCall): void {
    const { options, form } = call;
    // A lease that nobody has any more is not to be kept up, and so not to be held on to.
    retake({
      timeoutMs: this.#timeoutMs(options),
      options,
      form,
      threadIdFor: (lock) => this.threadIdFor(lock, options.threadId),
      hold,
      lease: environment.weak(lease),
    });
  }

  /** A slow server may not use up the lease that the others have given. */
  #timeoutMs({ leaseMs = Number.POSITIVE_INFINITY }: LockOptions): number {
    return Math.max(1, Math.min(this.settings.redMemberTimeoutMs, Math.floor(leaseMs / TIMEOUTS_PER_LEASE)));
  }

  /** @param first to be waited for, before the others are asked */
  async #askAll(call: JointCall, first: SingleLock | undefined): Promise<readonly ServerVote[]> {
    const strangers = new Strangers();
    const round = new RedRound((lock, wish) => {
      wish.waiter.dispose();
      this.note(call, lock, wish);
    });
    const ask = (lock: SingleLock, waits: boolean) => {
      const part = { ...call, waiter: call.waiter.part() };
      round.ask(lock, this.newWish(lock, part, waits, this.#timeoutMs(call.options)), () => ({
        threadId: this.threadIdFor(lock, call.options.threadId),
        stranger: () => strangers.to(lock.identity.client),
      }));
    };
    if (first !== undefined) ask(first, true);
    while (round.goesOn()) await round.news();
    for (const lock of this.members) if (lock !== first) ask(lock, false);
    while (round.goesOn()) await round.news();
    return round.outcomes().map((asked) => answerOf(asked, call));
  }

  /** @throws the reason of a cancelled wait; QuorumError when a majority can not be had; what the caller did wrong */
  #giveUp(members: readonly JointMember[], answers: readonly ServerVote[], { waiter }: JointCall): void {
    // A server that is slow to take its lock back need not be waited for.
    giveBack(members);
    if (waiter.cancelled) throw waiter.reason;
    const failures = answers.flatMap((answer) => ("failure" in answer ? [answer.failure] : []));
    const mistake = failures.find((failure) => !isOfServer(failure));
    if (mistake !== undefined) throw mistake;
    if (failures.length > this.members.length - this.quorum) {
      throw new QuorumError(this.name, members.length, this.quorum, failures);
    }
  }

  /** Until the first lease that is known falls; nobody may be there to tell. */
  #sleepMs(answers: readonly ServerVote[]): number {
    const ttls = answers.flatMap(({ ttlMs = -1 }) => (ttlMs >= 0 ? [ttlMs + 1] : []));
    return Math.min(this.settings.safetyPeriodMs, ...ttls);
  }
}

/** What one server has said: it gave the lock, somebody else has it, or the server failed. */
interface ServerVote {
  readonly lock: SingleLock;
  readonly member?: JointMember;
  /** How long the lease of who has it lasts; -1 when that is not known. */
  readonly ttlMs?: number;
  /** A sibling's body is in the way, so that the server was not asked. */
  readonly bySibling?: boolean;
  readonly failure?: unknown;
}

function answerOf({ lock, wish, hold, ...failed }: AskedLock, { waits, waiter }: JointCall): ServerVote {
  if ("failure" in failed) return { lock, failure: failed.failure };
  if (hold !== undefined) return { lock, member: { lock, hold } };
  const { obstacle, attempts, unanswered } = wish;
  // On a server that answers, a call that may wait may yet ask, or has asked since.
  const mayAsk = attempts > 0 || (waits && !waiter.over);
  if (unanswered !== undefined && !mayAsk) return { lock, failure: unanswered };
  if (attempts === 0) return notAsked(lock, obstacle?.ttlMs ?? -1);
  // Nobody is in the way of a lock whose answer came too late to be of use: it may be asked for again soon.
  return { lock, ttlMs: obstacle?.ttlMs ?? 0 };
}

/** @param ttlMs of the sibling that is in the way; -1 while the caller's last stay is still being cleaned up. */
function notAsked(lock: SingleLock, ttlMs: number): ServerVote {
  return ttlMs < 0 ? { lock, ttlMs: LONGEST_PAUSE_MS } : { lock, ttlMs, bySibling: true };
}

/** True for what one server out of many may suffer without being the caller's doing. */
function isOfServer(failure: unknown): boolean {
  const types = [UnavailableError, NotReplicatedError, LeaseLostError, WrongTypeError, ClientClosedError];
  return types.some((type) => failure instanceof type);
}

type ReasonToAsk = "message" | "reconnect";

/** Hears of releases by those who stand in the way. */
class Ears {
  readonly #locks: readonly SingleLock[];
  readonly #wake: () => void;
  readonly #closers = new Map<SingleLock, () => void>();
  /** What the latest round has found held: what it gave back itself is no news. Undefined during a round. */
  #blocked: ReadonlySet<SingleLock> | undefined;
  /** Where something was told during a round. */
  readonly #heard = new Map<SingleLock, ReasonToAsk>();
  /** What was told first since the latest round. */
  news: ReasonToAsk | undefined;

  constructor(locks: readonly SingleLock[], wake: () => void) {
    this.#locks = locks;
    this.#wake = wake;
  }

  /** Harmless twice. @param onlyOpen where messages arrive already, so that listening costs nothing */
  open({ onlyOpen = false }: { readonly onlyOpen?: boolean } = {}): void {
    for (const lock of this.#locks) {
      const { client, channel } = lock.identity;
      if (this.#closers.has(lock) || (onlyOpen && !client.subscriptions.isOpen(channel))) continue;
      const close = client.subscriptions.listen(channel, {
        onMessage: (message) => {
          if (isWakeUp(message)) this.#hear(lock, "message");
        },
        onReady: () => this.#hear(lock, "reconnect"),
        onFailure: () => {
          // The leases of those who are in the way bound the wait.
        },
      });
      this.#closers.set(lock, close);
    }
  }

  asking(): void {
    this.#blocked = undefined;
    this.#heard.clear();
    this.news = undefined;
  }

  answered(blocked: readonly SingleLock[]): void {
    this.#blocked = new Set(blocked);
    for (const lock of blocked) this.#tell(this.#heard.get(lock));
  }

  close(): void {
    for (const close of this.#closers.values()) close();
  }

  #hear(lock: SingleLock, news: ReasonToAsk): void {
    if (this.#blocked === undefined) this.#heard.set(lock, news);
    else if (this.#blocked.has(lock)) this.#tell(news);
  }

  #tell(news: ReasonToAsk | undefined): void {
    if (news === undefined) return;
    this.news ??= news;
    this.#wake();
  }
}
