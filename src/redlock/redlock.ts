import { EventEmitter } from "node:events";
import { systemClock } from "../clock.js";
import type { LockOptions } from "../index.js";
import { namesOf, refuseCallback, resourcesOf } from "./arguments.js";
import { memberOf, type RedlockClient, type RedlockMember } from "./clients.js";
import { asLockError, ExecutionError, type ExecutionResult, LockError } from "./errors.js";
import { giveBack, giveBackOf, type HeldLeases, holdersOf, remainingMs, take } from "./holds.js";
import { ChangingLock, RedlockLock } from "./lock.js";
import { type Routine, routineOf, signalOf } from "./routine.js";
import { checkDuration, driftMsOf, type Settings, settingsOf } from "./settings.js";
import { isAboutLock, Votes } from "./votes.js";

/** In the words of redlock 5. */
const NO_QUORUM = "The operation was unable to achieve a quorum during its retry window.";
const SHORTEST_WATCHDOG_MS = 1_000;
const LONGEST_WATCHDOG_MS = 86_400_000;

/**
 * The interface of redlock 5, and the promises of redlock 4, on the locks of holdfast: a program changes its import, and its locks exclude
 * the locks of processes that still use redlock.
 *
 * @see docs/migrate/redlock.md
 */
export class Redlock extends EventEmitter {
  /** As in redlock 4. */
  static readonly LockError: typeof LockError = LockError;
  static readonly Lock: typeof RedlockLock = RedlockLock;
  readonly clients: Set<RedlockClient>;
  readonly settings: Settings;
  readonly #members: readonly RedlockMember[];

  /**
   * @param clients one for each independent server or cluster. Each gets its own Holdfast, which ends with the client; a Holdfast is used
   * directly
   * @param scripts not possible: TypeError
   * @throws Error without a client; TypeError
   */
  constructor(clients: Iterable<RedlockClient>, settings: Partial<Settings> = {}, scripts: object = {}) {
    super();
    // Without a listener a failure of a minority would end the process.
    this.on("error", () => undefined);
    this.clients = new Set(clients);
    if (this.clients.size === 0)
      throw new Error("Redlock must be instantiated with at least one redis client.");
    // Redlock 4 accepts these settings among its options.
    if (Object.keys({ ...settings, ...scripts }).some((name) => name.endsWith("Script")))
      throw new TypeError("holdfast/redlock runs its own scripts: they can not be replaced");
    this.settings = settingsOf(settings);
    this.#members = [...this.clients].map(memberOf);
  }

