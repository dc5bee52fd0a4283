import type { AsyncResource } from "node:async_hooks";
import type { Clock, Timer } from "../clock.js";
import type { ContendedEvent } from "../events.js";
import { invariant } from "../invariant.js";
import { Link } from "../linked.js";
import { heed, reasonOf, unheed } from "./abort-signals.js";

/** What a call waits for, and the holder of its own client that was seen to have it. */
export interface OwnObstacle {
  readonly name: string;
  readonly holder: string;
}

/** What a call waits for: a lock, a semaphore or a latch of one client. */
export interface WaitedFor {
  readonly client: object;
  readonly key: string;
  /** As events tell it. */
  readonly kind: string | { readonly name: string };
}

/** Several where locks count as one. */
export type WaitsFor = WaitedFor | readonly WaitedFor[];

/**
 * One call that waits. It sleeps until something wakes it, its time is up or it is cancelled, and then looks around:
 * `pause` resolves in each of these cases. Constant in size however long it waits, with a timer only while it sleeps.
 * @see docs/internals/states.md#the-line
 */
export class Waiter extends Link {
  readonly #clock: Clock;
  readonly #signal: AbortSignal | undefined;
  /** When the call began, on the monotonic clock. */
  readonly startMs: number;
  readonly #endMs: number;
  /** Whether the call knows that what it wants was taken at some time since it began. */
  isTold = false;
  /** For how long it waits for that after its end; 0: its time is not up, or it was told in time. */
  #overtimeMs = 0;
  /** Whether it belongs to a running body, which `close` lets go on for `graceMs`. */
  inBody = false;
  /** Whether it sleeps for times of its own while it is the head of a line, as in spin locks: then it is woken when it becomes the head. */
  naps = false;
  /** For presence; undefined for a call that wants nothing which other calls may have. */
  waitsFor: WaitsFor | undefined;
  /** For presence: what its caller says about the hold. */
  note: string | undefined;
  /** Whether it had to wait. */
  hasSlept = false;
  /** What was told of its call as contended, the first of several. */
  contended: ContendedEvent | undefined;
  /** The async context of its caller, in which its commands are sent, also by what wakes it. Undefined while no listener traces calls. */
  context: AsyncResource | undefined;
  /** An `Heir` of locks/: takes over, for this waiter, a lock that another call of this client hands over. Undefined while it must not. */
  heir: object | undefined;
  /** The hold of its own client that it was last seen to wait for. */
  #behind: OwnObstacle | undefined;
  /** Its place among those that wait to be sent; undefined while it has none. */
  queued: { dismiss(): void } | undefined;
  /** The caller, the line or `close` has ended it: `#reason` says why. */
  #cancelled = false;
  #reason: unknown;
  /** It was woken while it did not sleep: the next sleep ends at once. */
  #awake = false;
  /** An answer that another waiter got is its own as well. */
  #served = false;
  /** Goes on after the sleep, which `#timer` ends; undefined while it does not sleep. */
  #resume: (() => void) | undefined;
  #timer: Timer | undefined;
  /** Called when it is cancelled. At most one at a time. */
  onCancel: (() => void) | undefined;
  /** The call of which it is a part. */
  #whole: Waiter | undefined;
  /** Its parts, which end with it. */
  #parts: Set<Waiter> | undefined;

  /** @param waitMs how long it may wait; undefined: for ever */
  constructor(clock: Clock, waitMs: number | undefined, signal: AbortSignal | undefined) {
    super();
    this.#clock = clock;
    this.#signal = signal;
    this.startMs = clock.monotonicMs();
    this.#endMs = waitMs === undefined ? Number.POSITIVE_INFINITY : this.startMs + waitMs;
    if (signal !== undefined) heed(signal, this);
  }

  /** True once it may not wait any longer: its time is up, or it was cancelled. */
  get over(): boolean {
    return this.#cancelled || this.#leftMs() <= 0 || (this.#overtimeMs > 0 && this.isTold);
  }

  get cancelled(): boolean {
    return this.#cancelled;
  }

  get reason(): unknown {
    return this.#reason;
  }

