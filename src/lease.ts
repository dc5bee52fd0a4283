import { checkBody } from "./checks.js";
import type { Around } from "./client-options.js";
import { type LeaseLostError, NotHeldError } from "./errors.js";
import { events } from "./events.js";
import type { UnlockOptions } from "./options.js";
import { showInLogs } from "./printed.js";
import { copyOf, lossForCaller } from "./runtime/for-caller.js";
import type { Instant } from "./runtime/instant.js";
import { guard } from "./threads/abandonment.js";
import type { HoldState } from "./threads/held.js";
import type { Body } from "./threads/scope.js";
import type { Hold } from "./threads/stay.js";
import { surrounded } from "./threads/surrounded.js";
import type { AfterBody } from "./threads/threads.js";

/** The caller's object for a hold: its state, deadline and loss signal, and the method to release it. */
export interface Lease extends AsyncDisposable {
  /** The name of the lock. */
  readonly name: string;
  /** The holder as stored in Redis: `<client id>:<thread id>`. */
  readonly holder: string;
  /** Pass it as `threadId` to re-enter the lock from outside the scope. */
  readonly threadId: number;
  /** The number of holds of the thread, including this one: 1 for the outermost. */
  readonly holdCount: number;
  /** Compares the clocks at each read, so the state is right even after a blocked event loop or a stopped process. */
  readonly state: HoldState;
  /**
   * Aborts with a {@link LeaseLostError} when the lease is lost, at the latest when it may no longer be trusted, even if the lease is
   * forgotten meanwhile. It does not abort when the lease is released.
   */
  readonly signal: AbortSignal;
  /**
   * Milliseconds for which the lease may be trusted without another renewal; 0 if it is over. Exact, so rarely a whole number.
   * @example if (lease.remainingMs() < 5_000) return "too late to begin";
   */
  remainingMs(): number;
  /**
   * @throws LeaseLostError when the lease was lost; NotHeldError when it was released
   * @example
   * lease.assertHeld();
   * await database.save(order);
   */
  assertHeld(): void;
  /**
   * Runs a body in the scope of this hold: calls inside it re-enter the lock. Does not release.
   * @throws LeaseLostError, NotHeldError before the body is run
   * @example await lease.run(() => lock.using(work));
   */
  run<T>(body: () => T | Promise<T>): Promise<T>;
  /**
   * Releases this hold. A second call is harmless: the first one decides. If a call of the same client waits, the lock passes to it, and nothing
   * is sent.
   * @throws NotHeldError when the lease was lost before; UnavailableError when Redis did not answer or refused: the release
   * is then repeated in the background, and at the latest the lock ends by its TTL; TypeError, with `keepForMs`, if the lock can not be
   * kept, or if the thread has other holds of it: then nothing is released
   * @example await lease.unlock({ keepForMs: 60_000 });
   */
  unlock(options?: UnlockOptions): Promise<void>;
  /**
   * Sets how long a fixed lease lasts from now on, longer or shorter than before. Until Redis answers, the shorter of the two leases is
   * trusted; if the command fails, it is trusted until Redis has the old lease again. The longest lease of the thread's holds decides when
   * the key expires in Redis.
   * @param leaseMs whole milliseconds, at least 1
   * @throws TypeError when the lease was taken without `leaseMs`, so that the watchdog renews it; LeaseLostError when it is lost, or found to
   * be gone; NotHeldError when it was released; UnavailableError when Redis did not answer or refused, or too few replicas have it
   * @example await lease.extend(10_000);
   */
  extend(leaseMs: number): Promise<void>;
}

/** The lease of a fenced lock. */
export interface FencedLease extends Lease {
  /** Greater than the token of every earlier acquisition. Pass it with each write, and let the store refuse smaller tokens. */
  readonly token: bigint;
}

/** The result of `tryUsing`: whether the body ran, and its return value. */
export type Tried<T> =
  | { readonly ran: true; readonly value: T }
  /** The lock was taken, and the body did not run. */
  | { readonly ran: false; readonly value?: undefined };

export const REFUSED: Tried<never> = { ran: false };

