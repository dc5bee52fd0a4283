import { type Instant, now } from "../runtime/instant.js";
import { type Doubt, Doubts } from "./doubts.js";
import { leaseEnd, makeTerms } from "./terms.js";
import { Trust } from "./trust.js";

/**
 * Trust in a lease that a command may change. While the command is under way, and if its outcome is unknown, the shorter of the old and the
 * new lease is trusted.
 * @see docs/internals/states.md#extending-a-lease
 */
export abstract class ChangeableTrust extends Trust {
  /**
   * A command is about to change the lease: until its outcome is known, the shorter of the two leases is trusted, and the watchdog does not
   * renew it.
   * @returns the lease in doubt: pass it to `relet` or `notRelet` once the outcome is known
   */
  reletting(leaseMs: number): Doubt {
    const end = this.#endOf(leaseMs, now(this.clock));
    this.lapsed();
    this.doubts ??= new Doubts();
    const doubt = this.doubts.add(end);
    this.moved();
    return doubt;
  }

  /** The command has changed the lease. The new lease began when the command was sent, or later; the watchdog never renews it. */
  relet(doubt: Doubt): void {
    this.letLapse();
    this.endsAt(doubt.end);
    // Another command that is under way may run before or after this one, so the lease of the other command is trusted no longer than this
    // lease.
    this.doubts?.cap(doubt.end);
    this.notRelet(doubt);
  }

  /** Called when the command has not changed the lease. */
  notRelet(doubt: Doubt): void {
    this.doubts?.remove(doubt);
    if (this.isRenewed && this.state === "held") this.resumed();
    this.moved();
  }

  /** A command is about to set a fixed lease of `leaseMs`. */
  extending(leaseMs: number): void {
    this.reletting(leaseMs);
    if (this.doubts !== undefined) this.doubts.extensionMs = leaseMs;
  }

  /**
   * A command sent at `sentAt` has set the lease. A late copy of an earlier command may still shorten the lease to `copiesTtlMs`, so the
   * lease is trusted only for that time until it is written again.
   */
  extended(leaseMs: number, sentAt: Instant, copiesTtlMs: number): void {
    if (this.checkMs() === 0) return;
    this.terms = makeTerms({ ...this.terms, leaseMs });
    this.confirm(sentAt);
    this.doubts = undefined;
    if (copiesTtlMs < leaseMs) {
      this.doubts = new Doubts();
      this.doubts.add(this.#endOf(copiesTtlMs, sentAt));
    }
    this.moved();
  }

  /** It is unknown whether the command has set the lease: the shorter of the two leases is trusted until the lease is written again. */
  notExtended(): void {
    if (this.doubts !== undefined) this.doubts.extensionMs = undefined;
  }

  /** True while Redis may not have the hold's own lease: the hold was granted or handed over, or the outcome of an extension is unknown. */
  get lacksLease(): boolean {
    return this.provisional || this.doubts?.isEmpty === false;
  }

  /** Called when the lease was written again, and no earlier command can change it any more. */
  rewritten(): void {
    if (this.doubts === undefined || this.checkMs() === 0) return;
    this.doubts = undefined;
    this.moved();
  }

  #endOf(leaseMs: number, sentAt: Instant): Instant {
    return leaseEnd(makeTerms({ ...this.terms, leaseMs }), sentAt);
  }
}
