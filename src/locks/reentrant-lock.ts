import { lockAcquire, lockKeep, lockRelease } from "../protocol/lock-scripts.js";
import { lockChannel } from "../protocol/names.js";
import { leaveQueue } from "./leave-queue.js";
import type { LockKind } from "./lock-kind.js";
import { WaitInLine } from "./wait-in-line.js";

/** A thread that has the lock may take it again. Source: Redisson's RedissonLock. */
export const reentrantLock: LockKind = {
  name: "lock",
  acquire: lockAcquire,
  release: lockRelease,
  keep: lockKeep,
  channel: lockChannel,
  fieldEnding: "",
  half: undefined,
  reentrant: true,
  fenced: false,
  shared: false,
  recordsWaiters: false,
  queues: true,
  leaveQueue,
  handsOver: true,
  wait: (part) => new WaitInLine(part),
  isHeld: ({ type }) => type !== "none",
  isForceable: ({ type }) => type !== "none",
};