  /**
   * Ends the clients, like redlock, and the connections that were opened for them. Held locks stay until their durations are over.
   * @example await redlock.quit();
   */
  async quit(...callback: readonly unknown[]): Promise<void> {
    refuseCallback(callback[0], "redlock.quit()");
    await Promise.all(this.#members.map((member) => member.quit()));
  }

  /**
   * Locks all of some resources, or none. A single resource outside an array is locked as by `lock` of redlock 4.
   *
   * @param durationMs after this many milliseconds the lock ends by itself
   * @throws ExecutionError if they are not acquired in time, with a ResourceLockedError for each client on which another caller has them;
   * Error, RangeError, TypeError, InvalidNameError
   * @example const lock = await redlock.acquire(["account:1", "account:2"], 5_000);
   */
  async acquire(
    resources: string | readonly string[],
    durationMs: number,
    settings?: Partial<Settings>,
  ): Promise<RedlockLock> {
    refuseCallback(settings, "redlock.acquire(resources, duration)");
    if (typeof resources === "string") return this.lockWithOptions(resources, durationMs, settings ?? {});
    return this.#acquire(resources, durationMs, settings, RedlockLock);
  }

  /**
   * Unlocks. An event `error` reports a lock that had already ended; with `strictRelease`, the call rejects with an ExecutionError, as
   * redlock always does.
   *
   * @throws ExecutionError when too few clients have answered: the lock then ends by itself
   * @example await redlock.release(lock);
   */
  async release(lock: RedlockLock, settings?: Partial<Settings>): Promise<ExecutionResult> {
    refuseCallback(settings, "redlock.release(lock)");
    const released = this.#release(lock, settings);
    return lock instanceof ChangingLock ? released.catch(unreleased(lock)) : released;
  }

  async #release(lock: RedlockLock, settings?: Partial<Settings>): Promise<ExecutionResult> {
    lock.expiration = 0;
    const held = this.#held.get(lock.value);
    const votes = this.#votesOn(lock.resources);
    if (held === undefined) await giveBackOf(lock.value, lock.resources, this.#members, votes);
    else {
      this.#held.delete(lock.value);
      await giveBack(held, votes);
    }
    this.#tell(votes);
    const { strictRelease = false } = settingsOf(settings, this.settings);
    if (votes.isQuorum || (!strictRelease && votes.areOver)) return { attempts: votes.attempts };
    throw new ExecutionError(NO_QUORUM, votes.attempts);
  }

  /**
   * Makes a lock last for this many milliseconds from now on.
   *
   * @returns the lock with its new expiration; the former one has expired
   * @throws ExecutionError when the lock has ended, was acquired by another process, or too few clients have answered; Error, RangeError
   * @example const extended = await redlock.extend(lock, 5_000);
   */
  async extend(
    existing: RedlockLock,
    durationMs: number,
    settings?: Partial<Settings>,
  ): Promise<RedlockLock> {
    refuseCallback(settings, "redlock.extend(lock, duration)");
    const extended = this.#extend(existing, durationMs, settings);
    return existing instanceof ChangingLock
      ? existing.extendedAs(await extended.catch(unextended(existing, this.settings)))
      : extended;
  }

  async #extend(
    existing: RedlockLock,
    durationMs: number,
    settings?: Partial<Settings>,
  ): Promise<RedlockLock> {
    checkDuration(durationMs);
    const startMs = systemClock.wallMs();
    const { resources, value, expiration } = existing;
    if (expiration < startMs) throw new ExecutionError("Cannot extend an already-expired lock.");
    const held = this.#held.get(value);
    if (held === undefined)
      throw new ExecutionError(
        "Cannot extend a lock that was acquired by another process, or by other clients.",
      );
    const votes = this.#votesOn(resources);
    try {
      await Promise.all(held.map((lease) => lease.extend(durationMs)));
    } catch (error) {
      throw this.#lost(votes, error);
    }
    votes.succeed(value);
    existing.expiration = 0;
    const driftMs = driftMsOf(settingsOf(settings, this.settings), durationMs);
    return new RedlockLock(
      this,
      resources,
      value,
      votes.attempts,
      expirationOf(held, startMs + durationMs - driftMs),
    );
  }

  /**
   * Runs a routine while all of the resources are locked, however long it takes. Its signal aborts when the lock is lost.
   *
   * @param durationMs how long the lock outlasts a dead process at most, in milliseconds; rounded like `watchdogMs` of a lock
   * @throws what the routine throws; ExecutionError as `acquire`, and when the lock was lost before the routine has ended
   * @example await redlock.using(["account:1"], 5_000, (signal) => transfer({ signal }));
   */
  async using<T>(resources: string | readonly string[], durationMs: number, routine: Routine<T>): Promise<T>;
  async using<T>(
    resources: string | readonly string[],
    durationMs: number,
    settings: Partial<Settings>,
    routine?: Routine<T>,
  ): Promise<T>;
  async using<T>(
    resources: string | readonly string[],
    durationMs: number,
    ...rest: readonly (Partial<Settings> | Routine<T> | undefined)[]
  ): Promise<T> {
    checkDuration(durationMs);
    const { routine, given: overrides } = routineOf<T>(rest);
    const settings = settingsOf(overrides, this.settings);
    if (settings.automaticExtensionThreshold > durationMs - 100)
      throw new Error(
        "A lock `duration` must be at least 100ms greater than the `automaticExtensionThreshold` setting.",
      );
    const watchdogMs = Math.min(Math.max(durationMs, SHORTEST_WATCHDOG_MS), LONGEST_WATCHDOG_MS);
    const given = resourcesOf(resources);
    const held = await this.#take(given, { watchdogMs }, settings);
    const { signal, end } = signalOf(held, (reason) => this.#lost(this.#votesOn(given), reason));
    let value: T;
    try {
      value = await routine(signal);
    } catch (error) {
      await giveBack(held, this.#votesOn(given));
      throw error;
    } finally {
      end();
    }
    const votes = this.#votesOn(given);
    await giveBack(held, votes);
    if (signal.error !== undefined) throw signal.error;
    this.#tell(votes);
    if (!votes.isQuorum) throw new ExecutionError(NO_QUORUM, votes.attempts);
    return value;
  }

  /**
   * Like redlock 4: an extension changes the lock itself, and failures are LockErrors.
   * @example const lock = await redlock.lock("account:1", 5_000);
   */
  async lock(
    resource: string | readonly string[],
    ttlMs: number,
    ...callback: readonly unknown[]
  ): Promise<RedlockLock> {
    refuseCallback(callback[0], "redlock.lock(resource, ttl)");
    return this.lockWithOptions(resource, ttlMs, {});
  }

  /**
   * As in redlock 4.
   * @example const lock = await redlock.lockWithOptions("account:1", 5_000, { retryCount: 0 });
   */
  async lockWithOptions(
    resource: string | readonly string[],
    ttlMs: number,
    options: Partial<Settings>,
    ...callback: readonly unknown[]
  ): Promise<RedlockLock> {
    refuseCallback(callback[0], "redlock.lockWithOptions(resource, ttl, options)");
    const settings = settingsOf(options, this.settings);
    return this.#acquire(resource, ttlMs, options, ChangingLock).catch(
      unlocked(resourcesOf(resource), settings),
    );
  }

  /**
   * As in redlock 4.
   * @example const lock = await redlock.acquireWithOptions("account:1", 5_000, { retryCount: 0 });
   */
  async acquireWithOptions(
    resource: string | readonly string[],
    ttlMs: number,
    options: Partial<Settings>,
    ...callback: readonly unknown[]
  ): Promise<RedlockLock> {
    return this.lockWithOptions(resource, ttlMs, options, ...callback);
  }

  /**
   * As in redlock 4.
   * @example await redlock.unlock(lock);
   */
  async unlock(lock: RedlockLock, ...callback: readonly unknown[]): Promise<void> {
    refuseCallback(callback[0], "redlock.unlock(lock)");
    await this.release(lock).catch(unreleased(lock));
  }

  /** A method of redlock 4, for bluebird. @throws TypeError that names the replacement */
  disposer(): never {
    throw new TypeError(
      "holdfast/redlock has no disposers: write await redlock.using([resource], ttl, async (signal) => { … })",
    );
  }

  get #held(): Map<string, HeldLeases> {
    const [first] = this.#members;
    return first?.held ?? new Map();
  }

