import type { LockKind } from "./lock-kind.js";
import { reentrantLock } from "./reentrant-lock.js";

/** Refuses a second acquisition by the thread that has it at once. Source: Redisson's RedissonNonReentrantLock. */
export const nonReentrantLock: LockKind = { ...reentrantLock, name: "non-reentrant-lock", reentrant: false };
