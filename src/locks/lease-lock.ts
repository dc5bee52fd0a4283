import { NotHeldError, type Obstacle, WaitTimeoutError } from "../errors.js";
import { HeldLease, type Keeper, type Lease } from "../lease.js";
import { checkLockOptions, checkThreadId, type LockOptions } from "../options.js";
import type { Hold, Terms } from "../threads/hold.js";
import type { Holding } from "../threads/holding.js";
import type { Scope } from "../threads/scope.js";
import { ask, type Wish, waitInLine } from "./acquire.js";
import { type Claim, claimOf, mayEnter } from "./claim.js";
import { forceUnlock } from "./force-unlock.js";
import type { Lock } from "./lock.js";
import type { LockIdentity } from "./lock-kind.js";
import { look } from "./look.js";
import { release } from "./release.js";
import { traced } from "./traced.js";

/** The lock was not to be had in time. */
interface Refusal {
  readonly obstacle: Obstacle | undefined;
  readonly waitedMs: number;
}

/** The engine of all locks that are one key with a lease; a {@link LockIdentity} says of which kind. */
export class LeaseLock implements Lock, Keeper {
  readonly #lock: LockIdentity;

  constructor(lock: LockIdentity) {
    this.#lock = lock;
  }

  get name(): string {
    return this.#lock.name;
  }

  async lock(options: LockOptions = {}): Promise<Lease> {
    return this.#bareLease(this.#orThrow(await this.#acquire(options, undefined, "lock")));
  }

  async tryLock(options: LockOptions = {}): Promise<Lease | null> {
    const outcome = await this.#acquire(options, 0, "lock");
    return isRefusal(outcome) ? null : this.#bareLease(outcome);
  }

  async using<T>(
    ...given: [(lease: Lease) => T | Promise<T>] | [LockOptions, (lease: Lease) => T | Promise<T>]
  ): Promise<T> {
    const [options, body] = given.length === 1 ? [{}, given[0]] : given;
    if (typeof body !== "function") throw new TypeError("using needs a function to run under the lock");
    const hold = this.#orThrow(await this.#acquire(options, undefined, "using"));
    const lease = new HeldLease(hold, this);
    let result: T;
    try {
      result = await this.runIn(hold, lease, () => body(lease));
    } catch (error) {
      await lease.end();
      throw error;
    }
    const loss = await lease.end();
    if (loss !== undefined) throw loss;
    return result;
  }

