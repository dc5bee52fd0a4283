import type { LockKind } from "./lock-kind.js";
import { reentrantLock } from "./reentrant-lock.js";

/** If the thread that has the lock asks for the lock again, it is refused at once. Source: Redisson's RedissonNonReentrantLock. */
export const nonReentrantLock: LockKind = { ...reentrantLock, name: "non-reentrant-lock", reentrant: false };
