import { checkCount } from "../checks.js";
import { UnavailableError } from "../errors.js";
import { events } from "../events.js";
import { REFUSED, type Tried } from "../lease.js";
import { checkLease, checkPermitOptions, type PermitOptions, type SemaphoreSettings } from "../options.js";
import { permitLeasesKey } from "../protocol/names.js";
import type { PermitRelease } from "../protocol/semaphore-scripts.js";
import { forCaller } from "../runtime/for-caller.js";
import type { PermitHold } from "../threads/permit-holds.js";
import {
  AnySemaphore,
  type AskedPermits,
  type AskedPermitsToUse,
  askedFor,
  askedToUse,
  MOST_PERMITS,
} from "./any-semaphore.js";
import { change, type Decided, read } from "./count.js";
import { leasedPermits } from "./leased-permits.js";
import type { PermitSource } from "./permit-command.js";
import { checkedId, idsOf, MOST_AT_ONCE } from "./permit-ids.js";
import { lateRelease, type Permits, PermitsLease, permitsNotHeld } from "./permits.js";
import { releaseByIds, releaseWhatIsLeft } from "./release-permits.js";

/**
 * A number of permits. Each one is taken under an id and may have a lease: when the lease ends, the permit returns by itself.
 *
 * All methods reject with `UnavailableError` when Redis does not answer or refuses: the change has then happened once or not at all; a
 * release is repeated in the background. They reject with `WrongTypeError` when the key holds something else, and with `ClientClosedError`
 * once the client is closed. Wrong arguments are a `TypeError` or a `RangeError`. Source: Redisson's RPermitExpirableSemaphore.
 */
export interface PermitExpirableSemaphore {
  /** The name that the program uses. */
  readonly name: string;

  /**
   * Sets the number of permits, unless it is set.
   * @returns false if it was set
   * @example await semaphore.trySetPermits(5);
   */
  trySetPermits(permits: number, settings?: SemaphoreSettings): Promise<boolean>;

  /**
   * Sets the number of permits, including taken ones. If too many are taken, the number of available permits is negative until enough have
   * returned.
   * @example await semaphore.setPermits(10);
   */
  setPermits(permits: number): Promise<void>;

  /**
   * Changes how many permits are available, up or down, even below zero.
   * @example await semaphore.addPermits(-1);
   */
  addPermits(permits: number): Promise<void>;

  /**
   * Takes permits, by default one, at most 1 000. Waits at most `waitMs`, by default for ever. Without `leaseMs` and `watchdog` the
   * permits are permanent, as in Redisson: if the process dies, they never return.
   * @throws WaitTimeoutError when `waitMs` runs out; the signal's reason when it aborts
   * @example await using permits = await semaphore.acquire(2, { watchdog: true, waitMs: 5_000 });
   */
  acquire(permits?: number, options?: PermitOptions): Promise<Permits>;
  acquire(options: PermitOptions): Promise<Permits>;

  /**
   * Takes permits if there are enough, by default without waiting, in one round trip.
   * @returns null if there were not enough
   * @throws the errors of `acquire` except WaitTimeoutError
   * @example
   * const permits = await semaphore.tryAcquire({ leaseMs: 60_000 });
   * if (permits !== null) await work().finally(() => permits.release());
   */
  tryAcquire(permits?: number, options?: PermitOptions): Promise<Permits | null>;
  tryAcquire(options: PermitOptions): Promise<Permits | null>;

  /**
   * Runs a body with permits and gives them back afterwards, however it ends.
   *
   * Rejects with the body's own error if it threw. Otherwise rejects with LeaseLostError if the permits were lost while the body ran,
   * because others may have taken them meanwhile. If the release fails, the event `holdfast:lease:release-failed` is published.
   * @throws the errors of `acquire`
   * @example await semaphore.using({ watchdog: true }, ({ signal }) => charge(order, { signal }));
   */
  using<T>(body: (permits: Permits) => T | Promise<T>): Promise<T>;
  using<T>(permits: number, body: (permits: Permits) => T | Promise<T>): Promise<T>;
  using<T>(options: PermitOptions, body: (permits: Permits) => T | Promise<T>): Promise<T>;
  using<T>(permits: number, options: PermitOptions, body: (permits: Permits) => T | Promise<T>): Promise<T>;

  /**
   * Runs a body with permits if there are enough, by default without waiting, and gives them back afterwards.
   * @returns whether the body ran, and its result
   * @throws the errors of `using` except WaitTimeoutError
   * @example const { ran } = await semaphore.tryUsing({ watchdog: true }, () => importFile(file));
   */
  tryUsing<T>(body: (permits: Permits) => T | Promise<T>): Promise<Tried<T>>;
  tryUsing<T>(permits: number, body: (permits: Permits) => T | Promise<T>): Promise<Tried<T>>;
  tryUsing<T>(options: PermitOptions, body: (permits: Permits) => T | Promise<T>): Promise<Tried<T>>;
  tryUsing<T>(
    permits: number,
    options: PermitOptions,
    body: (permits: Permits) => T | Promise<T>,
  ): Promise<Tried<T>>;

