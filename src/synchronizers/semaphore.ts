import { checkCount } from "../checks.js";
import { UnavailableError } from "../errors.js";
import { events } from "../events.js";
import { REFUSED, type Tried } from "../lease.js";
import { checkWaitOptions, type SemaphoreSettings, type WaitOptions } from "../options.js";
import { semaphoreAcquire, semaphoreCancel } from "../protocol/semaphore-scripts.js";
import type { Tally } from "../runtime/tally.js";
import { surrounded } from "../threads/surrounded.js";
import {
  AnySemaphore,
  type AskedPermits,
  type AskedPermitsToUse,
  askedFor,
  askedToUse,
  MOST_PERMITS,
} from "./any-semaphore.js";
import { change, look } from "./count.js";
import type { PermitSource } from "./permit-command.js";

/**
 * A number of permits that any process may take and give back. They have no owner: a process that dies does not give its permits back; use
 * a {@link PermitExpirableSemaphore} for permits that return by themselves.
 *
 * All methods reject with `UnavailableError` when Redis does not answer or refuses: the change has then happened once or not at all; a
 * release is repeated in the background. They reject with `WrongTypeError` when the key holds something else, and with `ClientClosedError`
 * once the client is closed. Wrong arguments are a `TypeError` or a `RangeError`. Source: Redisson's RSemaphore.
 */
export interface Semaphore {
  /** The name that the program uses. */
  readonly name: string;

  /**
   * Sets the number of permits, unless it is set.
   * @returns false if it was set
   * @example await semaphore.trySetPermits(3);
   */
  trySetPermits(permits: number, settings?: SemaphoreSettings): Promise<boolean>;

  /**
   * Takes permits, by default one. Waits at most `waitMs`, by default for ever.
   * @throws WaitTimeoutError when `waitMs` runs out; the signal's reason when it aborts
   * @example await semaphore.acquire(2, { waitMs: 5_000 });
   */
  acquire(permits?: number, options?: WaitOptions): Promise<void>;
  acquire(options: WaitOptions): Promise<void>;

  /**
   * Takes permits if there are enough, by default one and without waiting, in one round trip.
   * @returns false if there were not enough
   * @throws the errors of `acquire` except WaitTimeoutError
   * @example if (await semaphore.tryAcquire()) await work().finally(() => semaphore.release());
   */
  tryAcquire(permits?: number, options?: WaitOptions): Promise<boolean>;
  tryAcquire(options: WaitOptions): Promise<boolean>;

  /**
   * Runs a body with permits and gives them back afterwards, however it ends. Rejects with the body's own error if it threw. If the release
   * fails, the event `holdfast:lease:release-failed` is published. If the body still runs when the client is closed, its permits return
   * only with `releaseHeld: true`.
   * @throws the errors of `acquire`
   * @example await semaphore.using(2, { waitMs: 5_000 }, () => importBig(file));
   */
  using<T>(body: () => T | Promise<T>): Promise<T>;
  using<T>(permits: number, body: () => T | Promise<T>): Promise<T>;
  using<T>(options: WaitOptions, body: () => T | Promise<T>): Promise<T>;
  using<T>(permits: number, options: WaitOptions, body: () => T | Promise<T>): Promise<T>;

  /**
   * Runs a body with permits if there are enough, by default without waiting, and gives them back afterwards.
   * @returns whether the body ran, and its result
   * @throws the errors of `using` except WaitTimeoutError
   * @example const { ran } = await semaphore.tryUsing(() => importFile(file));
   */
  tryUsing<T>(body: () => T | Promise<T>): Promise<Tried<T>>;
  tryUsing<T>(permits: number, body: () => T | Promise<T>): Promise<Tried<T>>;
  tryUsing<T>(options: WaitOptions, body: () => T | Promise<T>): Promise<Tried<T>>;
  tryUsing<T>(permits: number, options: WaitOptions, body: () => T | Promise<T>): Promise<Tried<T>>;

  /**
   * Gives permits back, by default one. Does not check which process took them: it may also add permits, or create a semaphore.
   * @example await semaphore.release(2);
   */
  release(permits?: number): Promise<void>;

  /**
   * As `release`, but never creates a semaphore.
   * @returns false if there is none
   * @example const exists = await semaphore.releaseIfExists();
   */
  releaseIfExists(permits?: number): Promise<boolean>;

  /**
   * Changes how many permits are available, up or down, even below zero.
   * @example await semaphore.addPermits(-1);
   */
  addPermits(permits: number): Promise<void>;

  /**
   * Takes all available permits.
   * @returns how many
   * @example const taken = await semaphore.drainPermits();
   */
  drainPermits(): Promise<number>;

  /**
   * How many permits are available; 0 if there is no semaphore.
   * @example const free = await semaphore.availablePermits();
   */
  availablePermits(): Promise<number>;

  /**
   * Removes the semaphore.
   * @returns false if there was none
   * @example await semaphore.delete();
   */
  delete(): Promise<boolean>;
}

