import type {
  ChannelListener,
  Driver,
  DriverTraits,
  PubSubFamily,
  Ticket,
  Unsubscribe,
} from "../../../src/driver/driver.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import type { JvmClient } from "../../simulation/jvm/jvm-client.js";
import { JvmMonitorError, JvmPermitError } from "../../simulation/jvm/jvm-errors.js";
import type { JvmLock } from "../../simulation/jvm/jvm-lock.js";
import type { JvmLockKind } from "../../simulation/jvm/jvm-lock-kinds.js";
import { until } from "../run/until.js";
import type { Refusal, User } from "./lock-user.js";
import type { RedissonLockName, RedissonSynchronizerName } from "./redisson.js";
import type { Answer, CallOptions, Method, SynchronizerUser } from "./synchronizer-user.js";

/** Between the simulated JVM and its server: while it is frozen, what it sends waits, and no time limit counts. */
export class FreezingDriver implements Driver {
  readonly #driver: Driver;
  #thawed: Promise<void> = Promise.resolve();
  #thaw: () => void = () => undefined;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  get traits(): DriverTraits {
    return this.#driver.traits;
  }

  get resets(): number {
    return this.#driver.resets;
  }

  freeze(): void {
    this.#thawed = new Promise((resolve) => {
      this.#thaw = resolve;
    });
  }

  thaw(): void {
    this.#thaw();
  }

  async run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    await this.#thawed;
    return this.#driver.run(call, ticket);
  }

  subscribe(channel: string, listener: ChannelListener, family?: PubSubFamily): Promise<Unsubscribe> {
    return this.#driver.subscribe(channel, listener, family);
  }

  close(): Promise<void> {
    return this.#driver.close();
  }
}

/** A thread of a simulated JVM, as one of a real JVM. */
export class SimulatedUser implements User {
  readonly client: JvmClient;
  readonly threadId: number;
  readonly holder: string;

  constructor(client: JvmClient, threadId: number) {
    this.client = client;
    this.threadId = threadId;
    this.holder = client.fieldOf("lock", threadId);
  }

  async lock(name: RedissonLockName, leaseMs?: number): Promise<bigint | undefined> {
    const lock = this.#lock(name);
    await lock.lock(leaseMs);
    return lock.kind === "fenced" ? lock.token() : undefined;
  }

  tryLock(name: RedissonLockName, options?: { waitMs?: number; leaseMs?: number }): Promise<boolean> {
    return this.#lock(name).tryLock(options);
  }

  unlock(name: RedissonLockName): Promise<void> {
    return this.#lock(name).unlock();
  }

  forceUnlock(name: RedissonLockName): Promise<boolean> {
    return this.#lock(name).forceUnlock();
  }

  isLocked(name: RedissonLockName): Promise<boolean> {
    return this.#lock(name).isLocked();
  }

  isHeld(name: RedissonLockName): Promise<boolean> {
    return this.#lock(name).isHeld();
  }

  isHeldByThread(name: RedissonLockName, threadId: number): Promise<boolean> {
    return this.#lock(name).isHeld(threadId);
  }

  holdCount(name: RedissonLockName): Promise<number> {
    return this.#lock(name).holdCount();
  }

  ttlMs(name: RedissonLockName): Promise<number> {
    return this.#lock(name).ttlMs();
  }

  refusal(error: unknown): Refusal | undefined {
    if (error instanceof JvmPermitError) return "not held";
    if (!(error instanceof JvmMonitorError)) return undefined;
    return error.message.includes("non-reentrant") ? "held already" : "not held";
  }

  waits(): Promise<void> {
    return until(() => this.client.isWaiting(this.threadId));
  }

  async giveUp(): Promise<void> {
    this.client.interrupt(this.threadId);
  }

  #lock({ kind, name }: RedissonLockName): JvmLock {
    return this.client.lockOf(name, kind as JvmLockKind, this.threadId);
  }
}

/** The same for semaphores and latches. */
export class SimulatedSynchronizers implements SynchronizerUser {
  readonly #user: SimulatedUser;

  constructor(user: SimulatedUser) {
    this.#user = user;
  }

  call({ kind, name }: RedissonSynchronizerName, method: Method, options: CallOptions = {}): Promise<Answer> {
    switch (kind) {
      case "semaphore":
        return this.#callSemaphore(name, method, options);
      case "permit-expirable-semaphore":
        return this.#callPermits(name, method, options);
      case "count-down-latch":
        return this.#callLatch(name, method, options);
    }
  }

  async acquireIds(on: RedissonSynchronizerName, options?: CallOptions): Promise<readonly string[]> {
    return (await this.call(on, "acquire", options)) as readonly string[];
  }

  async #callSemaphore(
    name: string,
    method: Method,
    { permits = 1, waitMs, ttlMs }: CallOptions,
  ): Promise<Answer> {
    const semaphore = this.#user.client.semaphore(name, this.#user.threadId);
    switch (method) {
      case "trySetPermits":
        return semaphore.trySetPermits(permits, ttlMs);
      case "tryAcquire":
        return semaphore.tryAcquire(permits, waitMs);
      case "releaseIfExists":
        return semaphore.releaseIfExists(permits);
      case "acquire":
      case "release":
      case "addPermits":
        return done(semaphore[method](permits));
      case "drainPermits":
      case "availablePermits":
      case "delete":
        return semaphore[method]();
      default:
        throw new TypeError(`a semaphore has no ${method}`);
    }
  }

  async #callPermits(name: string, method: Method, options: CallOptions): Promise<Answer> {
    const semaphore = this.#user.client.permits(name, this.#user.threadId);
    const { permits = 1, permitIds = [], waitMs, leaseMs } = options;
    const ids = typeof permitIds === "string" ? portable(permitIds) : permitIds.map(portable);
    switch (method) {
      case "trySetPermits":
        return semaphore.trySetPermits(permits);
      case "setPermits":
      case "addPermits":
        return done(semaphore[method](permits));
      case "acquire":
        return semaphore.acquire(permits, leaseMs);
      case "tryAcquire":
        return semaphore.tryAcquire(permits, waitMs, leaseMs);
      case "release":
        return done(semaphore.release(ids));
      case "tryRelease":
        return semaphore.tryRelease(ids);
      case "updateLeaseTime":
        return semaphore.updateLeaseTime(String(ids), leaseMs ?? Number.NaN);
      case "getLeaseTime":
        return semaphore.getLeaseTime(String(ids));
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
    const latch = this.#user.client.latch(name, this.#user.threadId);
    switch (method) {
      case "trySetCount":
        return latch.trySetCount(count ?? Number.NaN);
      case "countDown":
        return done(latch.countDown());
      case "await":
        return latch.await(waitMs);
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

  giveUp(): Promise<void> {
    return this.#user.giveUp();
  }
}

/** A made-up id, of a permit that was never granted, as one that the simulated JVM can send. */
function portable(id: string): string {
  return Buffer.from(Buffer.from(id, "hex").map((byte) => byte & 127)).toString("hex");
}

async function done(call: Promise<void>): Promise<true> {
  await call;
  return true;
}
