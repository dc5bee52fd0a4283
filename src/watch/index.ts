export type { LockChange, LockFlag, WatchedLock } from "./looks.js";
export { staleAfterMs } from "./looks.js";
export { type LocksSeen, watchLocks } from "./watch-locks.js";
export type { WatchOptions } from "./watch-options.js";
