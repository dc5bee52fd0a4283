import { setTimeout as pause } from "node:timers/promises";
import { types } from "node:util";
import type { Driver } from "holdfast";

/** As that of a lock, so that users of Redis with rights for the channels of locks alone may subscribe to it. */
const CHANNEL = "redisson_lock__channel:{holdfast:health}";

/** Asks whether messages arrive: by them, those who wait for a lock are woken. */
export class Messages {
  readonly #driver: Driver;
  readonly #sharded: boolean;
  /** A subscription that is not answered yet: a server that is away is not asked again by each check. */
  #asking: Promise<void> | undefined;

  constructor(driver: Driver, { sharded }: { sharded: boolean }) {
    this.#driver = driver;
    this.#sharded = sharded;
  }

  /** @returns undefined, or why no message arrives */
  async failure(timeoutMs: number): Promise<string | undefined> {
    const late = new AbortController();
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    try {
      return await Promise.race([
        this.#asking.then(
          () => undefined,
          (error: unknown) => `no subscription: ${messageOf(error)}`,
        ),
        pause(timeoutMs, `no answer to a subscription within ${timeoutMs} ms`, { signal: late.signal }),
      ]);
    } finally {
      late.abort();
    }
  }

  async #ask(): Promise<void> {
    const unsubscribe = await this.#driver.subscribe(
      CHANNEL,
      { onMessage: () => {}, onReady: () => {} },
      this.#sharded ? "sharded" : undefined,
    );
    await unsubscribe();
  }
}

/** @param error whatever was thrown */
export function messageOf(error: unknown): string {
  return types.isNativeError(error) ? error.message : String(error);
}
