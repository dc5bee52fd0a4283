import { checkBody, checkClusterLatch, checkDriver, refuseSurplus } from "./checks.js";
import { Client } from "./client.js";
import type { HoldfastOptions } from "./client-options.js";
import { type CloseOptions, closeSettings } from "./close-options.js";
import type { Driver } from "./driver/driver.js";
import { events } from "./events.js";
import { findLocks, type LockSearch } from "./finding/find-locks.js";
import { type FindLocksOptions, findSettings } from "./finding/finding-options.js";
import { HeldLease, type Lease, type Tried } from "./lease.js";
import { fairLock, nonReentrantFairLock } from "./locks/fair-lock.js";
import { FencedLeaseLock, type FencedLock, fencedLock } from "./locks/fenced-lock.js";
import type { ForceUnlockOutcome } from "./locks/force-unlock.js";
import { identify, keyFor } from "./locks/identify.js";
import type { LockState } from "./locks/inspect.js";
import { assertLocked, leaseHere } from "./locks/lease-here.js";
import { LeaseLock } from "./locks/lease-lock.js";
import type { Lock } from "./locks/lock.js";
import type { LockKind } from "./locks/lock-kind.js";
import { MultiLock } from "./locks/multi-lock.js";
import { nonReentrantLock } from "./locks/non-reentrant-lock.js";
import { type ReadWriteLock, readWriteKinds } from "./locks/read-write-lock.js";
import { RedLock } from "./locks/red-lock.js";
import { reentrantLock } from "./locks/reentrant-lock.js";
import { releaseEverything } from "./locks/release-everything.js";
import { spinLock } from "./locks/spin-lock.js";
import {
  checkLockSettings,
  checkReadWriteLockSettings,
  checkSpinLockSettings,
  type LockOptions,
  type LockSettings,
  type ReadWriteLockSettings,
  type SpinLockSettings,
  type UnlockOptions,
} from "./options.js";
import { checkPingOptions, type PingOptions, type Pong, ping } from "./ping.js";
import type { Fleet } from "./presence/fleet.js";
import { KnownClients } from "./presence/known-clients.js";
import { Membership } from "./presence/membership.js";
import type { FleetOptions } from "./presence/presence-options.js";
import { showInLogs } from "./printed.js";
import { latchChannel, semaphoreChannel } from "./protocol/names.js";
import type { Count } from "./synchronizers/count.js";
import { type CountDownLatch, RemoteLatch } from "./synchronizers/count-down-latch.js";
import {
  LeasingSemaphore,
  type PermitExpirableSemaphore,
} from "./synchronizers/permit-expirable-semaphore.js";
import { releaseAllPermits } from "./synchronizers/release-permits.js";
import type {
  ForceReleaseOptions,
  ForceReleaseOutcome,
  SetPermitsOutcome,
} from "./synchronizers/seen-semaphore.js";
import { CountingSemaphore, type Semaphore } from "./synchronizers/semaphore.js";
import { Thread } from "./threads/thread.js";

/**
 * Distributed locks on Redis or Valkey, on the keys of Redisson. The methods `get…` have the names of Redisson's.
 *
 * One client for a process is enough. Creating it sends nothing: the first command comes with the first lock or, with presence, the first
 * report.
 */
export class Holdfast implements AsyncDisposable {
  readonly #client: Client;
  readonly #membership: Membership | undefined;
  readonly #knownClients = new KnownClients();
  #closing: Promise<void> | undefined;

  /**
   * @param driver the connection, used by this client alone
   * @throws TypeError, RangeError
   */
  constructor(driver: Driver, options: HoldfastOptions = {}) {
    checkDriver(driver);
    const client = new Client(driver, options);
    const { presence } = client.settings;
    this.#client = client;
    this.#membership = presence && new Membership(client, presence);
    if (events.clientOpen.hasSubscribers) events.clientOpen.publish({ ...client.about });
  }

  /**
   * Aborts when {@link close} begins, with a ClientClosedError, so that running bodies learn of it while their grace lasts. A lease's own
   * signal aborts when the grace is over.
   */
  get closing(): AbortSignal {
    return this.#client.closing;
  }

  /** @example JSON.stringify(holdfast); // {"clientId":"6e1f…"} */
  toJSON(): object {
    return { clientId: this.clientId };
  }

  /** The first part of every holder of this client: a random UUID. */
  get clientId(): string {
    return this.#client.id;
  }

