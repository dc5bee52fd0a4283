import { fairAcquire, fairRelease } from "../protocol/fair-scripts.js";
import type { LockKind } from "./lock-kind.js";
import { reentrantLock } from "./reentrant-lock.js";
import { WaitInQueue } from "./wait-in-queue.js";

/** First come, first served, across processes. Source: Redisson's RedissonFairLock. */
export const fairLock: LockKind = {
  ...reentrantLock,
  name: "fair-lock",
  acquire: fairAcquire,
  release: fairRelease,
  keep: undefined,
  recordsWaiters: true,
  queues: false,
  handsOver: false,
  wait: (part) => new WaitInQueue(part),
};

/** As {@link fairLock}, and as {@link nonReentrantLock}. Source: Redisson's RedissonNonReentrantFairLock. */
export const nonReentrantFairLock: LockKind = {
  ...fairLock,
  name: "non-reentrant-fair-lock",
  reentrant: false,
};