  /**
   * Gives permits back, all or none, whichever call took them. If Redis does not answer, leases of this client lose these permits, and the
   * client gives them back in the background, even if other ids are gone.
   * @throws NotHeldError if one of the ids is unknown or its lease has ended
   * @example await semaphore.release(permits.ids);
   */
  release(ids: string | readonly string[]): Promise<void>;

  /**
   * As `release`.
   * @returns false if one of the ids is unknown or its lease has ended; then none is given back
   * @example const released = await semaphore.tryRelease(permits.ids);
   */
  tryRelease(ids: string | readonly string[]): Promise<boolean>;

  /**
   * How many permits are available; 0 if there is no semaphore.
   * @example const free = await semaphore.availablePermits();
   */
  availablePermits(): Promise<number>;

  /**
   * How many permits are taken.
   * @example const taken = await semaphore.acquiredPermits();
   */
  acquiredPermits(): Promise<number>;

  /**
   * How many permits there are, including taken ones; 0 if there is no semaphore.
   * @example const all = await semaphore.getPermits();
   */
  getPermits(): Promise<number>;

  /**
   * Makes leases end `leaseMs` from now, also those of permanent permits: all of them, or none. `Permits` of this client with these ids
   * know their new end at once. Other processes are not told: if the lease becomes shorter, they trust it for too long.
   * @returns false if one of the ids is unknown or its lease has ended; then none is changed
   * @example await semaphore.updateLeaseTime(permits.ids, 60_000);
   */
  updateLeaseTime(ids: string | readonly string[], leaseMs: number): Promise<boolean>;

  /**
   * Milliseconds until the lease of a permit ends; -1 for a permanent permit.
   * @throws NotHeldError if the id is unknown or its lease has ended
   * @example for (const id of permits.ids) console.log(await semaphore.getLeaseTime(id));
   */
  getLeaseTime(id: string): Promise<number>;

  /**
   * Removes the semaphore, with all taken permits.
   * @returns false if there was none
   * @example await semaphore.delete();
   */
  delete(): Promise<boolean>;
}

type PermitsBody<T> = (permits: Permits) => T | Promise<T>;