  /**
   * Short for `getLock(name).lock(options)`.
   * @throws as {@link Lock.lock}; InvalidNameError
   * @example await using lease = await holdfast.lock("order:42", { waitMs: 5_000 });
   */
  async lock(name: string, options?: LockOptions): Promise<Lease> {
    return this.getLock(name).lock(options);
  }

  /**
   * Short for `getLock(name).tryLock(options)`.
   * @throws as {@link Lock.tryLock}; InvalidNameError
   * @example
   * const lease = await holdfast.tryLock("order:42");
   * if (lease !== null) await work().finally(() => lease.unlock());
   */
  async tryLock(name: string, options?: LockOptions): Promise<Lease | null> {
    return this.getLock(name).tryLock(options);
  }

  /**
   * Short for `getLock(name).using(body)`.
   * @throws as {@link Lock.using}; InvalidNameError
   * @example await holdfast.using("order:42", (lease) => charge(order, { signal: lease.signal }));
   */
  using<T>(name: string, body: LeaseBody<T>): Promise<T>;
  using<T>(name: string, options: LockOptions & UnlockOptions, body: LeaseBody<T>): Promise<T>;
  async using<T>(name: string, ...args: readonly unknown[]): Promise<T> {
    return this.getLock(name).using(...(args as [LeaseBody<T>]));
  }

  /**
   * Short for `getLock(name).tryUsing(body)`.
   * @throws as {@link Lock.tryUsing}; InvalidNameError
   * @example const { ran } = await holdfast.tryUsing("report", report);
   */
  tryUsing<T>(name: string, body: LeaseBody<T>): Promise<Tried<T>>;
  tryUsing<T>(name: string, options: LockOptions & UnlockOptions, body: LeaseBody<T>): Promise<Tried<T>>;
  async tryUsing<T>(name: string, ...args: readonly unknown[]): Promise<Tried<T>> {
    return this.getLock(name).tryUsing(...(args as [LeaseBody<T>]));
  }

  /**
   * A lock that its thread may take again.
   * @throws InvalidNameError, TypeError
   * @example const lock = holdfast.getLock("order:42");
   */
  getLock(name: string, settings: LockSettings = {}): Lock {
    checkLockSettings(settings);
    return this.#lock(reentrantLock, name, settings);
  }

  /**
   * A lock that its thread cannot take again: the try fails with a ReentryError.
   * @throws InvalidNameError
   * @example const lock = holdfast.getNonReentrantLock("invoice:7");
   */
  getNonReentrantLock(name: string): Lock;
  getNonReentrantLock(name: string, ...surplus: readonly unknown[]): Lock {
    refuseSurplus("getNonReentrantLock", surplus);
    return this.#lock(nonReentrantLock, name, {});
  }

  /**
   * A lock that is given to its waiters in the order in which they asked, across processes.
   * @throws InvalidNameError, TypeError
   * @example await holdfast.getFairLock("printer").using(() => print(page));
   */
  getFairLock(name: string, settings: LockSettings = {}): Lock {
    checkLockSettings(settings);
    return this.#lock(fairLock, name, settings);
  }

  /**
   * A fair lock without re-entry, as `getNonReentrantLock`.
   * @throws InvalidNameError
   * @example await holdfast.getNonReentrantFairLock("printer").using(() => print(page));
   */
  getNonReentrantFairLock(name: string): Lock;
  getNonReentrantFairLock(name: string, ...surplus: readonly unknown[]): Lock {
    refuseSurplus("getNonReentrantFairLock", surplus);
    return this.#lock(nonReentrantFairLock, name, {});
  }

  /**
   * A lock whose waiters ask again and again, without a connection for messages.
   * @throws InvalidNameError, TypeError, RangeError
   * @example const lock = holdfast.getSpinLock("counter", { backoff: { type: "constant", delayMs: 50 } });
   */
  getSpinLock(name: string, settings: SpinLockSettings = {}): Lock {
    checkSpinLockSettings(settings);
    const { backoff = { type: "exponential" } } = settings;
    return this.#lock(spinLock(backoff), name, settings);
  }

