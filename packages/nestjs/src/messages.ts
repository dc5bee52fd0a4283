import { setTimeout as pause } from "node:timers/promises";
import { types } from "node:util";
import { type Driver, ServerReplyError } from "holdfast";

/** A channel like a lock's channel: users of Redis often have rights for such channels only. */
const CHANNEL = "redisson_lock__channel:{holdfast:health}";

/** Checks whether messages arrive, which wake the waiters of a lock. */
export class Messages {
  readonly #driver: Driver;
  readonly #sharded: boolean;
  /** A subscription that is not answered yet: not every check asks a server that is away again. */
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

/** A refusal is an answer, too: the user may have the right to the channels of certain locks, and gets their messages. */
function isOfThisChannel(error: unknown): boolean {
  return error instanceof ServerReplyError && error.code === "NOPERM" && /channel/.test(error.message);
}

/** @param error any thrown value */
export function messageOf(error: unknown): string {
  return types.isNativeError(error) ? error.message : String(error);
}
