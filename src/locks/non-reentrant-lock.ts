import type { LockKind } from "./lock-kind.js";
import { reentrantLock } from "./reentrant-lock.js";

/** The thread that has the lock is refused at once if it asks for it again. Source: Redisson's RedissonNonReentrantLock. */
export const nonReentrantLock: LockKind = { ...reentrantLock, name: "non-reentrant-lock", reentrant: false };
