import { LeaseLostError, type LossReason } from "../errors.js";
import type { Instant } from "../runtime/instant.js";
import { ChangeableTrust } from "./changeable-trust.js";
import type { Custody } from "./custody.js";
import type { Held, Subject } from "./held.js";
import type { Since, Terms } from "./terms.js";

/** The origin of a hold. */
export interface HoldOrigin extends Since {
  /** True for a hold that `lock()` or `tryLock()` returned outside of `asThread()`: no body has it, so no nested call re-enters it. */
  readonly bare: boolean;
  /** The fencing token of a fenced lock. */
  readonly token?: bigint | undefined;
  /** True for a hold that was handed over: no answer has shown yet that Redis has the field of its stay. */
  readonly unnamed?: boolean | undefined;
}

type HoldServices = Pick<Custody<never>, "clock" | "alarms">;

/** The part of a stay that its holds use. */
interface StayOfHold {
  readonly lock: Held;
  readonly field: string;
  readonly thread: { readonly explicitId: number | undefined };
  readonly live: readonly unknown[];
  /** The hold was released. */
  remove(hold: HoldOf<this>): void;
  lost(hold: HoldOf<this>, loss: LeaseLostError): void;
  lapsing(): void;
}

/**
 * One acquisition of a lock, generic in the type of its stay; stay.ts derives the type `Hold` from it.
 * @see docs/internals/states.md#trust-of-a-hold
 */
export class HoldOf<S extends StayOfHold> extends ChangeableTrust {
  readonly stay: S;
  /** 1 for the outermost hold of its stay. */
  readonly holdCount: number;
  readonly bare: boolean;
  readonly token: bigint | undefined;
  /** Its number among the holds of its stay, as Redis counts them from 1. */
  slot = 1;
  /** On the monotonic clock: the time until which the release keeps the key in Redis; 0: the release does not keep the key. */
  keptUntilMs = 0;
  /** True once an attempt to release the lease has told the caller of the loss. */
  dismissed = false;

  /**
   * @param services the services of the client
   * @param at the current time
   */
  constructor(stay: S, terms: Terms, place: HoldOrigin, services: HoldServices, at: Instant) {
    super(terms, place, services.clock, services.alarms, at);
    this.stay = stay;
    this.holdCount = stay.live.length + 1;
    this.bare = place.bare;
    this.token = place.token;
  }

  get about(): Subject {
    const { lock, field } = this.stay;
    const { clientId, server } = lock.client.about;
    return { clientId, server, name: lock.name, kind: lock.kind.name, holder: field };
  }

  /** True under a chosen thread id: with only this id, the program can unlock the lock. */
  get isReachable(): boolean {
    return this.stay.thread.explicitId !== undefined;
  }

  protected lossOf(reason: LossReason, heldMs: number): LeaseLostError {
    const { lock, field } = this.stay;
    return new LeaseLostError(lock.name, field, reason, heldMs);
  }

  override forget(): void {
    super.forget();
    this.#leavesQueue();
  }

  protected ended(loss: LeaseLostError | undefined): void {
    if (loss === undefined) this.stay.remove(this);
    else {
      this.stay.lost(this, loss);
      this.#leavesQueue();
    }
  }

  /** Called when the hold has ended without a release. If it was the last hold of its stay, the client leaves the queue of the lock. */
  #leavesQueue(): void {
    const { live, lock } = this.stay;
    if (live.length === 0 && lock.queues) lock.kind.leaveQueue?.(lock);
  }

  protected lapsed(): void {
    this.stay.lapsing();
  }

  /** Never called: only permits use {@link notRelet}. */
  protected resumed(): void {}
}
