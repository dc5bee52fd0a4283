import { setTimeout as pause } from "node:timers/promises";
import { types } from "node:util";
import { type Driver, ServerReplyError } from "holdfast";

/** Named like a lock's channel, because users of Redis often have rights for such channels only. */
const CHANNEL = "redisson_lock__channel:{holdfast:health}";

/** Checks whether the messages that wake a lock's waiters arrive. */
export class Messages {
  readonly #driver: Driver;
  readonly #sharded: boolean;
  /** A subscription that the server has not answered yet. Later checks wait for it, and do not ask the server again. */
  #asking: Promise<void> | undefined;

  constructor(driver: Driver, { sharded }: { sharded: boolean }) {
    this.#driver = driver;
    this.#sharded = sharded;
  }

  /** @returns undefined, or why messages do not arrive */
  async failure(timeoutMs: number): Promise<string | undefined> {
    const late = new AbortController();
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    try {
      return await Promise.race([
        this.#asking.then(
          () => undefined,
          (error: unknown) => (isOfThisChannel(error) ? undefined : `no subscription: ${messageOf(error)}`),
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

/**
 * Whether the user has no right to this channel. The server then answers, and messages of locks may arrive, if the user has rights to
 * their channels.
 */
function isOfThisChannel(error: unknown): boolean {
  return error instanceof ServerReplyError && error.code === "NOPERM" && /channel/.test(error.message);
}

/** @param error any thrown value */
export function messageOf(error: unknown): string {
  return types.isNativeError(error) ? error.message : String(error);
}
