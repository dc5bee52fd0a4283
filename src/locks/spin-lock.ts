import type { Backoff } from "../backoff-options.js";
import { delays } from "./backoff.js";
import type { LockKind, Part } from "./lock-kind.js";
import { reentrantLock } from "./reentrant-lock.js";
import { WaitInLine } from "./wait-in-line.js";

/**
 * A lock whose waiters poll, without a connection for messages. Its release is published all the same, because calls may wait for a plain
 * lock of the same name. Source: Redisson's RedissonSpinLock.
 */
export function spinLock(backoff: Backoff): LockKind {
  return {
    ...reentrantLock,
    name: "spin-lock",
    handsOver: false,
    wait: (part) => new Spinning(part, backoff),
  };
}

/** Waits in line with this client's other calls. The first call in line polls after the pauses of its backoff and does not listen. */
class Spinning extends WaitInLine {
  readonly #backoff: Backoff;
  #nextDelay: () => number;
  /** Whether the client claims the next grant of the lock, because all clients that came before it have had their turn. */
  #claims = false;

  constructor(part: Part, backoff: Backoff) {
    super(part);
    this.wish.waiter.naps = true;
    this.#backoff = backoff;
    this.#nextDelay = delays(backoff);
  }

  /** If the client claims the lock, the next release grants it to the client, so the pauses become short again. */
  override refused(): boolean {
    const { obstacle, waiting } = this.wish;
    if (obstacle !== undefined) this.line.seenHeld(obstacle);
    const claims = waiting?.stands === true && waiting.ahead === 0;
    if (claims && !this.#claims) this.#nextDelay = delays(this.#backoff);
    this.#claims = claims;
    return true;
  }

  override sleep(awake: () => void): void {
    const { waiter } = this.wish;
    if (this.line.head === waiter) waiter.sleep(awake, this.line.nap(this.#nextDelay()));
    else super.sleep(awake);
  }
}
