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
 * A number of permits that any process may take and give back. Nobody owns them: a process that dies with permits does not
 * give them back. For that there is the {@link PermitExpirableSemaphore}.
 *
 * All methods reject with `UnavailableError` when Redis does not answer or refuses: what was asked for has happened once then,
 * or not at all; a release is tried on behind the scenes. They reject with `WrongTypeError` when the key is something else, and
 * with `ClientClosedError` once the client is closed. Wrong arguments are a `TypeError` or a `RangeError`. Source: Redisson's
 * RSemaphore.
 */
export interface Semaphore {
  /** As the program called it. */
  readonly name: string;

  /**
   * Sets how many permits there are, unless that was done before.
   * @returns false when it was
   */
  trySetPermits(permits: number, settings?: SemaphoreSettings): Promise<boolean>;

  /**
   * Takes permits, by default one, waiting for as long as `waitMs` says, by default for ever.
   * @throws WaitTimeoutError when `waitMs` ran out; the signal's reason when it aborts
   */
  acquire(permits?: number, options?: WaitOptions): Promise<void>;
  acquire(options: WaitOptions): Promise<void>;

  /**
   * Takes permits, by default one, if there are enough, by default without waiting, in one round trip.
   * @returns false when there were not
   * @throws as `acquire`, but for WaitTimeoutError
   */
  tryAcquire(permits?: number, options?: WaitOptions): Promise<boolean>;
  tryAcquire(options: WaitOptions): Promise<boolean>;

  /**
   * Runs a body with permits and gives them back afterwards, however it ends. Rejects with the body's own error if it threw. A
   * release that failed is told by the event `holdfast:lease:release-failed`. Permits of a body that still runs when the client
   * is closed come back only with `releaseHeld: true`.
   * @throws as `acquire`
   */
  using<T>(body: () => T | Promise<T>): Promise<T>;
  using<T>(permits: number, body: () => T | Promise<T>): Promise<T>;
  using<T>(options: WaitOptions, body: () => T | Promise<T>): Promise<T>;
  using<T>(permits: number, options: WaitOptions, body: () => T | Promise<T>): Promise<T>;

  /**
   * Runs a body with permits if there are enough, by default without waiting, and gives them back afterwards.
   * @returns whether the body was run, and what it returned
   * @throws as `using`, but for WaitTimeoutError
   */
  tryUsing<T>(body: () => T | Promise<T>): Promise<Tried<T>>;
  tryUsing<T>(permits: number, body: () => T | Promise<T>): Promise<Tried<T>>;
  tryUsing<T>(options: WaitOptions, body: () => T | Promise<T>): Promise<Tried<T>>;
  tryUsing<T>(permits: number, options: WaitOptions, body: () => T | Promise<T>): Promise<Tried<T>>;

  /**
   * Gives permits back, by default one. Nobody checks who took them: it may also add some, or make a semaphore where there is
   * none.
   */
  release(permits?: number): Promise<void>;

  /**
   * As `release`, but only where there is a semaphore.
   * @returns false when there is none
   */
  releaseIfExists(permits?: number): Promise<boolean>;

  /** Changes how many permits are available, up or down, also below zero. */
  addPermits(permits: number): Promise<void>;

  /** Takes all permits that are available. @returns how many */
  drainPermits(): Promise<number>;

  /** How many permits are available; 0 when there is no semaphore. */
  availablePermits(): Promise<number>;

  /** Removes the semaphore. @returns false when there was none */
  delete(): Promise<boolean>;
}

/** Nothing but a release brings the permits back. */
const PERMANENT = { leaseMs: Number.POSITIVE_INFINITY, renewed: false, note: undefined };

type SemaphoreBody<T> = () => T | Promise<T>;

/** A semaphore in Redis. What it grants is a number of permits. */
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

  /** A release without an answer goes on in the background, and so counts as done. */
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

  /** What was deleted meanwhile is not made again. Never rejects. */
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