  /**
   * A lock with a fencing token in each lease, so that a store can refuse the writes of a former holder.
   * @throws InvalidNameError, TypeError
   * @example await holdfast.getFencedLock("invoice:7").using(({ token }) => database.save({ paid: true, token }));
   */
  getFencedLock(name: string, settings: LockSettings = {}): FencedLock {
    checkLockSettings(settings);
    return new FencedLeaseLock(identify(this.#client, fencedLock, name, settings));
  }

  /**
   * Many readers or one writer.
   * @throws InvalidNameError, TypeError
   * @example const catalog = holdfast.getReadWriteLock("catalog", { fair: true });
   */
  getReadWriteLock(name: string, settings: ReadWriteLockSettings = {}): ReadWriteLock {
    checkReadWriteLockSettings(settings);
    const { read, write } = readWriteKinds(settings.fair ?? false);
    const readLock = this.#lock(read, name, settings);
    const writeLock = this.#lock(write, name, settings);
    return { name, readLock: () => readLock, writeLock: () => writeLock };
  }

  /**
   * Several locks as one lock, which is held while all members are held. Members may be of any kind and of any client.
   * @throws TypeError
   * @example const both = holdfast.getMultiLock(holdfast.getLock("account:1"), holdfast.getLock("account:2"));
   */
  getMultiLock(...locks: readonly Lock[]): Lock {
    return new MultiLock(locks, this.#client);
  }

  /**
   * Locks on independent servers as one lock, which is held while a majority of them is held.
   * @throws TypeError
   * @example const lock = a.getRedLock(a.getLock("ledger"), b.getLock("ledger"), c.getLock("ledger"));
   */
  getRedLock(...locks: readonly Lock[]): Lock {
    return new RedLock(locks, this.#client);
  }

  /**
   * A number of permits without owners: any caller may release a permit. After a crash they stay taken. Leased permits of
   * `getPermitExpirableSemaphore` return by themselves.
   * @throws InvalidNameError
   * @example
   * const slots = holdfast.getSemaphore("import-slots");
   * await slots.trySetPermits(3);
   */
  getSemaphore(name: string): Semaphore;
  getSemaphore(name: string, ...surplus: readonly unknown[]): Semaphore {
    refuseSurplus("getSemaphore", surplus, "await semaphore.trySetPermits(?)");
    return new CountingSemaphore(this.#count("semaphore", name, semaphoreChannel));
  }

  /**
   * A number of permits that may have a lease, and return by themselves when it ends.
   * @throws InvalidNameError
   * @example
   * const partner = holdfast.getPermitExpirableSemaphore("partner-api");
   * await partner.trySetPermits(5);
   */
  getPermitExpirableSemaphore(name: string): PermitExpirableSemaphore;
  getPermitExpirableSemaphore(name: string, ...surplus: readonly unknown[]): PermitExpirableSemaphore {
    refuseSurplus("getPermitExpirableSemaphore", surplus, "await semaphore.trySetPermits(?)");
    return new LeasingSemaphore(this.#count("permit-expirable-semaphore", name, semaphoreChannel));
  }

  /**
   * A latch that opens when its count reaches zero.
   * @throws InvalidNameError
   * @example const done = holdfast.getCountDownLatch("import:2026-11-21");
   */
  getCountDownLatch(name: string): CountDownLatch;
  getCountDownLatch(name: string, ...surplus: readonly unknown[]): CountDownLatch {
    refuseSurplus("getCountDownLatch", surplus, "await latch.trySetCount(?)");
    const latch = this.#count("count-down-latch", name, latchChannel);
    if (this.#client.inCluster) checkClusterLatch(latch.key, this.#client.settings.pubSub);
    return new RemoteLatch(latch);
  }

  /**
   * Runs a body as one thread, for code in Redisson's style: the body may take a lock again that it took with `lock` or `tryLock`, and
   * release it with `unlock`. Inside another scope it runs as that scope's thread.
   * @throws ClientClosedError, TypeError
   * @example
   * await holdfast.asThread(async () => {
   *   await lock.lock();
   *   await lock.unlock();
   * });
   */
  async asThread<T>(body: () => T | Promise<T>): Promise<T> {
    this.#client.assertOpen();
    checkBody("asThread", body);
    const { threads } = this.#client;
    return threads.runAs(threads.current?.thread ?? new Thread(), body);
  }

  /**
   * Runs a body outside the scope of the caller, so that it re-enters no lock. For pools, loaders and queues.
   * @throws TypeError
   * @example const pool = holdfast.outside(() => createPool());
   */
  outside<T>(body: () => T): T {
    checkBody("outside", body);
    return this.#client.threads.outside(body);
  }

  /**
   * The lease of the innermost body around the caller that has a lock of this name and any kind: a body of `using`, `tryUsing` or `run`, or
   * of `asThread` if the lock was taken in it. For a member of a joint lock it is the joint lease. Its `state` may be lost, but never
   * released. Sends nothing. For a fenced lock it is a {@link FencedLease}; test this with `"token" in lease`.
   * @returns undefined outside such a body, for example in a callback that has outlived it, and once the client is closed
   * @throws InvalidNameError
   * @example holdfast.leaseHere("order:42")?.assertHeld();
   */
  leaseHere(name: string): Lease | undefined {
    return leaseHere(this.#client, keyFor(this.#client, name));
  }

  /**
   * Asserts that the code runs in a body that has the lock of this name, as {@link leaseHere} finds it. Sends nothing.
   * @throws NotHeldError when the caller is not in such a body; LeaseLostError when the lease was lost; InvalidNameError
   * @example
   * const pay = () => holdfast.assertLocked("order:42");
   * await holdfast.using("order:42", pay);
   */
  assertLocked(name: string): void {
    assertLocked(name, this.leaseHere(name));
  }

  /**
   * The state that Redis stores of a lock, a semaphore or a latch, even if only JVMs use it. Advisory: it may have changed by the time it is
   * read.
   * @throws InvalidNameError, UnavailableError, WrongTypeError, ClientClosedError
   * @example const { holders, ttlMs } = await holdfast.inspect("order:42");
   */
  async inspect(name: string): Promise<LockState> {
    const key = keyFor(this.#client, name);
    const { inspect } = await import("./locks/inspect.js");
    return inspect(this.#client, name, key);
  }

  /**
   * The locks that are held or waited for, including locks of JVMs: the stored state of each, and its clients as far as presence reports
   * them. Looks in `sources`, by default in the reports of clients with the option `presence`. Each source misses some locks. Never sends
   * `KEYS`, and `SCAN` only for the source `scan`. Locks that have become free are left out, and so are keys that this user may not read.
   * Each loop is a new search. The locks come page by page, ordered by key within a page. After the loop nothing is sent. Advisory, like
   * `inspect`. The sources `channels` and `scan` ask all servers: if the loop throws, for example because a master can not be reached,
   * there may be more locks.
   * @throws TypeError, RangeError, ClientClosedError at once; UnavailableError, ClientClosedError, the reason of `signal` in the loop
   * @see docs/guide/finding-locks.md
   * @example for await (const { name, holders } of holdfast.locks({ match: "order:*" })) console.log(name, holders);
   */
  locks(options: FindLocksOptions = {}): LockSearch {
    const settings = findSettings(options);
    this.#client.assertOpen();
    return findLocks(this.#client, settings);
  }

  /**
   * Frees a lock from exactly the holders and hold counts that `inspect` has seen, for tools that show a lock before they free it. It frees
   * the key of the state, even if another client's `nameMapper` made that key.
   *
   * Two changes since `inspect` go unnoticed. Calls that got the lock from this holder inside its client lose it, too. A holder whose id
   * recurs (a JVM's thread, a chosen id) may lose a later hold of the same count. A former holder in another client learns of it as after
   * any `forceUnlock`: with its next renewal or release. Leases of this client learn of it at once.
   * @returns `released`: the holders are gone; `absent`: the lock was free; `changed`: it has other holders, and nothing was done
   * @throws TypeError if it is not the state of a lock (a semaphore's is not); InvalidNameError, UnavailableError, WrongTypeError,
   * ClientClosedError
   * @example
   * const seen = await holdfast.inspect("order:42");
   * if (await confirmed(seen.holders)) await holdfast.forceUnlock(seen);
   */
  async forceUnlock(seen: LockState): Promise<ForceUnlockOutcome> {
    const { forceUnlockSeen } = await import("./locks/force-unlock.js");
    return forceUnlockSeen(this.#client, seen);
  }

  /**
   * Gives back leased permits that `inspect` has seen, all of them or none. For tools, because permanent permits of a dead process never
   * return by themselves. Ids are never reused, so a permit that was taken later is safe. The holder learns of it with its next renewal;
   * for permanent permits, never. Leases of this client learn of it at once.
   * @returns `released`: they are available again; `absent`: all were back already; `changed`: some were back already, and nothing was done
   * @throws TypeError, RangeError if it is not the state of a permit-expirable semaphore, or if an id is not in its `taken`;
   * InvalidNameError, UnavailableError, WrongTypeError, ClientClosedError
   * @example
   * const seen = await holdfast.inspect("partner-api");
   * await holdfast.forceRelease(seen, { ids: [id] });
   */
  async forceRelease(seen: LockState, options: ForceReleaseOptions): Promise<ForceReleaseOutcome> {
    const { forceRelease } = await import("./synchronizers/seen-semaphore.js");
    return forceRelease(this.#client, seen, options);
  }

  /**
   * Changes how many permits a semaphore has, if it has as many as `inspect` has seen: `available` and `takenCount` together. A plain
   * semaphore stores only the available permits, so this is the way to give back the permits of a dead process. A latch is stored like a
   * plain semaphore: the caller must know the kind.
   * @returns `set`; `absent`: the semaphore does not exist; `changed`: it had another number, and nothing was done
   * @throws as `forceRelease`
   * @example await holdfast.setPermits(await holdfast.inspect("import-slots"), 3);
   */
  async setPermits(seen: LockState, permits: number): Promise<SetPermitsOutcome> {
    const { setPermitsSeen } = await import("./synchronizers/seen-semaphore.js");
    return setPermitsSeen(this.#client, seen, permits);
  }

  /**
   * For health checks: asks the server whether it answers. In a cluster this is the server of one key, whose name is `clientId`.
   * @throws UnavailableError at the latest after `timeoutMs`; TypeError, RangeError, ClientClosedError; the reason of the signal
   * @example const { rttMs } = await holdfast.ping({ timeoutMs: 500 });
   */
  async ping(options: PingOptions = {}): Promise<Pong> {
    checkPingOptions(options);
    return ping(this.#client, keyFor(this.#client, this.clientId), options);
  }

  /**
   * The clients of a group that have presence, with their holds and waits. Works even if this client has no presence, and reads the fleet
   * in pages of some hundred kilobytes. The answer is what the clients reported of themselves, some seconds ago.
   * @throws TypeError, RangeError, UnavailableError, ClientClosedError, the signal's reason
   * @example const { clients } = await holdfast.fleet();
   */
  async fleet(options: FleetOptions = {}): Promise<Fleet> {
    const { fleetOf } = await import("./presence/fleet.js");
    return fleetOf(this.#client, options, this.#knownClients);
  }

  /**
   * Aborts {@link closing}, refuses new calls and rejects waiting ones with ClientClosedError. Running bodies go on for `graceMs`, and may
   * still take locks. Then declares the remaining holds lost and stops renewing them. Closes only the connections that holdfast opened.
   * Safe twice.
   *
   * Waits for the bodies, `graceMs` at most. Then waits for releases, other commands under way, and the clean-up after lost answers. This
   * wait ends when a command has had no answer for one `commandTimeoutMs`, and at the latest after two. To end its connections, the Redis
   * client may need another `commandTimeoutMs`; usually it ends them at once.
   * @throws TypeError, RangeError before anything is done
   * @example await holdfast.close({ graceMs: 10_000, releaseHeld: true });
   */
  async close(options: CloseOptions = {}): Promise<void> {
    const { graceMs, releaseHeld } = closeSettings(options);
    this.#closing ??= this.#close(graceMs, releaseHeld);
    return this.#closing;
  }

  /** @example await using holdfast = new Holdfast(driver); */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(graceMs: number, releaseHeld: boolean): Promise<void> {
    const client = this.#client;
    await client.shut(graceMs);
    this.#membership?.leave();
    releaseEverything(client, releaseHeld);
    releaseAllPermits(client, releaseHeld);
    await client.stop();
    if (events.clientClose.hasSubscribers) events.clientClose.publish({ ...client.about });
  }

  #lock(kind: LockKind, name: string, settings: LockSettings): Lock {
    return new LeaseLock(identify(this.#client, kind, name, settings), HeldLease);
  }

  #count(kind: string, name: string, channelOf: (key: string) => string): Count {
    const client = this.#client;
    const key = keyFor(client, name);
    return { client, kind, name, key, channel: channelOf(key) };
  }
}

showInLogs(Holdfast, "Holdfast");

/** The function that runs under a lock. */
type LeaseBody<T> = (lease: Lease) => T | Promise<T>;
