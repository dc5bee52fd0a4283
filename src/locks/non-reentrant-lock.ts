import type { LockKind } from "./lock-kind.js";
import { reentrantLock } from "./reentrant-lock.js";

/** A thread that has the lock is refused at once when it asks for it again. Source: Redisson's RedissonNonReentrantLock. */
export const nonReentrantLock: LockKind = { ...reentrantLock, name: "non-reentrant-lock", reentrant: false };
