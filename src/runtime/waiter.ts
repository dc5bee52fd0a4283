import type { AsyncResource } from "node:async_hooks";
import type { Clock, Timer } from "../clock.js";
import type { ContendedEvent } from "../events.js";
import { invariant } from "../invariant.js";
import { Link } from "../linked.js";
import { heed, reasonOf, unheed } from "./abort-signals.js";

/** What a call waits for, and the holder that was seen to have it. The holder belongs to the call's own client. */
export interface OwnObstacle {
  readonly name: string;
  readonly holder: string;
}

/** The lock, semaphore or latch of one client that a call waits for. */
export interface WaitedFor {
  readonly client: object;
  readonly key: string;
  /** The kind as events name it. */
  readonly kind: string | { readonly name: string };
}

/** A list if the call waits for several locks that count as one. */
export type WaitsFor = WaitedFor | readonly WaitedFor[];

/**
 * One call that waits. It sleeps until it is woken, its time is up or it is cancelled, and then checks its state: `pause` resolves in each
 * of these cases. A waiter takes the same memory however long it waits, and has a timer only while it sleeps.
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
  /**
   * How long the call waits after its time is up, to learn whether what it wants is taken. 0 if its time is not up, or if it knew in time.
   */
  #overtimeMs = 0;
  /** Whether it belongs to a running body, which `close` lets continue for `graceMs`. */
  inBody = false;
  /**
   * Whether it chooses how long it sleeps while it is the head of a line, as in spin locks. Such a waiter is woken when it becomes the
   * head.
   */
  naps = false;
  /** What it waits for, as presence reports it; undefined if the call waits for nothing that other calls may have. */
  waitsFor: WaitsFor | undefined;
  /** The note that its caller gave for the hold, for presence. */
  note: string | undefined;
  /** Whether it had to wait. */
  hasSlept = false;
  /** The first `contended` event of its call. */
  contended: ContendedEvent | undefined;
  /**
   * The async context of its caller. Its commands are sent in this context, even if a wake-up sends them. Undefined while no listener
   * traces calls.
   */
  context: AsyncResource | undefined;
  /**
   * An `Heir` of locks/: takes over a lock for this waiter when another call of this client hands it over. Undefined while the waiter must
   * not take over a lock.
   */
  heir: object | undefined;
  /** The hold of its own client that it was last seen to wait for. */
  #behind: OwnObstacle | undefined;
  /** Its place in the queue for room at the server; undefined while it has none. */
  queued: { dismiss(): void } | undefined;
  /** Whether the caller, the line or `close` has cancelled it; `#reason` says why. */
  #cancelled = false;
  #reason: unknown;
  /** It was woken while it did not sleep: the next sleep ends at once. */
  #awake = false;
  /** Whether an answer to another waiter has also ended the wait of this waiter. */
  #served = false;
  /** Continues after the sleep, which `#timer` ends; undefined while it does not sleep. */
  #resume: (() => void) | undefined;
  #timer: Timer | undefined;
  /** Called when it is cancelled. Only one function at a time. */
  onCancel: (() => void) | undefined;
  /** The waiter of the whole call, if this is a part of it. */
  #whole: Waiter | undefined;
  /** Its parts, which are cancelled with it. */
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

  /** What the call wants is taken. An answer of Redis to the call or to its line says so, or a hold of the same client has it. */
  told(): void {
    this.isTold = true;
    this.#whole?.told();
    if (this.#overtimeMs > 0) this.wake();
  }

  /** A `contended` event was published for this call or, if it wants several locks, for one of them. */
  toldContended(event: ContendedEvent): void {
    this.contended ??= event;
    this.#whole?.toldContended(event);
  }

  /**
   * Its time is up, and it does not know whether what it wants is taken. It waits this much longer to be told. @returns false if it was
   * given more time before, or still has time
   */
  waitOn(ms: number): boolean {
    const leftMs = this.#leftMs();
    if (this.#overtimeMs > 0 || leftMs > 0) return false;
    this.#overtimeMs = ms - leftMs;
    return true;
  }

  /** True while it waits on although its time is up. */
  get isInOvertime(): boolean {
    return this.#overtimeMs > 0;
  }

  /** True for a waiter without a time limit. */
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

  /** Whether an error is the reason of the caller's own signal. */
  isReasonOfSignal(error: unknown): boolean {
    return this.#signal?.aborted === true && reasonOf(this.#signal) === error;
  }

  /** How long it may wait in total, in whole milliseconds. */
  get waitMs(): number {
    return Math.round(this.#endMs - this.startMs);
  }

  get waitedMs(): number {
    return this.#clock.monotonicMs() - this.startMs;
  }

  /** Sleeps until `wake` is called, the wait is over, or `ms` have passed. A wake-up since the last pause ends this pause at once. */
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

  /** How much longer it may wait. */
  #leftMs(): number {
    if (this.#endMs === Number.POSITIVE_INFINITY) return this.#endMs;
    return this.#endMs + this.#overtimeMs - this.#clock.monotonicMs();
  }

  /**
   * How long its command may wait for room at the server. A call that may not wait for the lock still makes one attempt, which waits for
   * room without a limit. A call in overtime does not wait.
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

  /** Ends the wait. In a second call, the first reason stays. */
  cancel(reason: unknown): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
    this.#reason = reason;
    this.queued?.dismiss();
    this.onCancel?.();
    this.wake();
    if (this.#parts !== undefined) for (const part of this.#parts) part.cancel(reason);
  }

  /** Makes a waiter for one of the things that a call waits for at once. It is cancelled together with this waiter. Must be disposed of. */
  part(): Waiter {
    const part = new Waiter(this.#clock, this.#leftMs(), undefined);
    part.#whole = this;
    part.context = this.context;
    this.#parts ??= new Set();
    this.#parts.add(part);
    if (this.#cancelled) part.cancel(this.#reason);
    return part;
  }

  /** The result of the promise; undefined if the waiter is cancelled first, whatever the promise does later. */
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

  /** Must be called when the wait is over, however it ended. */
  dispose(): void {
    const whole = this.#whole;
    if (whole !== undefined) whole.#parts?.delete(this);
    if (this.#signal !== undefined) unheed(this.#signal, this);
    // Other objects may still refer to the waiter; they must not keep the caller's context alive.
    this.context = undefined;
  }
}
