import { HoldfastError } from "../../../src/errors.js";
import type { Holdfast } from "../../../src/holdfast.js";
import type { Lock } from "../../../src/locks/lock.js";
import type { ObservedDriver } from "../drivers/observed-driver.js";
import { type KindOfLock, lockOfKind } from "../programs/kind-of-lock.js";
import { until } from "../run/until.js";
import {
  type RedissonClient,
  RedissonError,
  type RedissonLockName,
  type RedissonThread,
} from "./redisson.js";

/** Why a call was refused, whichever side it was made on. */
export type Refusal = "not held" | "held already" | "not offered";

/** Somebody who uses locks under one thread id, in a JVM or here. */
export interface User {
  /** As stored in Redis, without the ending of a writer. */
  readonly holder: string;
  readonly threadId: number;
  /** Waits as long as it takes. Brings the token of a fenced lock. */
  lock(lock: RedissonLockName, leaseMs?: number): Promise<bigint | undefined>;
  /** Does not wait, unless it is told to. */
  tryLock(lock: RedissonLockName, options?: { waitMs?: number; leaseMs?: number }): Promise<boolean>;
  unlock(lock: RedissonLockName): Promise<void>;
  forceUnlock(lock: RedissonLockName): Promise<boolean>;
  isLocked(lock: RedissonLockName): Promise<boolean>;
  isHeld(lock: RedissonLockName): Promise<boolean>;
  isHeldByThread(lock: RedissonLockName, threadId: number): Promise<boolean>;
  holdCount(lock: RedissonLockName): Promise<number>;
  ttlMs(lock: RedissonLockName): Promise<number>;
  /** What an error of a call says; undefined when it is none of these. */
  refusal(error: unknown): Refusal | undefined;
  /** Resolves when the call that it has just made was refused, and waits: for a message, or with `polling` to ask again. */
  waits(options?: { readonly polling?: boolean }): Promise<void>;
  /** Ends what it waits for, as its side does: the wait rejects. */
  giveUp(): Promise<void>;
}

/** A thread of a JVM. */
export class JvmUser implements User {
  readonly holder: string;
  readonly threadId: number;
  readonly client: RedissonClient;
  readonly thread: RedissonThread;
  static #threads = 0;

  private constructor(client: RedissonClient, thread: RedissonThread, threadId: number) {
    this.client = client;
    this.thread = thread;
    this.threadId = threadId;
    this.holder = `${client.id}:${threadId}`;
  }

  /** A thread of its own. */
  static async of(client: RedissonClient): Promise<JvmUser> {
    JvmUser.#threads += 1;
    const thread = client.thread(`thread-${JvmUser.#threads}`);
    return new JvmUser(client, thread, await thread.id());
  }

  colleague(): Promise<JvmUser> {
    return JvmUser.of(this.client);
  }

  disconnect(): Promise<void> {
    return this.client.disconnect();
  }

  async lock(lock: RedissonLockName, leaseMs?: number): Promise<bigint | undefined> {
    return tokenOf(await this.thread.call(lock, "lock", leaseMs === undefined ? {} : { leaseMs }));
  }

  async tryLock(lock: RedissonLockName, options: object = {}): Promise<boolean> {
    return Boolean(await this.thread.call(lock, "tryLock", options));
  }

  async unlock(lock: RedissonLockName): Promise<void> {
    await this.thread.call(lock, "unlock");
  }

  async forceUnlock(lock: RedissonLockName): Promise<boolean> {
    return Boolean(await this.thread.call(lock, "forceUnlock"));
  }

  async isLocked(lock: RedissonLockName): Promise<boolean> {
    return Boolean(await this.thread.call(lock, "isLocked"));
  }

  async isHeld(lock: RedissonLockName): Promise<boolean> {
    return Boolean(await this.thread.call(lock, "isHeldByCurrentThread"));
  }

  async isHeldByThread(lock: RedissonLockName, threadId: number): Promise<boolean> {
    return Boolean(await this.thread.call(lock, "isHeldByThread", { threadId }));
  }

  async holdCount(lock: RedissonLockName): Promise<number> {
    return Number(await this.thread.call(lock, "getHoldCount"));
  }

