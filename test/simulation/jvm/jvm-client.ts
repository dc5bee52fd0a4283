import type { Clock } from "../../../src/clock.js";
import type { Driver } from "../../../src/driver/driver.js";
import { JvmCalls } from "./jvm-calls.js";
import { JvmChannels } from "./jvm-channels.js";
import { JvmLatch } from "./jvm-latch.js";
import { JvmLock } from "./jvm-lock.js";
import type { JvmLockKind } from "./jvm-lock-kinds.js";
import { JvmPermits } from "./jvm-permits.js";
import { JvmSemaphore } from "./jvm-semaphore.js";
import type { JvmServices } from "./jvm-services.js";
import { JvmThreads } from "./jvm-threads.js";
import { JvmWatchdog } from "./jvm-watchdog.js";
import type { RecordedCalls } from "./recorded-call.js";
import { scripts as newestScripts } from "./scripts-4.7.0.js";

export interface JvmOptions {
  readonly driver: Driver;
  readonly clock: Clock;
  /** The client id: a random UUID, in lower-case letters. */
  readonly id: string;
  /** At least 0, and less than 1. All chance of the client comes from here. */
  readonly random: () => number;
  /** lockWatchdogTimeout. Default: 30,000 ms. */
  readonly watchdogMs?: number;
  /** fairLockWaitTimeout. Default: 300,000 ms. */
  readonly fairWaitMs?: number;
  /** Of one release of Redisson. Default: the newest. */
  readonly scripts?: RecordedCalls;
}

export interface JvmTimes {
  readonly threadId: number;
  readonly waitMs?: number;
  readonly leaseMs?: number;
}

/**
 * A RedissonClient of the simulator: sends the scripts of Redisson, as they were recorded from a real one, through our port, and
 * waits, wakes and renews as Redisson does. It has no clock, timer or chance of its own.
 *
 * **What its program believes.** Redisson promises no time until which a hold may be trusted. A program believes that it holds
 * a lock from when `lock` or `tryLock` told so until it calls `unlock`, and with a lease, until so long after it was told.
 * Redis is the only one who knows better: the hold is over when the key is, or the holder's field in it. So a checker is to
 * take the field in Redis for the end of the belief, whatever the program would say: a JVM that was stopped, cut off or
 * slow for longer than its TTL goes on and is told by no one. What holdfast promises is that none of its own comes in
 * while the field is there, and no more can be asked of it.
 *
 * **Threads.** A thread makes one call at a time. Each has lock objects of its own, as the object remembers its last lease.
 *
 * **Left out.** Several permits or locks at once by a multi or red lock, which are made of the locks here; `WAIT` for replicas
 * and what Redisson repeats because of it; asynchronous calls, of which a message wakes one besides a waiting thread.
 */
export class JvmClient {
  readonly id: string;
  readonly #services: JvmServices;
  readonly #locks = new Map<string, JvmLock>();

  constructor({ driver, clock, id, random, watchdogMs = 30_000, ...options }: JvmOptions) {
    const { fairWaitMs = 300_000, scripts = newestScripts } = options;
    const calls = new JvmCalls({ driver, clock, random, scripts });
    const threads = new JvmThreads(clock);
    const renewsMany = scripts["lock renew"]?.lua?.includes("#KEYS") ?? false;
    const oneByOne = !renewsMany || driver.traits.topology === "cluster";
    const allReaders = scripts["read renew"]?.args.includes("<holderCount>") ?? false;
    const watchdog = { calls, clock, watchdogMs, oneByOne, allReaders };
    this.id = id;
    this.#services = {
      id,
      clock,
      random,
      watchdogMs,
      fairWaitMs,
      calls,
      threads,
      channels: new JvmChannels(driver, clock, threads, calls.family),
      mutexes: new JvmWatchdog("lock renew", watchdog),
      readers: new JvmWatchdog("read renew", watchdog),
    };
  }

  /** The lock object that a thread uses for a name. */
  lockOf(name: string, kind: JvmLockKind, threadId: number): JvmLock {
    const key = `${threadId} ${kind} ${name}`;
    const known = this.#locks.get(key);
    if (known !== undefined) return known;
    const lock = new JvmLock(this.#services, kind, name, threadId);
    this.#locks.set(key, lock);
    return lock;
  }

  /** Waits as long as it takes, or for `waitMs`. @returns whether it was had */
  async lock(name: string, kind: JvmLockKind, { threadId, waitMs, leaseMs }: JvmTimes): Promise<boolean> {
    const lock = this.lockOf(name, kind, threadId);
    if (waitMs !== undefined) return lock.tryLock({ waitMs, ...(leaseMs === undefined ? {} : { leaseMs }) });
    await lock.lock(leaseMs);
    return true;
  }

  /** Asks once, and stands in no queue. */
  tryLock(name: string, kind: JvmLockKind, threadId: number): Promise<boolean> {
    return this.lockOf(name, kind, threadId).tryLock();
  }

  unlock(name: string, kind: JvmLockKind, threadId: number): Promise<void> {
    return this.lockOf(name, kind, threadId).unlock();
  }

  forceUnlock(name: string, kind: JvmLockKind, threadId: number): Promise<boolean> {
    return this.lockOf(name, kind, threadId).forceUnlock();
  }

  semaphore(name: string, threadId: number): JvmSemaphore {
    return new JvmSemaphore(this.#services, name, threadId);
  }

  permits(name: string, threadId: number): JvmPermits {
    return new JvmPermits(this.#services, name, threadId);
  }

  latch(name: string, threadId: number): JvmLatch {
    return new JvmLatch(this.#services, name, threadId);
  }

  /** The field that stands for a thread in the hash of a lock. */
  fieldOf(kind: JvmLockKind, threadId: number): string {
    return `${this.id}:${threadId}${kind === "write" ? ":write" : ""}`;
  }

  /** Whether a thread waits for a message or a time, and not for an answer. */
  isWaiting(threadId: number): boolean {
    return this.#services.threads.waits(threadId);
  }

  /** As `Thread.interrupt()`: what the thread waits for rejects, and its place in a queue stays. */
  interrupt(threadId: number): boolean {
    return this.#services.threads.interrupt(threadId);
  }

  /** What it keeps at present: nothing, once no thread holds a lock or waits. */
  census(): { readonly watched: number; readonly waiting: number; readonly channels: number } {
    const { mutexes, readers, threads, channels } = this.#services;
    return { watched: mutexes.size + readers.size, waiting: threads.waiting, channels: channels.size };
  }

  /** `shutdown()`: threads that wait are told, nothing is released. */
  shutDown(): void {
    const { mutexes, readers, threads, channels } = this.#services;
    mutexes.shutDown();
    readers.shutDown();
    threads.shutDown();
    channels.shutDown();
  }
}
