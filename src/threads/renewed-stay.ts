import type { Renewal } from "../protocol/lock-calls.js";
import type { Instant } from "../runtime/instant.js";
import type { Renewable, Watchdog } from "../runtime/watchdog.js";
import { bySlot, NO_VALUES } from "./by-slot.js";
import { ConfirmableStay } from "./confirmable-stay.js";
import type { ServerRecord } from "./server-record.js";
import type { Trust } from "./trust.js";

/** The part of a hold that renewals use. */
type RenewedHold = Trust & { readonly slot: number };

/** The part of a stay that a watchdog keeps alive. */
export abstract class RenewedStay extends ConfirmableStay implements Renewable {
  /** Renews the stay; undefined while no hold needs renewal. */
  watchdog: Watchdog | undefined;
  /** True while a renewal is under way or waits for its next try: the watchdog then skips the stay. */
  underRenewal = false;
  /** The `changes` when the latest renewal was made; undefined if a command was under way. */
  #renewedChanges: number | undefined;

  abstract override readonly live: readonly RenewedHold[];
  /** Like `live`, but some holds may have ended: reading it checks no clock and changes nothing. */
  abstract readonly held: readonly RenewedHold[];
  abstract readonly field: string;
  abstract readonly inRedis: ServerRecord;
  /** Calls `act` with each live hold; a hold that ends in the call leaves the list. @returns the remaining holds */
  protected abstract each(act: (hold: RenewedHold) => void): readonly RenewedHold[];
  /** The TTL that the key must have for these holds, in whole milliseconds of at least 1. */
  abstract neededMs(live: readonly RenewedHold[]): number;

  /** The watchdog of another reader, for example of a JVM, may lower the TTL of a shared lock. So fixed leases are also written again. */
  protected needsRenewal({ isRenewed }: RenewedHold): boolean {
    return isRenewed || this.lock.kind.shared;
  }

  renewal(): Renewal {
    this.#renewedChanges = this.settledChanges;
    const { held } = this;
    // A JVM's watchdog may also shorten fixed leases, of the lock or of a single hold.
    const msOf = (hold?: RenewedHold) => (hold === undefined ? 0 : Math.max(1, Math.ceil(hold.neededMs())));
    const holdMs = this.lock.kind.shared ? bySlot(held, this.inRedis.count, msOf) : NO_VALUES;
    return { key: this.key, holder: this.field, leaseMs: this.neededMs(held), holdMs };
  }

  isAlive(at?: Instant): boolean {
    return this.each((hold) => hold.checkMs(at)).some((hold) => this.needsRenewal(hold));
  }

  renewed(sentAt: Instant, at?: Instant): void {
    this.each((hold) => hold.isRenewed && hold.extend(sentAt, at));
  }

  renewing(): void {
    this.each((hold) => hold.isRenewed && hold.renewing());
  }

  gone(): boolean {
    // If a hold has ended since the renewal was made, or a release overlapped the renewal, the answer `lost` may be about a released hold.
    if (this.lock.kind.shared && (!this.isAlive() || this.#renewedChanges !== this.changes)) return false;
    this.loseAll(this.isMoved ? "server-changed" : "stolen");
    return true;
  }
}
