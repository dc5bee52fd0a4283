import { setTimeout as pause } from "node:timers/promises";
import { types } from "node:util";
import { type Driver, ServerReplyError } from "holdfast";

/** As that of a lock: users of Redis often have rights for such channels alone. */
const CHANNEL = "redisson_lock__channel:{holdfast:health}";

/** Checks whether messages arrive, which wake the waiters of a lock. */
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

/** A user who may listen to the channels of certain locks has an answer, and so the messages of those. */
function isOfThisChannel(error: unknown): boolean {
  return error instanceof ServerReplyError && error.code === "NOPERM" && /channel/.test(error.message);
}

/** @param error whatever was thrown */
export function messageOf(error: unknown): string {
  return types.isNativeError(error) ? error.message : String(error);
}