  async unlock(threadId?: number): Promise<void> {
    if (threadId !== undefined) checkThreadId(threadId);
    const { threads } = this.#lock.client;
    const hold =
      threadId === undefined
        ? this.#ownScope()?.innermostTaken(this.#lock.key)
        : threads.find(threadId)?.holdings.get(this.#lock.key)?.innermost;
    if (hold === undefined) throw new NotHeldError(this.name, whyNotHeld(threadId, this.#ownScope()));
    await release(this.#lock, hold);
  }

  async forceUnlock(): Promise<boolean> {
    this.#lock.client.assertOpen();
    return forceUnlock(this.#lock);
  }

  async isLocked(): Promise<boolean> {
    return (await look(this.#lock)).type !== "none";
  }

  async isHeldByCurrentThread(): Promise<boolean> {
    return (await this.getHoldCount()) > 0;
  }

  async isHeldByThread(threadId: number): Promise<boolean> {
    return (await this.getHoldCount(threadId)) > 0;
  }

  async getHoldCount(threadId?: number): Promise<number> {
    const { client, key } = this.#lock;
    client.assertOpen();
    if (threadId !== undefined) checkThreadId(threadId);
    const holding =
      threadId === undefined
        ? client.threads.current?.holdOf(key)?.holding
        : client.threads.find(threadId)?.holdings.get(key);
    // What this client never took nobody else can have taken in its name.
    if (holding === undefined) return 0;
    return Number((await look(this.#lock)).fields[holding.field] ?? 0);
  }

  async remainTimeToLive(): Promise<number> {
    return (await look(this.#lock)).ttlMs;
  }

  release(hold: Hold): Promise<void> {
    return release(this.#lock, hold);
  }

  runIn<T>(hold: Hold, lease: Lease, body: () => T | Promise<T>): Promise<T> {
    return this.#lock.client.threads.runIn(hold, lease, body);
  }

  #bareLease(hold: Hold): Lease {
    const lease = new HeldLease(hold, this);
    if (!hold.bare) this.#ownScope()?.keepLease(hold, lease);
    return lease;
  }

  /** The scope of the caller if it is one that `asThread` opened. */
  #ownScope(): Scope | undefined {
    const { current } = this.#lock.client.threads;
    return current?.isThread ? current : undefined;
  }

  #orThrow(outcome: Hold | Refusal): Hold {
    if (isRefusal(outcome)) throw new WaitTimeoutError(this.name, outcome.waitedMs, outcome.obstacle);
    return outcome;
  }

  /** @param defaultWaitMs how long to wait when the options do not say */
  async #acquire(
    options: LockOptions,
    defaultWaitMs: number | undefined,
    form: "lock" | "using",
  ): Promise<Hold | Refusal> {
    const { client } = this.#lock;
    checkLockOptions(options);
    client.assertOpen();
    const waitMs = options.waitMs ?? defaultWaitMs;
    const waiter = client.newWaiter(waitMs, options.signal);
    const wish: Wish = {
      terms: this.#terms(options),
      form,
      takenIn: undefined,
      waiter,
      again: false,
      attempts: 0,
      obstacle: undefined,
    };
    try {
      const work = () => this.#fulfil(wish, options, waitMs !== 0);
      const hold = await traced(this.#lock, wish, work);
      return hold ?? { obstacle: wish.obstacle, waitedMs: waiter.waitedMs };
    } finally {
      client.dismiss(waiter);
    }
  }

  async #fulfil(wish: Wish, options: LockOptions, mayWait: boolean): Promise<Hold | undefined> {
    const lock = this.#lock;
    const { threads } = lock.client;
    for (;;) {
      if (wish.waiter.cancelled) throw wish.waiter.reason;
      const claim = claimOf(lock, options.threadId);
      wish.takenIn =
        wish.form === "lock" && options.threadId === undefined ? this.#scopeOf(claim) : undefined;
      const present = claim.outer?.holding ?? claim.thread.holdings.get(lock.key);
      if (present === undefined) {
        const holding = threads.begin(claim.thread, lock);
        holding.unsettled();
        const work = mayWait ? waitInLine(lock, holding, wish) : ask(lock, holding, wish);
        return await work.finally(() => holding.settled());
      }
      if (!(await present.enterInTurn(() => mayEnter(lock, claim), wish.waiter))) {
        return this.#refuseEntry(wish, present);
      }
      try {
        // A stay under a chosen id may have ended meanwhile; the call then begins the next one.
        wish.again = present.live.length > 0 || claim.outer !== undefined;
        if (wish.again) return await ask(lock, present, wish);
      } finally {
        present.settled();
      }
    }
  }

  /** The scope of `asThread` in which a bare hold of this call lies; none for a stranger's. */
  #scopeOf(claim: Claim): Scope | undefined {
    const own = this.#ownScope();
    return claim.outer !== undefined || claim.thread === own?.thread ? own : undefined;
  }

  #refuseEntry(wish: Wish, { field, innermost }: Holding): undefined {
    if (wish.waiter.cancelled) throw wish.waiter.reason;
    wish.obstacle = { holder: field, ttlMs: innermost?.checkMs() ?? -1, own: true };
  }

  #terms({ leaseMs, maxHoldMs }: LockOptions): Terms {
    const { watchdogMs, clockSkewMs } = this.#lock.client.settings;
    return { leaseMs: leaseMs ?? watchdogMs, renewed: leaseMs === undefined, maxHoldMs, clockSkewMs };
  }
}

function isRefusal(outcome: Hold | Refusal): outcome is Refusal {
  return "waitedMs" in outcome;
}

function whyNotHeld(threadId: number | undefined, scope: Scope | undefined): string {
  if (threadId !== undefined) return `thread ${threadId} of this client has no hold of it`;
  const here =
    scope === undefined ? "outside of asThread" : "what this thread has not taken in this very asThread";
  return `${here} a hold is released by its lease: use lease.unlock()`;
}