  /** Redis has answered the call, or its line, that what it wants is taken; or a hold of its own client has it. */
  told(): void {
    this.isTold = true;
    this.#whole?.told();
    if (this.#overtimeMs > 0) this.wake();
  }

  /** Its call was told as contended: of a call for several locks, each of them is. */
  toldContended(event: ContendedEvent): void {
    this.contended ??= event;
    this.#whole?.toldContended(event);
  }

  /** Its time is up, and it was not told: it waits on to be told, for so long. @returns false where it has done so, or has time left */
  waitOn(ms: number): boolean {
    const leftMs = this.#leftMs();
    if (this.#overtimeMs > 0 || leftMs > 0) return false;
    this.#overtimeMs = ms - leftMs;
    return true;
  }

  /** True while it waits on after its end. */
  get isInOvertime(): boolean {
    return this.#overtimeMs > 0;
  }

  /** True for one that may wait for ever. */
  get isEndless(): boolean {
    return this.#endMs === Number.POSITIVE_INFINITY;
  }

  get behind(): OwnObstacle | undefined {
    return this.#behind;
  }

  standsBehind(obstacle: OwnObstacle): void {
    this.#behind = obstacle;
    this.#whole?.standsBehind(obstacle);
  }

  /** Whether an error is what the caller's own signal was aborted with. */
  isReasonOfSignal(error: unknown): boolean {
    return this.#signal?.aborted === true && reasonOf(this.#signal) === error;
  }

  /** How long it may wait in all, in whole milliseconds. */
  get waitMs(): number {
    return Math.round(this.#endMs - this.startMs);
  }

  get waitedMs(): number {
    return this.#clock.monotonicMs() - this.startMs;
  }

  /** Sleeps until `wake`, the end, or for `ms`. A wake-up that came since the last pause ends it at once. */
  pause(ms: number = Number.POSITIVE_INFINITY): Promise<void> {
    return new Promise((resolve) => this.sleep(resolve, ms));
  }

  /** As {@link pause}, without a promise: `resume` may be called within this call, or within `wake`. */
  sleep(resume: () => void, ms: number = Number.POSITIVE_INFINITY): void {
    if (this.#awake || this.over) {
      this.#awake = false;
      resume();
      return;
    }
    invariant(this.#resume === undefined, "a waiter sleeps twice");
    this.#resume = resume;
    this.hasSlept = true;
    const sleepMs = Math.min(ms, this.#leftMs());
    if (sleepMs === Number.POSITIVE_INFINITY) return;
    this.#timer = this.#clock.schedule(sleepMs, () => this.#goOn(), true);
  }

  #goOn(): void {
    const resume = this.#resume;
    this.#resume = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
    resume?.();
  }

  /** How long it may wait yet. */
  #leftMs(): number {
    if (this.#endMs === Number.POSITIVE_INFINITY) return this.#endMs;
    return this.#endMs + this.#overtimeMs - this.#clock.monotonicMs();
  }

  /**
   * How long it may wait to be sent. A call that may not wait for the lock makes one attempt in any case, and so waits for room without an
   * end; one whose time is up does not wait.
   */
  get queueMs(): number {
    if (this.#overtimeMs > 0 && this.#endMs > this.startMs) return 0;
    return this.#endMs === this.startMs ? Number.POSITIVE_INFINITY : this.#leftMs();
  }

  /** True during a pause. */
  get isAsleep(): boolean {
    return this.#resume !== undefined;
  }

  wake(): void {
    if (this.#resume === undefined) this.#awake = true;
    else this.#goOn();
  }

  get served(): boolean {
    return this.#served;
  }

  serve(): void {
    this.#served = true;
    this.wake();
  }

  /** Ends the waiting. The first reason stays. */
  cancel(reason: unknown): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
    this.#reason = reason;
    this.queued?.dismiss();
    this.onCancel?.();
    this.wake();
    if (this.#parts !== undefined) for (const part of this.#parts) part.cancel(reason);
  }

  /** For a call that waits for several things at once: a waiter that ends with this one. To be disposed of. */
  part(): Waiter {
    const part = new Waiter(this.#clock, this.#leftMs(), undefined);
    part.#whole = this;
    part.context = this.context;
    this.#parts ??= new Set();
    this.#parts.add(part);
    if (this.#cancelled) part.cancel(this.#reason);
    return part;
  }

  /** What the promise brings; undefined when the waiter is cancelled first, whatever the promise does later. */
  unlessCancelled<T>(promise: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const onCancel = () => resolve(undefined);
      if (this.#cancelled) onCancel();
      else this.onCancel = onCancel;
      const settled = () => {
        if (this.onCancel === onCancel) this.onCancel = undefined;
      };
      promise.then(
        (value) => {
          settled();
          resolve(value);
        },
        (error: unknown) => {
          settled();
          reject(error);
        },
      );
    });
  }

  /** To be called when the waiting is over, however it ended. */
  dispose(): void {
    const whole = this.#whole;
    if (whole !== undefined) whole.#parts?.delete(this);
    if (this.#signal !== undefined) unheed(this.#signal, this);
    // What knows of the call still is not to keep what its caller's context has.
    this.context = undefined;
  }
}