/** The parts of a lock that its leases use. */
export interface Keeper {
  /** The client's option. */
  readonly around: Around | undefined;
  release(hold: Hold): Promise<void>;
  releaseWith(hold: Hold, options: UnlockOptions): Promise<void>;
  extend(hold: Hold, leaseMs: number): Promise<void>;
  runIn<T>(find: Body["find"], lease: object, body: () => T | Promise<T>, after?: AfterBody): Promise<T>;
}

/** The hold behind a lease, or several holds that count as one. */
export interface Believed {
  readonly state: HoldState;
  readonly signal: AbortSignal;
  readonly loss: LeaseLostError | undefined;
  /** Milliseconds for which the hold may be trusted; 0 when it is over. */
  checkMs(): number;
  /** As `checkMs` without side effects: does not declare an expired lease lost. */
  believedMs(at?: Instant): number;
}

/** The common part of all leases: state, signal and `run`, and the release at the end of `using` and `await using`. */
export abstract class AnyLease implements AfterBody {
  abstract readonly name: string;
  /** Runs a body in the scope of the lease. @param after turns the body's outcome into the call's. Default: unchanged */
  protected abstract within<T>(body: () => T | Promise<T>, after?: AfterBody): Promise<T>;
  /** Releases the holds of the lease. */
  protected abstract giveBack(): Promise<void>;
  /** The release under way or done. */
  protected abstract readonly releasing: Promise<void> | undefined;
  protected abstract readonly believed: Believed;
  protected abstract failed(error: unknown): void;
  /** The values that only this class has, for logs and JSON. */
  protected abstract readonly values: object;

  static believedMs(lease: AnyLease, at: Instant | undefined): number {
    return lease.believed.believedMs(at);
  }

  protected notHeld(why: string): NotHeldError {
    return new NotHeldError(this.name, why);
  }

  /** The public values for `JSON.stringify`; a fencing token as text, because JSON has no `bigint`. */
  toJSON(): object {
    const { name, state } = this;
    return { name, ...this.values, state, remainingMs: Math.floor(this.remainingMs()) };
  }

  get state(): HoldState {
    return this.believed.state;
  }

  get signal(): AbortSignal {
    return this.believed.signal;
  }

  remainingMs(): number {
    return this.believed.checkMs();
  }

  assertHeld(): void {
    const { loss } = this.believed;
    if (loss !== undefined) throw copyOf(loss);
    if (this.state === "released") throw this.notHeld("the lease was released");
  }

  async run<T>(body: () => T | Promise<T>): Promise<T> {
    checkBody("run", body);
    const { loss } = this.believed;
    if (loss !== undefined) throw lossForCaller(loss);
    this.assertHeld();
    return this.within(body);
  }

  /** Runs a body in the scope of the lease, and releases it. */
  use<T>(body: () => T | Promise<T>): Promise<T> {
    return this.within(body, this);
  }

  returned<T>(result: T): Promise<T> {
    return this.#end((loss) => {
      if (loss !== undefined) throw lossForCaller(loss);
      return result;
    });
  }

  threw(error: unknown): Promise<never> {
    return this.#end((loss) => {
      // The body threw the reason of the lease's signal: the caller gets the same object, whose stack now leads to the caller.
      if (loss !== undefined && error === loss) lossForCaller(loss);
      throw error;
    });
  }

  /**
   * Like the end of `using`: throws the loss of the lease, which a SuppressedError wraps if the body threw too. A
   * failed release is reported by the event `holdfast:lease:release-failed`.
   */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#end((loss) => {
      if (loss !== undefined) throw lossForCaller(loss);
    });
  }

  /**
   * Releases the lease after the body, unless the body has released it.
   * @param after follows the release, and gets the loss if the lease was lost before. A failed release does not fail the call
   */
  #end<R>(after: (loss: LeaseLostError | undefined) => R): Promise<R> {
    const { releasing } = this;
    const ended = () => {
      const { loss } = this.believed;
      return loss === undefined ? after(loss) : inTheStackOfTheCaller(() => after(loss));
    };
    // The outcome of a release under way belongs to the call that began it: here only its end matters.
    if (releasing !== undefined) return releasing.then(ended, ended);
    return this.giveBack().then(ended, (error: unknown) => {
      if (events.releaseFailed.hasSubscribers) this.failed(error);
      return ended();
    });
  }
}

