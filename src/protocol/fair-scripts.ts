import { defineScript, type Script } from "./define-script.js";
import type { Dialect } from "./dialect.js";
import {
  type AcquireAnswer,
  type AcquireCall,
  acquireAnswer,
  type ReleaseAnswer,
  type ReleaseCall,
  releaseAnswer,
} from "./lock-calls.js";
import { fairAliveKey, fairQueueKey, fairTimeoutsKey } from "./names.js";
import { integer, list, text, unexpected } from "./replies.js";
import type { RawReply } from "./script-call.js";
import * as scripts from "./scripts.js";

/** The times of a fair lock's queue, in milliseconds. */
export const fairTimes = {
  /**
   * The lease of a waiter that was granted the lock, until the waiter confirms the grant. If the waiter is dead, the lock passes on only
   * after this time.
   */
  grantMs: 4_000,
  /** How long a waiter counts as alive: long enough for four signs of life. */
  aliveMs: 6_000,
  /** Redisson's fairLockWaitTimeout: the amount that a JVM adds to the scores when it joins, and subtracts when it leaves. */
  waitMs: 300_000,
  /**
   * Added to the scores of holdfast's waiters: a JVM that leaves subtracts its wait from the scores behind it, which must not make a live
   * waiter look dead.
   */
  horizonMs: 30_000,
  /** How far a JVM's clock may be behind the server's. */
  graceMs: 30_000,
} as const;

/** A grant of 0 milliseconds means none: the script then tells the head of the queue to acquire the lock itself. */
export function fairTimesFor({ grants }: Dialect): number[] {
  const { grantMs, aliveMs, waitMs, horizonMs, graceMs } = fairTimes;
  return [grants ? grantMs : 0, aliveMs, waitMs, horizonMs, graceMs];
}

export function fairKeysOf({ key }: { readonly key: string }): string[] {
  return [key, fairQueueKey(key), fairTimeoutsKey(key), fairAliveKey(key)];
}

/** Takes fair locks, re-enters them or joins their queues; see fair-acquire.lua. */
export const fairAcquire: Script<AcquireCall, readonly AcquireAnswer[]> = defineScript({
  source: scripts.fairAcquire,
  replicated: true,
  keys: ({ locks }) => locks.flatMap(fairKeysOf),
  args({ notAfterMs, together = false, locks }, dialect) {
    const args: (string | number)[] = [notAfterMs, together ? 1 : 0, ...fairTimesFor(dialect)];
    for (const { holder, leaseMs, heldCount, waits, channel } of locks)
      args.push(holder, leaseMs, heldCount, waits ? 1 : 0, channel);
    return args;
  },
  reply: (answers) => answers.map(acquireAnswer),
});

/** Lowers hold counts and passes fair locks on, or leaves their queues; see fair-release.lua. */
export const fairRelease: Script<ReleaseCall, readonly ReleaseAnswer[]> = defineScript({
  source: scripts.fairRelease,
  replicated: "if possible",
  // One call has few locks, because a waiter that gives up in the middle of a queue makes the script search the whole queue.
  mostKeys: 20,
  keys: ({ locks }) => locks.flatMap(fairKeysOf),
  args: ({ notAfterMs, locks }, dialect) => [
    notAfterMs,
    ...fairTimesFor(dialect),
    ...locks.flatMap((lock) => [lock.holder, lock.heldCount, lock.keptCount, lock.ttlMs, lock.channel]),
  ],
  reply: (answers) => answers.map(releaseAnswer),
});

/** The waiters of one client for one fair lock. */
export interface Queue {
  readonly key: string;
  readonly channel: string;
  readonly holders: readonly string[];
}

/** The state of one waiter. */
export type RefreshAnswer =
  | {
      readonly status: "queued";
      /** -1 without a TTL, -2 when the lock is free. */
      readonly ttlMs: number;
      /** The holder; "" when the lock is free. */
      readonly holder: string;
      /** True for the next waiter in the queue. */
      readonly isHead: boolean;
      /** True if a JVM has the lock or is in the queue, so that a JVM may free it. */
      readonly meetsJvm: boolean;
    }
  | { readonly status: "granted" | "gone" };

/** Gives the waiters' signs of life; see fair-refresh.lua. */
export const fairRefresh: Script<readonly Queue[], readonly (readonly RefreshAnswer[])[]> = defineScript({
  source: scripts.fairRefresh,
  keys: (queues) => queues.flatMap(fairKeysOf),
  args: (queues, dialect) => [
    ...fairTimesFor(dialect),
    ...queues.flatMap(({ channel, holders }) => [channel, holders.length, ...holders]),
  ],
  reply: (queues) => queues.map((answers) => list(answers).map(refreshAnswer)),
});

function refreshAnswer(raw: RawReply): RefreshAnswer {
  const [status, ttlMs, holder, isHead, meetsJvm] = list(raw);
  switch (status) {
    case "queued":
      return {
        status,
        ttlMs: integer(ttlMs),
        holder: text(holder),
        isHead: integer(isHead) === 1,
        meetsJvm: integer(meetsJvm) === 1,
      };
    case "granted":
    case "gone":
      return { status };
    default:
      throw unexpected("a refresh answer", raw);
  }
}