/** The permits return only by a release. */
const PERMANENT = { leaseMs: Number.POSITIVE_INFINITY, renewed: false, note: undefined };

type SemaphoreBody<T> = () => T | Promise<T>;

/** A semaphore in Redis. */
export class CountingSemaphore extends AnySemaphore<number, WaitOptions> implements Semaphore {
  acquire(first?: number | WaitOptions, second?: WaitOptions): Promise<void> {
    return this.take(
      () => askedFor(first, second),
      undefined,
      (granted, call) => void this.orThrow(granted, call),
    );
  }

  tryAcquire(first?: number | WaitOptions, second?: WaitOptions): Promise<boolean> {
    return this.take(
      () => askedFor(first, second),
      0,
      (granted) => granted !== undefined,
    );
  }

  using<T>(...given: readonly unknown[]): Promise<T> {
    return this.take(
      () => askedToUse<WaitOptions, SemaphoreBody<T>>("using", given),
      undefined,
      (granted, call, { body }) => this.#use(this.orThrow(granted, call), body),
    );
  }

  tryUsing<T>(...given: readonly unknown[]): Promise<Tried<T>> {
    return this.take<Tried<T>, AskedPermitsToUse<WaitOptions, SemaphoreBody<T>>>(
      () => askedToUse("tryUsing", given),
      0,
      async (granted, _, { body }) =>
        granted === undefined ? REFUSED : { ran: true, value: await this.#use(granted, body) },
    );
  }

  async #use<T>(permits: number, body: () => T | Promise<T>): Promise<T> {
    const { client, name, kind } = this.count;
    const { around } = client.settings;
    const run = around === undefined ? body : surrounded(around, { name, kind, holder: "" }, body);
    let release: Promise<void> | undefined;
    const giveBack = () => {
      release ??= this.#giveBack(permits);
      return release;
    };
    client.inUse.add(giveBack);
    try {
      client.assertOpen(this.count);
      return await client.threads.runBeside(this, run);
    } finally {
      client.inUse.delete(giveBack);
      await giveBack();
    }
  }

  async release(permits = 1): Promise<void> {
    checkCount("permits", permits, 0, MOST_PERMITS);
    if (permits > 0) await this.#release(permits, {});
  }

  async releaseIfExists(permits = 1): Promise<boolean> {
    checkCount("permits", permits, 0, MOST_PERMITS);
    return permits > 0 && (await this.#release(permits, { mustExist: true }));
  }

  #release(permits: number, how: { readonly mustExist?: boolean }): Promise<boolean> {
    const added = this.add(permits, { ...how, goesOn: true });
    const { tally } = this.count.client;
    return tally === undefined ? added : this.#counted(tally, added, permits);
  }

  /** A release without an answer continues in the background, so it counts as done. */
  async #counted(tally: Tally, added: Promise<boolean>, permits: number): Promise<boolean> {
    try {
      const isAdded = await added;
      tally.permits.gaveBack(this.count, permits);
      return isAdded;
    } catch (error) {
      if (error instanceof UnavailableError && error.outcomeUnknown)
        tally.permits.gaveBack(this.count, permits);
      throw error;
    }
  }

  override async delete(): Promise<boolean> {
    const isDeleted = await super.delete();
    this.count.client.tally?.permits.forget(this.count);
    return isDeleted;
  }

  async drainPermits(): Promise<number> {
    const { client, key } = this.count;
    client.assertOpen(this.count);
    const { semaphoreDrain } = await import("../protocol/later-count-scripts.js");
    const { permits } = await change(this.count, semaphoreDrain, (request) => ({ count: key, request }));
    client.tally?.permits.took(this.count, permits);
    return permits;
  }

  async availablePermits(): Promise<number> {
    return look(this.count);
  }

  protected sourceOf({ permits, options }: AskedPermits<WaitOptions>): PermitSource<number> {
    checkCount("permits", permits, 0, MOST_PERMITS);
    checkWaitOptions(options);
    return {
      count: this.count,
      terms: PERMANENT,
      acquire: semaphoreAcquire,
      cancel: semaphoreCancel,
      nothing: permits === 0 ? 0 : undefined,
      lot: () => ({ permits, ids: [], leaseMs: 0 }),
      enter: () => {
        this.count.client.tally?.permits.took(this.count, permits);
        return permits;
      },
      giveBack: (granted) => this.#giveBack(granted),
      describe: () => undefined,
    };
  }

  /** Does not recreate a semaphore that was deleted meanwhile. Never rejects. */
  async #giveBack(permits: number): Promise<void> {
    try {
      await this.releaseIfExists(permits);
    } catch (error) {
      const { client, name, kind } = this.count;
      if (events.releaseFailed.hasSubscribers) {
        events.releaseFailed.publish({ ...client.about, name, kind, holder: "", error });
      }
    }
  }
}
