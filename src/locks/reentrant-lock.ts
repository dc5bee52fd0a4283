import { lockAcquire, lockRelease } from "../protocol/lock-scripts.js";
import { lockChannel } from "../protocol/names.js";
import type { LockKind } from "./lock-kind.js";

/** A thread that has the lock may take it again. Source: Redisson's RedissonLock. */
export const reentrantLock: LockKind = {
  name: "lock",
  acquire: lockAcquire,
  release: lockRelease,
  channel: lockChannel,
};