/** A permit-expirable semaphore in Redis. */
export class LeasingSemaphore
  extends AnySemaphore<PermitHold, PermitOptions>
  implements PermitExpirableSemaphore
{
  protected override get belongings(): readonly string[] {
    return [...super.belongings, permitLeasesKey(this.count.key)];
  }

  async setPermits(permits: number): Promise<void> {
    checkCount("permits", permits, 0, MOST_PERMITS);
    const { client, key, channel } = this.count;
    client.assertOpen(this.count);
    const setting = { count: key, channel, total: permits };
    const { permitSetTotal } = await import("../protocol/later-count-scripts.js");
    await change(this.count, permitSetTotal, (request) => ({ ...setting, request }));
  }

  acquire(first?: number | PermitOptions, second?: PermitOptions): Promise<Permits> {
    return this.take(
      () => askedFor(first, second),
      undefined,
      (granted, call) => this.#lease(this.orThrow(granted, call)),
    );
  }

  tryAcquire(first?: number | PermitOptions, second?: PermitOptions): Promise<Permits | null> {
    return this.take(
      () => askedFor(first, second),
      0,
      (granted) => (granted === undefined ? null : this.#lease(granted)),
    );
  }

  using<T>(...given: readonly unknown[]): Promise<T> {
    return this.take(
      () => askedToUse<PermitOptions, PermitsBody<T>>("using", given),
      undefined,
      (granted, call, { body }) => {
        const permits = this.#lease(this.orThrow(granted, call));
        return permits.use(() => body(permits));
      },
    );
  }

  tryUsing<T>(...given: readonly unknown[]): Promise<Tried<T>> {
    return this.take<Tried<T>, AskedPermitsToUse<PermitOptions, PermitsBody<T>>>(
      () => askedToUse("tryUsing", given),
      0,
      (granted, _, { body }) => {
        if (granted === undefined) return REFUSED;
        const permits = this.#lease(granted);
        return permits.use(() => body(permits)).then((value) => ({ ran: true, value }));
      },
    );
  }

  async release(ids: string | readonly string[]): Promise<void> {
    const release = await this.#releaseByIds(ids);
    if (release.status === "released") return;
    const { absent } = release;
    const are =
      absent === 1 ? "is unknown, or its lease has ended" : "are unknown, or their leases have ended";
    throw permitsNotHeld(this.name, `${absent} of them ${are}`);
  }

  async tryRelease(ids: string | readonly string[]): Promise<boolean> {
    const { status } = await this.#releaseByIds(ids);
    return status === "released";
  }

  async availablePermits(): Promise<number> {
    return (await this.#look()).available;
  }

  async acquiredPermits(): Promise<number> {
    return (await this.#look()).acquired;
  }

  async getPermits(): Promise<number> {
    const { exists, available, acquired } = await this.#look();
    return exists === 1 ? available + acquired : 0;
  }

  async updateLeaseTime(given: string | readonly string[], leaseMs: number): Promise<boolean> {
    const ids = idsOf(given);
    checkLease(leaseMs);
    const { client, key, channel } = this.count;
    client.assertOpen(this.count);
    const { permitSetLease } = await import("../protocol/later-count-scripts.js");
    // From this point on, Redis may have the new lease.
    const doubts = client.permits.of(ids).map((hold) => [hold, hold.reletting(leaseMs)] as const);
    const setting = { count: key, channel, ids, leaseMs };
    try {
      const { status } = await change(this.count, permitSetLease, (request) => ({
        ...setting,
        request,
      }));
      for (const [hold, doubt] of doubts) {
        const isWhole = hold.ids.every((id) => ids.includes(id));
        // If only some permits of a hold now have a longer lease, the hold keeps the old lease, which its other permits still have.
        if (status === "absent" || (!isWhole && leaseMs >= hold.terms.leaseMs)) hold.notRelet(doubt);
        else if (isWhole) hold.relet(doubt);
      }
      return status === "updated";
    } catch (error) {
      const unknown = error instanceof UnavailableError && error.outcomeUnknown;
      if (!unknown) for (const [hold, doubt] of doubts) hold.notRelet(doubt);
      throw error;
    }
  }

  async getLeaseTime(id: string): Promise<number> {
    const { leftMs } = await this.#look(checkedId(id));
    if (leftMs >= -1) return leftMs;
    throw permitsNotHeld(this.name, `${id} is unknown, or its lease has ended`);
  }

  async #look(id = "") {
    const { key, channel } = this.count;
    const { permitLook } = await import("../protocol/later-count-scripts.js");
    return read(this.count, permitLook, { count: key, channel, id });
  }

  #lease(hold: PermitHold): PermitsLease {
    return new PermitsLease(this.count.client, hold, () => this.#release(hold));
  }

  protected sourceOf({ permits, options }: AskedPermits<PermitOptions>): PermitSource<PermitHold> {
    checkCount("permits", permits, 1, MOST_AT_ONCE);
    checkPermitOptions(options);
    return leasedPermits(this.count, permits, options, (hold) => this.#release(hold));
  }

  /** Releases the permits of one lease; a second call is harmless. The state is read first, because a hold may be lost a moment later. */
  async #release(hold: PermitHold): Promise<void> {
    if (hold.state === "held") hold.releasing = this.#releaseHeld(hold);
    else if (hold.state === "lost") {
      this.#giveUp(hold);
      throw lateRelease(this.name, hold);
    }
    try {
      await hold.releasing;
    } catch (error) {
      throw forCaller(error, this.count);
    }
  }

  async #releaseHeld(hold: PermitHold): Promise<void> {
    const { ids, heldMs, about } = hold;
    hold.release();
    let isReleased: boolean;
    try {
      isReleased = await releaseWhatIsLeft(this.count, ids);
    } catch (error) {
      if (events.release.hasSubscribers)
        events.release.publish({ ...about, heldMs: Math.round(heldMs), holdCount: 1, error });
      throw error;
    }
    if (!isReleased) {
      hold.wasGone();
      throw lateRelease(this.name, hold);
    }
    if (!events.release.hasSubscribers) return;
    events.release.publish({ ...about, heldMs: Math.round(heldMs), holdCount: 1 });
  }

  /** Redis may still have permits that are no longer trusted: gives them back, so that other calls need not wait until their lease ends. */
  #giveUp(hold: PermitHold): void {
    if (hold.dismissed) return;
    hold.dismissed = true;
    const { ids } = hold;
    this.count.client.inBackground(() => releaseWhatIsLeft(this.count, ids));
  }

  async #releaseByIds(given: string | readonly string[]): Promise<Decided<PermitRelease>> {
    const ids = idsOf(given);
    const holds = this.count.client.permits.of(ids);
    for (const hold of holds) hold.releasingSome();
    let gone: readonly string[] = [];
    try {
      const decided = await releaseByIds(this.count, ids);
      if (decided.status === "released") gone = ids;
      return decided;
    } catch (error) {
      if (error instanceof UnavailableError && error.outcomeUnknown) gone = ids;
      throw error;
    } finally {
      for (const hold of holds) hold.releasedSome(gone);
    }
  }
}
