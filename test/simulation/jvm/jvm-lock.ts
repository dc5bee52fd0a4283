import { ServerReplyError } from "../../../src/driver/driver.js";
import type { RawReply } from "../../../src/protocol/script-call.js";
import { named, type Values } from "./jvm-calls.js";
import type { ChannelEntry } from "./jvm-channels.js";
import { JvmMonitorError, JvmTimeoutError } from "./jvm-errors.js";
import { type JvmLockKind, type KindOfJvmLock, kindsOfJvmLock } from "./jvm-lock-kinds.js";
import { type JvmServices, JvmWait } from "./jvm-services.js";

const SPIN_START_MS = 1;
const SPIN_MOST_MS = 128;

/** For how long a thread parks that was told that nothing is left to wait for. */
const SHORTEST_PARK_MS = 1;
const SHORTEST_FAIR_PARK_MS = 10;

/**
 * An RLock as one thread uses it.
 *
 * Simplified: told to wait for 0 ms, a thread of Redisson asks again at once. Who queues for a fair lock that is free is told
 * so for as long as another is first in the queue, and would ask without end in a time that does not pass.
 */
export class JvmLock {
  readonly name: string;
  readonly kind: JvmLockKind;
  readonly threadId: number;
  readonly #services: JvmServices;
  readonly #of: KindOfJvmLock;
  /** internalLockLeaseTime: what a partial release writes back. Redisson keeps it for the object, not for the hold. */
  #restoreMs: number;
  #token = 0n;

  constructor(services: JvmServices, kind: JvmLockKind, name: string, threadId: number) {
    this.#services = services;
    this.#of = kindsOfJvmLock[kind];
    this.name = name;
    this.kind = kind;
    this.threadId = threadId;
    this.#restoreMs = services.watchdogMs;
  }

  /** `lock()` and `lock(leaseMs)`. Waits as long as it takes. @throws JvmMonitorError when it may not enter again */
  async lock(leaseMs?: number): Promise<void> {
    await this.#lockBy(this.#of.acquire, leaseMs);
  }

  /** Of a fenced lock: as `lock`. @returns the token of this very acquisition */
  async lockAndGetToken(leaseMs?: number): Promise<bigint> {
    await this.#lockBy("fenced acquire for token", leaseMs);
    return this.#token;
  }

