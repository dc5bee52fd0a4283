import { checkBody } from "../checks.js";
import { lockBehind, NotHeldError, WaitTimeoutError } from "../errors.js";
import { type HeldLease, type Keeper, REFUSED, type Tried } from "../lease.js";
import { checkLockOptions, checkThreadId, type LockOptions } from "../options.js";
import { forCaller } from "../runtime/for-caller.js";
import { isTraced, traced } from "../runtime/traced.js";
import type { Hold } from "../threads/hold.js";
import type { Body, Scope } from "../threads/scope.js";
import { forceUnlock } from "./force-unlock.js";
import { fulfil } from "./fulfil.js";
import type { Lock } from "./lock.js";
import type { LockIdentity } from "./lock-kind.js";
import { look } from "./look.js";
import { release } from "./release.js";
import { callStraight, isStraight } from "./straight-call.js";
import { obstacleAt, Wish } from "./wish.js";

/** The engine of all locks that are one key with a lease; a {@link LockIdentity} says of which kind. */
export class LeaseLock<L extends HeldLease = HeldLease> implements Lock<L>, Keeper {
  readonly #lock: LockIdentity;
  readonly #leaseClass: new (
    hold: Hold,
    keeper: Keeper,
  ) => L;

  constructor(lock: LockIdentity, leaseClass: new (hold: Hold, keeper: Keeper) => L) {
    this.#lock = lock;
    this.#leaseClass = leaseClass;
  }

  /** For the locks that are made of several. */
  get identity(): LockIdentity {
    return this.#lock;
  }

  get name(): string {
    return this.#lock.name;
  }

  async lock(options: LockOptions = {}): Promise<L> {
    const wish = this.#wish(options, undefined, "lock");
    const hold = await this.#acquire(wish, options.threadId);
    return this.#bareLease(hold ?? this.#refuse(wish));
  }

  async tryLock(options: LockOptions = {}): Promise<L | null> {
    const hold = await this.#acquire(this.#wish(options, 0, "lock"), options.threadId);
    return hold === undefined ? null : this.#bareLease(hold);
  }

  async using<T>(
    ...given: [(lease: L) => T | Promise<T>] | [LockOptions, (lease: L) => T | Promise<T>]
  ): Promise<T> {
    const [options, body] = given.length === 1 ? [{}, given[0]] : given;
    checkBody("using", body);
    const wish = this.#wish(options, undefined, "using");
    const hold = await this.#acquire(wish, options.threadId);
    const lease = new this.#leaseClass(hold ?? this.#refuse(wish), this);
    return lease.use(() => body(lease));
  }

  async tryUsing<T>(
    ...given: [(lease: L) => T | Promise<T>] | [LockOptions, (lease: L) => T | Promise<T>]
  ): Promise<Tried<T>> {
    const [options, body] = given.length === 1 ? [{}, given[0]] : given;
    checkBody("tryUsing", body);
    const hold = await this.#acquire(this.#wish(options, 0, "using"), options.threadId);
    if (hold === undefined) return REFUSED;
    const lease = new this.#leaseClass(hold, this);
    return { ran: true, value: await lease.use(() => body(lease)) };
  }

  async unlock(threadId?: number): Promise<void> {
    if (threadId !== undefined) checkThreadId(threadId);
    const hold = this.toUnlock(threadId);
    if (hold === undefined) throw new NotHeldError(this.name, whyNotHeld(threadId, this.#ownScope()));
    await release(this.#lock, hold);
  }

  /** The hold that an unlock in Redisson's style means: the innermost of the thread, or of this very `asThread`. */
  toUnlock(threadId: number | undefined): Hold | undefined {
    const { client, id } = this.#lock;
    return threadId === undefined
      ? this.#ownScope()?.innermostTaken(id)
      : client.threads.find(threadId)?.stayIn(id)?.innermost;
  }

  async forceUnlock(): Promise<boolean> {
    const lock = this.#lock;
    lock.client.assertOpen(lock);
    try {
      return await forceUnlock(lock);
    } catch (error) {
      throw forCaller(error, lock);
    }
  }

  async isLocked(): Promise<boolean> {
    return this.#lock.kind.isHeld(await look(this.#lock));
  }

  async isHeldByCurrentThread(): Promise<boolean> {
    return (await this.getHoldCount()) > 0;
  }

  async isHeldByThread(threadId: number): Promise<boolean> {
    return (await this.getHoldCount(threadId)) > 0;
  }

  async getHoldCount(threadId?: number): Promise<number> {
    const { client, id } = this.#lock;
    client.assertOpen(this.#lock);
    if (threadId !== undefined) checkThreadId(threadId);
    const holding =
      threadId === undefined
        ? client.threads.current?.holdOf(id)?.holding
        : client.threads.find(threadId)?.stayIn(id);
    // What this client never took nobody else can have taken in its name.
    if (holding === undefined) return 0;
    // Redis is just being told whose it is.
    if (!holding.isNamed) await holding.inRedis.inTurn(() => Promise.resolve());
    return Number((await look(this.#lock)).fields[holding.field] ?? 0);
  }

  async remainTimeToLive(): Promise<number> {
    return (await look(this.#lock)).ttlMs;
  }

  release(hold: Hold): Promise<void> {
    return release(this.#lock, hold);
  }

  runIn<T>(find: Body["find"], lease: object, body: () => T | Promise<T>): Promise<T> {
    const { client, id: lockId } = this.#lock;
    return client.threads.runIn({ lockId, find, lease }, body);
  }

  #bareLease(hold: Hold): L {
    const lease = new this.#leaseClass(hold, this);
    this.keep(hold, lease);
    return lease;
  }

  /** A bare lease that was taken in `asThread` need not be kept by the caller. */
  keep(hold: Hold, lease: object): void {
    if (!hold.bare) this.#ownScope()?.keepLease(hold, lease);
  }

  /** The scope of the caller if it is one that `asThread` opened. */
  #ownScope(): Scope | undefined {
    const { current } = this.#lock.client.threads;
    return current?.isThread ? current : undefined;
  }

  #refuse({ waiter, obstacle }: Wish): never {
    const nowMs = this.#lock.client.clock.monotonicMs();
    const seen = obstacleAt(nowMs, obstacle);
    const wanted = lockBehind(this.name, seen, this.#lock.reentry);
    throw new WaitTimeoutError(this.name, waiter.waitedMs, seen, wanted);
  }

  /** @param defaultWaitMs how long to wait when the options do not say. Default: what the client's say */
  #wish(options: LockOptions, defaultWaitMs: number | undefined, form: Wish["form"]): Wish {
    const { client } = this.#lock;
    checkLockOptions(options);
    client.assertOpen(this.#lock);
    const waitMs = options.waitMs ?? defaultWaitMs ?? client.settings.waitMs;
    const waiter = client.newWaiter(waitMs, options.signal);
    return new Wish(client, options, { form, waits: waitMs !== 0, waiter, timeoutMs: undefined });
  }

  /** @returns undefined when it was not to be had in time */
  #acquire(wish: Wish, threadId: number | undefined): Promise<Hold | undefined> {
    const lock = this.#lock;
    const isPlain = isStraight(lock, wish, threadId) && !isTraced();
    return isPlain ? callStraight(lock, wish) : this.#fulfil(wish, threadId);
  }

  async #fulfil(wish: Wish, threadId: number | undefined): Promise<Hold | undefined> {
    const { client } = this.#lock;
    const work = () => fulfil(this.#lock, wish, threadId);
    try {
      return await traced(this.#lock, wish, work, ({ holding, holdCount }) => ({
        holder: holding.field,
        holdCount,
      }));
    } finally {
      client.dismiss(wish.waiter);
    }
  }
}

function whyNotHeld(threadId: number | undefined, scope: Scope | undefined): string {
  if (threadId !== undefined) return `by thread ${threadId} of this client`;
  if (scope === undefined) return "outside of asThread a hold is released through its lease (lease.unlock())";
  return "by this asThread call; release other holds through their lease (lease.unlock())";
}