  async #acquire(
    given: string | readonly string[],
    durationMs: number,
    overrides: Partial<Settings> | undefined,
    kind: typeof RedlockLock,
  ): Promise<RedlockLock> {
    checkDuration(durationMs);
    const resources = resourcesOf(given) as string[];
    const settings = settingsOf(overrides, this.settings);
    const held = await this.#take(resources, { leaseMs: durationMs }, settings);
    const value = holdersOf(held);
    const votes = this.#votesOn(resources);
    votes.succeed(value);
    this.#tell(votes);
    this.#held.set(value, held);
    for (const { signal } of held)
      signal.addEventListener("abort", () => this.#held.delete(value), { once: true });
    const endMs = systemClock.wallMs() + durationMs - driftMsOf(settings, durationMs);
    return new kind(this, resources, value, votes.attempts, expirationOf(held, endMs));
  }

  #take(resources: readonly string[], terms: LockOptions, settings: Settings): Promise<HeldLeases> {
    return take(this.#members, namesOf(resources), terms, settings, (error) => {
      const votes = this.#votesOn(resources);
      if (!votes.fail(error)) return error;
      this.#tell(votes);
      return new ExecutionError(NO_QUORUM, votes.attempts);
    });
  }

  #votesOn(resources: readonly string[]): Votes {
    return new Votes(this.#members, resources.length);
  }

  #lost(votes: Votes, cause: unknown): ExecutionError {
    votes.lose(cause);
    this.#tell(votes);
    return new ExecutionError(NO_QUORUM, votes.attempts, { cause });
  }

  #tell(votes: Votes): void {
    for (const error of votes.errors) {
      this.emit("error", error);
      // As in redlock 4.
      if (!isAboutLock(error)) this.emit("clientError", error);
    }
  }
}

/** In the words of redlock 4. */
function unlocked(resources: readonly string[], { retryCount }: Settings): (error: unknown) => never {
  return asLockError(`Exceeded ${retryCount} attempts to lock the resource "${resources.join(",")}".`, 1);
}

function unextended({ resources, expiration }: RedlockLock, settings: Settings): (error: unknown) => never {
  if (expiration >= systemClock.wallMs()) return unlocked(resources, settings);
  const names = resources.join(",");
  return asLockError(`Cannot extend lock on resource "${names}" because the lock has already expired.`, 0);
}

function unreleased({ resources }: RedlockLock): (error: unknown) => never {
  return asLockError(`Unable to fully release the lock on resource "${resources.join(",")}".`);
}

function expirationOf(held: HeldLeases, endMs: number): number {
  return Math.floor(Math.min(endMs, systemClock.wallMs() + remainingMs(held)));
}
