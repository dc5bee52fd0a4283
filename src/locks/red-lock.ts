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

/** Two calls that have split the servers between them try again after random pauses, longer each time. */
const FIRST_PAUSE_MS = 10;
const TIMEOUTS_PER_LEASE = 4;
const LONGEST_PAUSE_MS = 200;

/**
 * Locks on independent servers as one lock, which is held while a majority of them is. All servers are asked at once, and each gets only a
 * short time to answer. So a minority of servers does no harm if it is dead, slow or has lost its data. Source: Redisson's RedissonRedLock.
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
    /**
     * The lock to wait for first, while the call holds no other: a concurrent body in this client has it, and may leave it without a
     * message in Redis.
     */
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
    // Keeps only a weak reference: if the program has forgotten the lease, missing members are not acquired again.
    retake({
      timeoutMs: this.#timeoutMs(options),
      options,
      form,
      threadIdFor: (lock) => this.threadIdFor(lock, options.threadId),
      hold,
      lease: environment.weak(lease),
    });
  }

  /** A slow server must not use up the lease that the others have given. */
  #timeoutMs({ leaseMs = Number.POSITIVE_INFINITY }: LockOptions): number {
    return Math.max(1, Math.min(this.settings.redMemberTimeoutMs, Math.floor(leaseMs / TIMEOUTS_PER_LEASE)));
  }

  /** @param first the lock to wait for before the call asks for the others */
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

  /** @throws the reason of a cancelled wait; QuorumError if a majority cannot be reached; the error of a caller's mistake */
  #giveUp(members: readonly JointMember[], answers: readonly ServerVote[], { waiter }: JointCall): void {
    // Does not wait for the releases, because a server may be slow to release.
    giveBack(members);
    if (waiter.cancelled) throw waiter.reason;
    const failures = answers.flatMap((answer) => ("failure" in answer ? [answer.failure] : []));
    const mistake = failures.find((failure) => !isOfServer(failure));
    if (mistake !== undefined) throw mistake;
    if (failures.length > this.members.length - this.quorum) {
      throw new QuorumError(this.name, members.length, this.quorum, failures);
    }
  }

  /** How long to sleep: until the first known lease expires, because a dead holder announces nothing. */
  #sleepMs(answers: readonly ServerVote[]): number {
    const ttls = answers.flatMap(({ ttlMs = -1 }) => (ttlMs >= 0 ? [ttlMs + 1] : []));
    return Math.min(this.settings.safetyPeriodMs, ...ttls);
  }
}

/** The answer of one server: the lock, another holder, or a failure. */
interface ServerVote {
  readonly lock: SingleLock;
  readonly member?: JointMember;
  /** How long the other holder's lease lasts; -1 if unknown. */
  readonly ttlMs?: number;
  /** Whether a concurrent body in this client excludes the call, so that the server was not asked. */
  readonly bySibling?: boolean;
  readonly failure?: unknown;
}

function answerOf({ lock, wish, hold, ...failed }: AskedLock, { waits, waiter }: JointCall): ServerVote {
  if ("failure" in failed) return { lock, failure: failed.failure };
  if (hold !== undefined) return { lock, member: { lock, hold } };
  const { obstacle, attempts, unanswered } = wish;
  // An unknown outcome does not count as a failure if the call has asked since, or may still ask.
  const mayAsk = attempts > 0 || (waits && !waiter.over);
  if (unanswered !== undefined && !mayAsk) return { lock, failure: unanswered };
  if (attempts === 0) return notAsked(lock, obstacle?.ttlMs ?? -1);
  // If there is no obstacle, the lock was free, but the answer came too late: the call may ask again at once.
  return { lock, ttlMs: obstacle?.ttlMs ?? 0 };
}

/** @param ttlMs the remaining lease of the hold that excludes the call; -1 while the caller's last stay is still being cleaned up */
function notAsked(lock: SingleLock, ttlMs: number): ServerVote {
  return ttlMs < 0 ? { lock, ttlMs: LONGEST_PAUSE_MS } : { lock, ttlMs, bySibling: true };
}

/** True for failures of a single server that the caller did not cause. */
function isOfServer(failure: unknown): boolean {
  const types = [UnavailableError, NotReplicatedError, LeaseLostError, WrongTypeError, ClientClosedError];
  return types.some((type) => failure instanceof type);
}

type ReasonToAsk = "message" | "reconnect";

/** Listens for releases of the locks that the last round found taken. */
class Ears {
  readonly #locks: readonly SingleLock[];
  readonly #wake: () => void;
  readonly #closers = new Map<SingleLock, () => void>();
  /** The locks that the latest round found taken. The round's own releases on other locks are ignored. Undefined during a round. */
  #blocked: ReadonlySet<SingleLock> | undefined;
  /** The locks for which a message came during a round. */
  readonly #heard = new Map<SingleLock, ReasonToAsk>();
  /** The first message or reconnect since the latest round. */
  news: ReasonToAsk | undefined;

  constructor(locks: readonly SingleLock[], wake: () => void) {
    this.#locks = locks;
    this.#wake = wake;
  }

  /** A second call is harmless. @param onlyOpen listens only to channels with an existing subscription, which costs nothing */
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
          // Nothing to do: the wait ends with the first known lease.
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