/**
 * Runs some microtasks later. On the way to the caller, the promise of each async function settles a microtask after the inner promise.
 * Until then V8 finds no async stack from an error to the caller.
 */
function inTheStackOfTheCaller<R>(work: () => R): Promise<R> {
  const soon = Promise.resolve();
  return soon.then().then().then(work);
}

/**
 * Milliseconds for which a lease, or permits, would be trusted at a moment; 0 if not at all, or if it is over. Without side effects:
 * does not declare an expired lease lost.
 * @param at default: this moment, on the clock of each client that has a part in it
 */
export function believedMs(lease: object, at?: Instant): number {
  if (!(lease instanceof AnyLease)) throw new TypeError("only a lease, or permits, can be believed");
  return AnyLease.believedMs(lease, at);
}

/** The lease of a hold in Redis. */
export class HeldLease extends AnyLease implements Lease {
  readonly #hold: Hold;
  readonly #keeper: Keeper;
  /** How long the lock stays taken after the body. */
  #keepForMs: number | undefined;

  constructor(hold: Hold, keeper: Keeper) {
    super();
    this.#hold = hold;
    this.#keeper = keeper;
    guard(this, hold);
  }

  /** Like {@link use}. Afterwards the lock stays taken, however the body ended, unless the body released it. */
  useAndKeep<T>(keepForMs: number, body: () => T | Promise<T>): Promise<T> {
    this.#keepForMs = keepForMs;
    return this.use(body);
  }

  get name(): string {
    return this.#hold.stay.lock.name;
  }

  get holder(): string {
    return this.#hold.stay.field;
  }

  get threadId(): number {
    return this.#hold.stay.threadId;
  }

  get holdCount(): number {
    return this.#hold.holdCount;
  }

  protected within<T>(body: () => T | Promise<T>, after?: AfterBody): Promise<T> {
    const { around } = this.#keeper;
    const run = around === undefined ? body : this.#surrounded(around, body);
    return this.#keeper.runIn(() => this.#hold, this, run, after);
  }

  #surrounded<T>(around: Around, body: () => T | Promise<T>): () => T | Promise<T> {
    const { about, token, terms } = this.#hold;
    const { name, kind, holder } = about;
    return surrounded(around, { name, kind, holder, token, note: terms.note }, body);
  }

  unlock(options?: UnlockOptions): Promise<void> {
    if (options === undefined) return this.#keeper.release(this.#hold);
    return this.#keeper.releaseWith(this.#hold, options);
  }

  extend(leaseMs: number): Promise<void> {
    return this.#keeper.extend(this.#hold, leaseMs);
  }

  protected giveBack(): Promise<void> {
    return this.#keepForMs === undefined ? this.unlock() : this.#keep(this.#keepForMs);
  }

  /** If the thread still has another hold after the body, the lock can not be kept: this hold is released, and an event reports the failure. */
  async #keep(keepForMs: number): Promise<void> {
    try {
      await this.unlock({ keepForMs });
    } catch (error) {
      if (this.state === "held") await this.unlock();
      throw error;
    }
  }

  protected get releasing(): Promise<void> | undefined {
    return this.#hold.releasing;
  }

  protected get believed(): Hold {
    return this.#hold;
  }

  protected get values(): object {
    const { holder, holdCount } = this;
    return { holder, holdCount };
  }

  protected failed(error: unknown): void {
    events.releaseFailed.publish({ ...this.#hold.about, error });
  }
}

showInLogs(HeldLease, "Lease");

/** The lease of a hold of a fenced lock. */
export class FencedHeldLease extends HeldLease implements FencedLease {
  readonly token: bigint;

  constructor(hold: Hold, keeper: Keeper) {
    super(hold, keeper);
    if (hold.token === undefined) throw new TypeError(`fenced lock "${this.name}" was taken without a token`);
    this.token = hold.token;
  }

  protected override get values(): object {
    return { ...super.values, token: String(this.token) };
  }
}
