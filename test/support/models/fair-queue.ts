import type { RawReply } from "../../../src/protocol/script-call.js";
import type { FakeTimeClient } from "../worlds/fake-time.js";

/** The keys that a fair lock "a" has besides its hash. */
export const QUEUE = "redisson_lock_queue:{a}";
export const TIMEOUTS = "redisson_lock_timeout:{a}";
export const ALIVE = "holdfast_fair_alive:{a}";
/** Where waiters of the lock "a" listen: this and the holder field of a JVM's waiter, or the id of a client of ours. */
export const WAITER_CHANNEL = "redisson_lock__channel:{a}:";

/** The first part of a holder field. */
export function clientIdOf(holder: string): string {
  return holder.slice(0, holder.lastIndexOf(":"));
}

/** What the client of a waiter of ours is told about it, and where. @param untilMs until when it was given the lock; 0: it is to ask */
export function toldOurs(
  holder: string,
  untilMs: number | string,
): readonly [channel: string, message: string] {
  return [WAITER_CHANNEL + clientIdOf(holder), `${holder.slice(holder.lastIndexOf(":") + 1)}:${untilMs}`];
}

/** What a JVM adds to a score when it joins a queue, and takes off those of the others when it leaves. */
export const JVM_WAIT_MS = 300_000;

/** Threads of a JVM, as Redisson names them. */
export const JVM_1 = "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:57";
export const JVM_2 = "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:58";

export type Raw = (command: string, ...args: readonly (string | number)[]) => RawReply | Promise<RawReply>;

/** The effects that the scripts of Redisson's RedissonFairLock have on the lock "a", as raw commands. */
export class JvmThread {
  readonly holder: string;
  readonly #raw: Raw;

  constructor(raw: Raw, holder: string = JVM_1) {
    this.#raw = raw;
    this.holder = holder;
  }

  get channel(): string {
    return WAITER_CHANNEL + this.holder;
  }

  /** Has the lock, without having waited. */
  async holds(leaseMs: number): Promise<void> {
    await this.#raw("HSET", "a", this.holder, 1);
    await this.#raw("PEXPIRE", "a", leaseMs);
  }

  /** Stands in the queue, behind the score of whoever is last or the TTL of the holder. */
  async queues(nowMs: number): Promise<void> {
    const [last] = texts(await this.#raw("LRANGE", QUEUE, -1, -1));
    const score = last === undefined ? null : await this.#raw("ZSCORE", TIMEOUTS, last);
    const ttlMs = score === null ? Number(await this.#raw("PTTL", "a")) : Number(score) - nowMs;
    await this.#raw("ZADD", TIMEOUTS, nowMs + ttlMs + JVM_WAIT_MS, this.holder);
    await this.#raw("RPUSH", QUEUE, this.holder);
  }

  /** Throws out of the queue's head who looks dead. @returns who they were */
  async evicts(nowMs: number): Promise<readonly string[]> {
    const evicted: string[] = [];
    for (;;) {
      const head = await this.#raw("LINDEX", QUEUE, 0);
      if (head === null) return evicted;
      const score = await this.#raw("ZSCORE", TIMEOUTS, String(head));
      if (score === null || Number(score) > nowMs) return evicted;
      await this.#raw("ZREM", TIMEOUTS, String(head));
      await this.#raw("LREM", QUEUE, 1, String(head));
      evicted.push(String(head));
    }
  }

  /** Takes the free lock as the head of the queue; what it takes off the others is its own wait. */
  async enters(nowMs: number, leaseMs: number): Promise<boolean> {
    await this.evicts(nowMs);
    const head = await this.#raw("LINDEX", QUEUE, 0);
    if (Number(await this.#raw("EXISTS", "a")) === 1 || (head !== null && head !== this.holder)) return false;
    await this.#raw("LREM", QUEUE, 1, this.holder);
    await this.#raw("ZREM", TIMEOUTS, this.holder);
    for (const other of texts(await this.#raw("ZRANGE", TIMEOUTS, 0, -1)))
      await this.#raw("ZINCRBY", TIMEOUTS, -JVM_WAIT_MS, other);
    await this.holds(leaseMs);
    return true;
  }

  /** Its wait is up. */
  async givesUp(): Promise<void> {
    const queue = texts(await this.#raw("LRANGE", QUEUE, 0, -1));
    const place = queue.indexOf(this.holder);
    for (const other of queue.slice(place + 1)) await this.#raw("ZINCRBY", TIMEOUTS, -JVM_WAIT_MS, other);
    await this.#raw("ZREM", TIMEOUTS, this.holder);
    await this.#raw("LREM", QUEUE, 0, this.holder);
  }

  /** Frees the lock and tells the head of the queue. */
  async releases(nowMs: number): Promise<void> {
    await this.evicts(nowMs);
    await this.#raw("DEL", "a");
    const head = await this.#raw("LINDEX", QUEUE, 0);
    if (head !== null) await this.#raw("PUBLISH", WAITER_CHANNEL + String(head), "0");
  }
}

/** A list reply as texts. */
export function texts(reply: RawReply): readonly string[] {
  if (reply === null || typeof reply !== "object") throw new TypeError(`not a list: ${String(reply)}`);
  return reply.map(String);
}

/** Those who wait for the lock "a", the next first. */
export async function queueOf(raw: Raw): Promise<readonly string[]> {
  return texts(await raw("LRANGE", QUEUE, 0, -1));
}

/** The process of a client dies: nothing that it does reaches the server any more, and nothing reaches it. */
export function kill({ driver }: FakeTimeClient): void {
  driver.run = () => new Promise<never>(() => undefined);
  driver.channels.mute(true);
}
