import { checkBody } from "../checks.js";
import type { Around } from "../client-options.js";
import { lockBehind, NotHeldError, WaitTimeoutError } from "../errors.js";
import { events } from "../events.js";
import { type HeldLease, type Keeper, REFUSED, type Tried } from "../lease.js";
import {
  checkLease,
  checkLockOptions,
  checkThreadId,
  checkUnlockOptions,
  type LockOptions,
  type UnlockOptions,
} from "../options.js";
import { showInLogs } from "../printed.js";
import type { LockRecord } from "../protocol/inspect-scripts.js";
import { forCaller } from "../runtime/for-caller.js";
import { type Acquired, isTraced, tracedCall } from "../runtime/traced.js";
import type { Body, Scope } from "../threads/scope.js";
import type { Hold } from "../threads/stay.js";
import type { AfterBody } from "../threads/threads.js";
import { acquire } from "./acquisition.js";
import { extend } from "./extend.js";
import { checkKept, keep, notKept } from "./keep.js";
import type { Lock } from "./lock.js";
import type { LockIdentity } from "./lock-kind.js";
import { release } from "./release.js";
import type { SingleLock } from "./single-lock.js";
import { obstacleAt, Wish } from "./wish.js";

/** The engine of all locks that are one key with a lease; its {@link LockIdentity} names the kind. */
export class LeaseLock<L extends HeldLease = HeldLease> implements SingleLock, Lock<L> {
  readonly around: Around | undefined;
  readonly #lock: LockIdentity;
  readonly #leaseClass: new (
    hold: Hold,
    keeper: Keeper,
  ) => L;

  constructor(lock: LockIdentity, leaseClass: new (hold: Hold, keeper: Keeper) => L) {
    this.around = lock.client.settings.around;
    this.#lock = lock;
    this.#leaseClass = leaseClass;
  }

  /** For joint locks. */
  get identity(): LockIdentity {
    return this.#lock;
  }

  get name(): string {
    return this.#lock.name;
  }

  toJSON(): object {
    const { name, kind } = this.#lock;
    return { name, kind: kind.name };
  }

  lock(options: LockOptions = NO_OPTIONS): Promise<L> {
    return this.#take({ options, form: "lock" }, (hold, wish) => this.#bareLease(hold ?? this.#refuse(wish)));
  }

  tryLock(options: LockOptions = NO_OPTIONS): Promise<L | null> {
    return this.#take({ options, form: "lock", waitMs: 0 }, (hold) => {
      return hold === undefined ? null : this.#bareLease(hold);
    });
  }

  using<T>(
    ...given: [(lease: L) => T | Promise<T>] | [UsingOptions, (lease: L) => T | Promise<T>]
  ): Promise<T> {
    const [options, body] = given.length === 1 ? [NO_OPTIONS, given[0]] : given;
    const check = () => checkBody("using", body);
    return this.#take({ options, form: "using", check }, (hold, wish) => {
      const lease = new this.#leaseClass(hold ?? this.#refuse(wish), this);
      const { keepForMs } = options;
      return keepForMs === undefined
        ? lease.use(() => body(lease))
        : this.#useAndKeep(lease, keepForMs, body);
    });
  }

  tryUsing<T>(
    ...given: [(lease: L) => T | Promise<T>] | [UsingOptions, (lease: L) => T | Promise<T>]
  ): Promise<Tried<T>> {
    const [options, body] = given.length === 1 ? [NO_OPTIONS, given[0]] : given;
    const check = () => checkBody("tryUsing", body);
    return this.#take<Tried<T>>({ options, form: "using", waitMs: 0, check }, (hold) => {
      if (hold === undefined) return REFUSED;
      const lease = new this.#leaseClass(hold, this);
      const { keepForMs } = options;
      const used =
        keepForMs === undefined ? lease.use(() => body(lease)) : this.#useAndKeep(lease, keepForMs, body);
      return used.then((value) => ({ ran: true, value }));
    });
  }

  #useAndKeep<T>(lease: L, keepForMs: number, body: (lease: L) => T | Promise<T>): Promise<T> {
    if (lease.holdCount === 1) return lease.useAndKeep(keepForMs, () => body(lease));
    const refuse = () => {
      throw notKept(this.name, "its thread has other holds of it", "taken");
    };
    return lease.unlock().then(refuse, refuse);
  }

  async unlock(threadId?: number): Promise<void> {
    if (threadId !== undefined) checkThreadId(threadId);
    const hold = this.toUnlock(threadId);
    if (hold === undefined) throw new NotHeldError(this.name, whyNotHeld(threadId, this.#ownScope()));
    await release(this.#lock, hold);
  }

  /**
   * The hold that an unlock in Redisson's style refers to: the innermost hold of the thread, or of the `asThread` call directly around the
   * caller.
   */
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
      const { forceUnlock } = await import("./force-unlock.js");
      return await forceUnlock(lock);
    } catch (error) {
      throw forCaller(error, lock);
    }
  }

  async isLocked(): Promise<boolean> {
    return this.#lock.kind.isHeld(await this.look());
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
    const stay =
      threadId === undefined
        ? client.threads.current?.holdOf(id)?.stay
        : client.threads.find(threadId)?.stayIn(id);
    // Only this client writes fields with its id: without a stay here, the thread holds nothing in Redis.
    if (stay === undefined) return 0;
    // After a hand-over, `lock-succeed` writes the field of this stay, and no other command of the stay runs until Redis has answered. This
    // method waits for that answer.
    if (!stay.inRedis.isNamed) await stay.inRedis.inTurn(() => Promise.resolve());
    return Number((await this.look()).fields[stay.field] ?? 0);
  }

  async remainTimeToLive(): Promise<number> {
    return (await this.look()).ttlMs;
  }

  /** All that Redis stores about the lock. */
  protected async look(): Promise<LockRecord> {
    const lock = this.#lock;
    lock.client.assertOpen(lock);
    const { look } = await import("./look.js");
    return look(lock);
  }

  release(hold: Hold): Promise<void> {
    return release(this.#lock, hold);
  }

  async releaseWith(hold: Hold, options: UnlockOptions): Promise<void> {
    checkUnlockOptions(options);
    const { keepForMs } = options;
    await (keepForMs === undefined ? release(this.#lock, hold) : keep(this.#lock, hold, keepForMs));
  }

  async extend(hold: Hold, leaseMs: number): Promise<void> {
    checkLease(leaseMs);
    await extend(this.#lock, hold, leaseMs);
  }

  runIn<T>(find: Body["find"], lease: object, body: () => T | Promise<T>, after?: AfterBody): Promise<T> {
    const { client, id: lockId } = this.#lock;
    return client.threads.runIn({ lockId, find, lease }, body, after);
  }

  #bareLease(hold: Hold): L {
    const lease = new this.#leaseClass(hold, this);
    if (!hold.bare) this.keep(hold, lease);
    return lease;
  }

  /** Keeps a reference to a lease from `lock` or `tryLock` inside `asThread` until that body ends, so that the caller need not keep one. */
  keep(hold: Hold, lease: object): void {
    if (!hold.bare) this.#ownScope()?.keepLease(hold, lease);
  }

  /** The scope of the caller, if `asThread` opened it. */
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

  /**
   * @param come turns the hold (undefined if the lock was not acquired in time) into the call's result; runs in the caller's async context
   */
  #take<T>(call: Take, come: (hold: Hold | undefined, wish: Wish) => T | Promise<T>): Promise<T> {
    const lock = this.#lock;
    const { client } = lock;
    const { options, form } = call;
    let wish: Wish;
    try {
      call.check?.();
      if (options !== NO_OPTIONS) {
        checkLockOptions(options);
        const { keepForMs } = options;
        if (keepForMs !== undefined) checkKept(keepForMs, form, lock.name, lock.kind);
      }
      client.assertOpen(lock);
      const waitMs = options.waitMs ?? call.waitMs ?? client.settings.waitMs;
      const waiter = client.newWaiter(waitMs, options.signal, lock);
      waiter.note = options.note;
      wish = new Wish(client, options, { form, waits: waitMs !== 0, waiter, timeoutMs: undefined });
    } catch (error) {
      return Promise.reject(error);
    }
    const { threadId } = options;
    if (!isTraced(events.acquire)) return acquire(lock, wish, { threadId }, come);
    const { name, kind } = lock;
    const begun = { client, name, kind: kind.name, terms: wish.terms };
    return tracedCall(begun, wish, acquired, (tell) => {
      const told = (hold: Hold | undefined) => tell.ended(hold, () => come(hold, wish));
      return acquire(lock, wish, { threadId, failed: tell.failed }, told);
    });
  }
}

showInLogs(LeaseLock, "Lock");

/** What the event says about a hold. */
function acquired({ stay, holdCount, token }: Hold): Acquired {
  const { field: holder } = stay;
  return token === undefined ? { holder, holdCount } : { holder, holdCount, token };
}

/** How one call takes the lock. */
interface Take {
  readonly options: UsingOptions;
  readonly form: Wish["form"];
  /** How long to wait if the options do not say. Default: the client's `waitMs`. */
  readonly waitMs?: number;
  /** Throws for a wrong argument. */
  readonly check?: () => void;
}

const NO_OPTIONS: UsingOptions = {};

type UsingOptions = LockOptions & UnlockOptions;

function whyNotHeld(threadId: number | undefined, scope: Scope | undefined): string {
  if (threadId !== undefined) return `by thread ${threadId} of this client`;
  if (scope === undefined) return "outside of asThread a hold is released through its lease (lease.unlock())";
  return "by this asThread call; release other holds through their lease (lease.unlock())";
}