  async #lockBy(call: string, leaseMs?: number): Promise<void> {
    if ((await this.#acquire(leaseMs, call)) === null) return;
    const { channels } = this.#services;
    if (this.#of.channel === undefined) return this.#spin(leaseMs);
    const channel = this.#channelOf(this.#of.channel);
    const entry = await channels.subscribeAtAllCosts(channel, this.#of.effect);
    try {
      for (;;) {
        const ttlMs = await this.#acquire(leaseMs, call);
        if (ttlMs === null) return;
        await entry.take(this.threadId, this.#parkMs(ttlMs));
      }
    } finally {
      channels.unsubscribe(channel);
    }
  }

  /** `tryLock()`, and with times `tryLock(waitMs, leaseMs)`. */
  async tryLock({ waitMs, leaseMs }: { waitMs?: number; leaseMs?: number } = {}): Promise<boolean> {
    const { acquire, attempt = acquire, channel } = this.#of;
    if (waitMs === undefined && leaseMs === undefined)
      return (await this.#acquire(undefined, attempt)) === null;
    const wait = new JvmWait(this.#services.clock, waitMs ?? 0);
    const [asked, queuedMs] = [waitMs ?? 0, this.#queuedMs(waitMs)];
    if ((await this.#acquire(leaseMs, acquire, asked)) === null) return true;
    if (channel === undefined) return this.#spinWithin(wait, leaseMs);
    if (wait.leftMs > 0 && (await this.#tryWithin(wait, channel, asked, leaseMs))) return true;
    await this.#giveUp(queuedMs);
    return false;
  }

  /** @throws JvmMonitorError when the thread does not hold it, as far as Redis knows */
  async unlock(): Promise<void> {
    const { calls, watchdogMs } = this.#services;
    const requestId = calls.randomId();
    const values = { requestId, restoreMs: this.#restoreMs, latchMs: calls.latchMs() };
    let reply: RawReply;
    try {
      reply = await this.#run(this.#of.release, values);
    } finally {
      this.#watchdog.remove(this.name, this.threadId);
    }
    // Not waited for.
    this.#run("latch away", { requestId }).catch(() => undefined);
    if (reply !== 0) this.#restoreMs = watchdogMs;
    if (reply === null) throw new JvmMonitorError(`thread ${this.threadId} does not hold ${this.name}`);
  }

  async forceUnlock(): Promise<boolean> {
    this.#watchdog.remove(this.name);
    return (await this.#run(this.#of.force, {}, true)) === 1;
  }

  async isLocked(): Promise<boolean> {
    const reply = await this.#run(this.#of.isLocked, {}, true);
    return this.#of.isLocked === "is written" ? reply === "write" : reply === 1;
  }

  async isHeld(threadId: number = this.threadId): Promise<boolean> {
    return (await this.#run("is held", { holder: this.#fieldOf(threadId) }, true)) === 1;
  }

  async holdCount(): Promise<number> {
    return Number(await this.#run("hold count", { holder: this.#fieldOf(this.threadId) }, true));
  }

  async ttlMs(): Promise<number> {
    return Number(await this.#run("time to live", {}, true));
  }

  /** Of a fenced lock, which has been held before. */
  async token(): Promise<bigint | undefined> {
    const reply = await this.#run("fencing token", {}, true);
    return reply === null ? undefined : BigInt(String(reply));
  }

  get #watchdog() {
    return this.kind === "read" ? this.#services.readers : this.#services.mutexes;
  }

  /** Brings null when the lock was had, otherwise for how long the holder has it. */
  async #acquire(leaseMs?: number, call = this.#of.acquire, waitMs?: number): Promise<number | null> {
    const { watchdogMs } = this.#services;
    const isWatched = leaseMs === undefined || leaseMs <= 0;
    const values = { leaseMs: isWatched ? watchdogMs : leaseMs, waitMs: this.#queuedMs(waitMs) };
    const ttlMs = this.#refusedFor(await this.#entered(this.#run(call, values)));
    if (ttlMs !== null) return ttlMs;
    if (isWatched) this.#watchdog.add(this.name, this.threadId, this.#fieldOf(this.threadId));
    else this.#restoreMs = leaseMs;
    return null;
  }

  /** Brings null when the lock was had. What draws a token answers -1 then, and the token; otherwise the TTL, and -1. */
  #refusedFor(reply: RawReply): number | null {
    if (!Array.isArray(reply)) return reply === null ? null : Number(reply);
    const [ttlMs, token] = reply.map(Number);
    if (ttlMs !== -1) return Number(ttlMs);
    this.#token = BigInt(Number(token));
    return null;
  }

  /** For how long it counts as alive in the queue of a fair lock. */
  #queuedMs(waitMs = 0): number {
    return waitMs > 0 ? waitMs : this.#services.fairWaitMs;
  }

  async #entered(asked: Promise<RawReply>): Promise<RawReply> {
    try {
      return await asked;
    } catch (error) {
      if (!(error instanceof ServerReplyError && error.message.includes("NON_REENTRANT_REACQUIRE")))
        throw error;
      throw new JvmMonitorError(`${this.name} is non-reentrant and is already held`, { cause: error });
    }
  }

  async #tryWithin(wait: JvmWait, recorded: string, waitMs: number, leaseMs?: number): Promise<boolean> {
    const { channels } = this.#services;
    const channel = this.#channelOf(recorded);
    const entry = await channels.subscribe(channel, this.#of.effect, wait.leftMs);
    if (entry === undefined) return false;
    try {
      return await this.#tryWhenTold(entry, wait, waitMs, leaseMs);
    } finally {
      channels.unsubscribe(channel);
    }
  }

  async #tryWhenTold(entry: ChannelEntry, wait: JvmWait, waitMs: number, leaseMs?: number): Promise<boolean> {
    while (wait.leftMs > 0) {
      let ttlMs: number | null;
      try {
        ttlMs = await this.#acquire(leaseMs, this.#of.acquire, waitMs);
      } catch (error) {
        // From 4.7.0 on, a thread that waits takes silence for a refusal.
        if (error instanceof JvmTimeoutError) return false;
        throw error;
      }
      if (ttlMs === null) return true;
      const { leftMs } = wait;
      if (leftMs <= 0) return false;
      await entry.take(this.threadId, Math.min(this.#parkMs(ttlMs) ?? leftMs, leftMs));
    }
    return false;
  }

  /** Without a TTL only a message ends the wait. */
  #parkMs(ttlMs: number): number | undefined {
    if (ttlMs < 0) return undefined;
    return Math.max(ttlMs, this.#of.isFair ? SHORTEST_FAIR_PARK_MS : SHORTEST_PARK_MS);
  }

  async #giveUp(waitMs: number): Promise<void> {
    if (this.#of.giveUp !== undefined) await this.#run(this.#of.giveUp, { waitMs }, true);
  }

  async #spin(leaseMs?: number): Promise<void> {
    const backOff = new SpinBackOff(this.#services.random);
    do await this.#services.threads.sleep(this.threadId, backOff.nextMs());
    while ((await this.#acquire(leaseMs)) !== null);
  }

  /** Looks at the time after a refusal only, so that the last sleep may last past it. */
  async #spinWithin(wait: JvmWait, leaseMs?: number): Promise<boolean> {
    const backOff = new SpinBackOff(this.#services.random);
    while (wait.leftMs > 0) {
      await this.#services.threads.sleep(this.threadId, backOff.nextMs());
      if ((await this.#acquire(leaseMs)) === null) return true;
    }
    return false;
  }

  #channelOf(recorded: string): string {
    const channel = named(recorded, this.name);
    return this.#of.isFair ? `${channel}:${this.#holder}` : channel;
  }

  get #holder(): string {
    return `${this.#services.id}:${this.threadId}`;
  }

  #fieldOf(threadId: number): string {
    return `${this.#services.id}:${threadId}${this.#of.ending}`;
  }

  #run(call: string, values: Values, repeats = false): Promise<RawReply> {
    const { calls, clock } = this.#services;
    const nowMs = Math.floor(clock.wallMs());
    return calls.run(call, { name: this.name, holder: this.#holder, nowMs, ...values }, { repeats });
  }
}

/** LockOptions.ExponentialBackOff. */
class SpinBackOff {
  readonly #random: () => number;
  #failures = 0;
  #nextMs = SPIN_START_MS;

  constructor(random: () => number) {
    this.#random = random;
  }

  nextMs(): number {
    const current = this.#nextMs;
    this.#failures += 1;
    const longer = current * 2 + Math.floor(this.#random() * this.#failures);
    if (current < SPIN_MOST_MS) this.#nextMs = Math.min(SPIN_MOST_MS, longer);
    return current;
  }
}
