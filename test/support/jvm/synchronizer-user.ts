import type { JvmUser, NodeUser, Refusal } from "./lock-user.js";
import { RedissonError, type RedissonSynchronizerName } from "./redisson.js";

/** What a call is made with; `permitIds` as one text for the methods' form with one id. */
export interface CallOptions {
  /** Default: 1. */
  readonly permits?: number;
  readonly count?: number;
  readonly permitIds?: string | readonly string[];
  readonly waitMs?: number;
  readonly leaseMs?: number;
  readonly ttlMs?: number;
}

/** True of what brings nothing; the ids of permits, none when there were not enough. */
export type Answer = boolean | number | readonly string[];

export type Method =
  | "trySetPermits"
  | "setPermits"
  | "addPermits"
  | "drainPermits"
  | "acquire"
  | "tryAcquire"
  | "release"
  | "releaseIfExists"
  | "tryRelease"
  | "availablePermits"
  | "acquiredPermits"
  | "getPermits"
  | "updateLeaseTime"
  | "getLeaseTime"
  | "trySetCount"
  | "countDown"
  | "getCount"
  | "await"
  | "delete";

/** Somebody who uses semaphores and latches, in a JVM or here. */
export interface SynchronizerUser {
  /** Calls a method, which both sides name alike. */
  call(on: RedissonSynchronizerName, method: Method, options?: CallOptions): Promise<Answer>;
  /** Takes permits that have ids, as long as it takes. */
  acquireIds(on: RedissonSynchronizerName, options?: CallOptions): Promise<readonly string[]>;
  /** What an error of a call says; undefined when it is nothing that both sides say. */
  refusal(error: unknown): Refusal | undefined;
  /** Resolves when the call that it has just made was refused, and waits for a message. */
  waits(): Promise<void>;
  /** Ends what it waits for, as its side does: the wait rejects. */
  giveUp(): Promise<void>;
}

abstract class AnyUser implements SynchronizerUser {
  abstract call(on: RedissonSynchronizerName, method: Method, options?: CallOptions): Promise<Answer>;
  abstract refusal(error: unknown): Refusal | undefined;
  abstract waits(): Promise<void>;
  abstract giveUp(): Promise<void>;

  async acquireIds(on: RedissonSynchronizerName, options?: CallOptions): Promise<readonly string[]> {
    return (await this.call(on, "acquire", options)) as readonly string[];
  }
}

/** A thread of a JVM. */
export class JvmSynchronizers extends AnyUser {
  readonly #user: JvmUser;

  constructor(user: JvmUser) {
    super();
    this.#user = user;
  }

  async call(
    on: RedissonSynchronizerName,
    method: Method,
    { permitIds, permits = 1, ...options }: CallOptions = {},
  ): Promise<Answer> {
    const ids = typeof permitIds === "string" ? { permitId: permitIds } : { permitIds };
    const answer = await this.#user.thread.call(on, method, { ...ids, permits, ...options });
    // Of a list, it tells how many it has released.
    return method === "tryRelease" ? Boolean(answer) : (answer as Answer);
  }

  refusal(error: unknown): Refusal | undefined {
    const isOfPermits = error instanceof RedissonError && /Permits? with ids? /.test(error.message);
    return isOfPermits ? "not held" : this.#user.refusal(error);
  }

  waits(): Promise<void> {
    return this.#user.waits();
  }

  giveUp(): Promise<void> {
    return this.#user.giveUp();
  }
}

/** Somebody of this process. */
export class NodeSynchronizers extends AnyUser {
  readonly #user: NodeUser;
  #cancel = new AbortController();

  constructor(user: NodeUser) {
    super();
    this.#user = user;
  }

  call(on: RedissonSynchronizerName, method: Method, options: CallOptions = {}): Promise<Answer> {
    switch (on.kind) {
      case "semaphore":
        return this.#callSemaphore(on.name, method, options);
      case "permit-expirable-semaphore":
        return this.#callPermits(on.name, method, options);
      case "count-down-latch":
        return this.#callLatch(on.name, method, options);
    }
  }

  async #callSemaphore(name: string, method: Method, options: CallOptions): Promise<Answer> {
    const semaphore = this.#user.holdfast.getSemaphore(name);
    const { permits = 1, ttlMs, waitMs } = options;
    const { signal } = this.#cancel;
    switch (method) {
      case "trySetPermits":
        return semaphore.trySetPermits(permits, { ttlMs });
      case "acquire":
        return done(semaphore.acquire(permits, { signal }));
      case "tryAcquire":
        return semaphore.tryAcquire(permits, { waitMs, signal });
      case "release":
        return done(semaphore.release(permits));
      case "releaseIfExists":
        return semaphore.releaseIfExists(permits);
      case "addPermits":
        return done(semaphore.addPermits(permits));
      case "drainPermits":
      case "availablePermits":
      case "delete":
        return semaphore[method]();
      default:
        throw new TypeError(`a semaphore has no ${method}`);
    }
  }

  async #callPermits(name: string, method: Method, options: CallOptions): Promise<Answer> {
    const semaphore = this.#user.holdfast.getPermitExpirableSemaphore(name);
    const { permits = 1, permitIds = [], waitMs, leaseMs, ttlMs } = options;
    const { signal } = this.#cancel;
    switch (method) {
      case "trySetPermits":
        return semaphore.trySetPermits(permits, { ttlMs });
      case "setPermits":
      case "addPermits":
        return done(semaphore[method](permits));
      case "acquire":
        return (await semaphore.acquire(permits, { leaseMs, signal })).ids;
      case "tryAcquire":
        return (await semaphore.tryAcquire(permits, { waitMs, leaseMs, signal }))?.ids ?? [];
      case "release":
        return done(semaphore.release(permitIds));
      case "tryRelease":
        return semaphore.tryRelease(permitIds);
      case "updateLeaseTime":
        return semaphore.updateLeaseTime(permitIds, leaseMs ?? Number.NaN);
      case "getLeaseTime":
        return semaphore.getLeaseTime(String(permitIds));
      case "availablePermits":
      case "acquiredPermits":
      case "getPermits":
      case "delete":
        return semaphore[method]();
      default:
        throw new TypeError(`a permit-expirable semaphore has no ${method}`);
    }
  }

  async #callLatch(name: string, method: Method, { count, waitMs }: CallOptions): Promise<Answer> {
    const latch = this.#user.holdfast.getCountDownLatch(name);
    switch (method) {
      case "trySetCount":
        return latch.trySetCount(count ?? Number.NaN);
      case "countDown":
        return done(latch.countDown());
      case "await":
        return latch.await({ waitMs, signal: this.#cancel.signal });
      case "getCount":
      case "delete":
        return latch[method]();
      default:
        throw new TypeError(`a count-down latch has no ${method}`);
    }
  }

  refusal(error: unknown): Refusal | undefined {
    return this.#user.refusal(error);
  }

  waits(): Promise<void> {
    return this.#user.waits();
  }

  async giveUp(): Promise<void> {
    this.#cancel.abort(new Error("given up"));
    this.#cancel = new AbortController();
  }
}

async function done(call: Promise<void>): Promise<true> {
  await call;
  return true;
}
