import type { Backoff } from "../options.js";
import type { Hold } from "../threads/hold.js";
import type { Holding } from "../threads/holding.js";
import { delays } from "./backoff.js";
import type { LockIdentity, LockKind } from "./lock-kind.js";
import { reentrantLock } from "./reentrant-lock.js";
import { waitInLine } from "./wait-in-line.js";
import type { Wish } from "./wish.js";

/**
 * A lock that is waited for by asking again and again, without a connection for messages. Its release still tells those
 * who listen, as a plain lock of the same name may be waited for. Source: Redisson's RedissonSpinLock.
 */
export function spinLock(backoff: Backoff): LockKind {
  return {
    ...reentrantLock,
    name: "spin-lock",
    handsOver: false,
    wait: (lock, holding, wish) => spin(lock, holding, wish, backoff),
  };
}

function spin(lock: LockIdentity, holding: Holding, wish: Wish, backoff: Backoff): Promise<Hold | undefined> {
  const nextDelay = delays(backoff);
  return waitInLine(lock, holding, wish, (line) => line.nap(nextDelay()));
}
