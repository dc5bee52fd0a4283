import { type Instant, now } from "../runtime/instant.js";
import { type Doubt, Doubts } from "./doubts.js";
import { leaseEnd, makeTerms } from "./terms.js";
import { Trust } from "./trust.js";

/**
 * Trust in a lease that a command may set anew. While that is under way, and where its outcome is not known, the shorter lease is trusted.
 * @see docs/internals/states.md#extending-a-lease
 */
export abstract class ChangeableTrust extends Trust {
  /**
   * A command is about to change the lease: until its outcome is known, the shorter of the two leases is trusted, and the watchdog does not
   * renew it.
   * @returns what to hand to `relet` or `notRelet` once the outcome is known; if it never is, to neither
   */
  reletting(leaseMs: number): Doubt {
    const end = this.#endOf(leaseMs, now(this.clock));
    this.lapsed();
    this.doubts ??= new Doubts();
    const doubt = this.doubts.add(end);
    this.moved();
    return doubt;
  }

  /** The lease was changed: the new one began when the command was sent, or later. The watchdog never renews it again. */
  relet(doubt: Doubt): void {
    this.letLapse();
    this.endsAt(doubt.end);
    // Redis may carry out a change that is still under way before this one or after it: no doubt is trusted for longer than this lease.
    this.doubts?.cap(doubt.end);
    this.notRelet(doubt);
  }

  /** The lease is what it was. */
  notRelet(doubt: Doubt): void {
    this.doubts?.remove(doubt);
    if (this.isRenewed && this.state === "held") this.resumed();
    this.moved();
  }

  /** A command is about to be sent that sets a fixed lease to `leaseMs` from then on. */
  extending(leaseMs: number): void {
    this.reletting(leaseMs);
    if (this.doubts !== undefined) this.doubts.extensionMs = leaseMs;
  }

  /**
   * The lease was set by a command that was sent at `sentAt`. A copy of an earlier command may still arrive after it, and leave only
   * `copiesTtlMs`: for so long the lease is trusted at most, until it was written once more.
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

  /** It is not known whether the lease was set: the shorter one is trusted until it was written once more. */
  notExtended(): void {
    if (this.doubts !== undefined) this.doubts.extensionMs = undefined;
  }

  /** True while Redis may lack its own lease: it was granted or handed over, or an extension has an outcome that is not known. */
  get lacksLease(): boolean {
    return this.provisional || this.doubts?.isEmpty === false;
  }

  /** Its lease was written once more, and no earlier command can change that any more. */
  rewritten(): void {
    if (this.doubts === undefined || this.checkMs() === 0) return;
    this.doubts = undefined;
    this.moved();
  }

  #endOf(leaseMs: number, sentAt: Instant): Instant {
    return leaseEnd(makeTerms({ ...this.terms, leaseMs }), sentAt);
  }
}