  async ttlMs(lock: RedissonLockName): Promise<number> {
    return Number(await this.thread.call(lock, "remainTimeToLive"));
  }

  refusal(error: unknown): Refusal | undefined {
    if (!(error instanceof RedissonError)) return undefined;
    // What a non-reentrant lock throws to its holder has no type of its own.
    if (error.message.includes("non-reentrant")) return "held already";
    return refusals.get(error.type.replace("java.lang.", ""));
  }

  waits(): Promise<void> {
    return until(() => this.thread.isWaiting());
  }

  async giveUp(): Promise<void> {
    await this.thread.interrupt();
  }
}

const refusals: ReadonlyMap<string, Refusal> = new Map([
  ["IllegalMonitorStateException", "not held"],
  ["UnsupportedOperationException", "not offered"],
  ["ERR_HOLDFAST_NOT_HELD", "not held"],
  ["ERR_HOLDFAST_REENTRY", "held already"],
]);

function tokenOf(value: unknown): bigint | undefined {
  return typeof value === "number" ? BigInt(value) : undefined;
}

/** JVMs have not all of our kinds. */
export interface OurLockName {
  readonly kind: KindOfLock;
  readonly name: string;
}

/** Somebody of this process. */
export class NodeUser implements User {
  readonly holder: string;
  readonly threadId: number;
  readonly holdfast: Holdfast;
  readonly #driver: ObservedDriver;
  #cancel = new AbortController();
  static #threads = 0;

  private constructor(holdfast: Holdfast, driver: ObservedDriver, threadId: number) {
    this.holdfast = holdfast;
    this.#driver = driver;
    this.threadId = threadId;
    this.holder = `${holdfast.clientId}:${threadId}`;
  }

  /** Somebody who uses that client, which uses that driver. */
  static of(holdfast: Holdfast, driver: ObservedDriver): NodeUser {
    NodeUser.#threads += 1;
    return new NodeUser(holdfast, driver, NodeUser.#threads);
  }

  colleague(): NodeUser {
    return NodeUser.of(this.holdfast, this.#driver);
  }

  async lock(lock: OurLockName, leaseMs?: number): Promise<bigint | undefined> {
    const { threadId } = this;
    const { signal } = this.#cancel;
    const options = { threadId, signal, ...(leaseMs === undefined ? {} : { leaseMs }) };
    const lease = await this.#lock(lock).lock(options);
    return "token" in lease ? (lease.token as bigint) : undefined;
  }

  async tryLock(lock: OurLockName, options: object = {}): Promise<boolean> {
    const { threadId } = this;
    return (await this.#lock(lock).tryLock({ threadId, signal: this.#cancel.signal, ...options })) !== null;
  }

  unlock(lock: OurLockName): Promise<void> {
    return this.#lock(lock).unlock(this.threadId);
  }

  forceUnlock(lock: OurLockName): Promise<boolean> {
    return this.#lock(lock).forceUnlock();
  }

  isLocked(lock: OurLockName): Promise<boolean> {
    return this.#lock(lock).isLocked();
  }

  isHeld(lock: OurLockName): Promise<boolean> {
    return this.#lock(lock).isHeldByThread(this.threadId);
  }

  isHeldByThread(lock: OurLockName, threadId: number): Promise<boolean> {
    return this.#lock(lock).isHeldByThread(threadId);
  }

  holdCount(lock: OurLockName): Promise<number> {
    return this.#lock(lock).getHoldCount(this.threadId);
  }

  ttlMs(lock: OurLockName): Promise<number> {
    return this.#lock(lock).remainTimeToLive();
  }

  refusal(error: unknown): Refusal | undefined {
    return error instanceof HoldfastError ? refusals.get(error.code) : undefined;
  }

  waits(options?: { readonly polling?: boolean }): Promise<void> {
    return this.#driver.waits(options);
  }

  async giveUp(): Promise<void> {
    this.#cancel.abort(new Error("given up"));
    this.#cancel = new AbortController();
  }

  #lock({ kind, name }: OurLockName): Lock {
    return lockOfKind(this.holdfast, kind, name);
  }
}
