import { UnavailableError } from "../errors.js";
import type { WaitEnd } from "../events.js";
import type { Awaited } from "../runtime/awaited.js";
import { forCaller } from "../runtime/for-caller.js";
import type { WaitLine } from "../runtime/wait-line.js";
import type { Waiter } from "../runtime/waiter.js";
import type { Count } from "./count.js";

/**
 * The states of a call, like those of an acquisition of a lock: `waiting` in its line, or `asking`. The others are ends: `entered` (its
 * demand is met), `over` (its time is up, or it may not wait), `cancelled`, `failed`.
 */
type CallState = "waiting" | "asking" | "entered" | "over" | "cancelled" | "failed";

/**
 * One call for a semaphore or latch. It asks Redis once, or as the head of a line of calls with the same demand. An answer or a wake-up
 * calls the next step directly; only the caller has a promise. The call makes its error and leaves the line only in the `then` of that
 * promise. This code runs in the caller's async context. When a signal or `close` cancels all calls of the line, this code runs only after
 * all of them are cancelled, so that no cancelled call becomes the head and asks.
 * @see docs/internals/states.md#the-line
 */
export abstract class CallInLine<T> {
  readonly count: Count;
  readonly waiter: Waiter;
  /** The line in which the call waits; undefined if the call asks only once. */
  protected line: WaitLine | undefined;
  /** How many commands the call has sent that may have had an effect. */
  attempts = 0;
  /** What ended the wait. */
  waitEndedBy: WaitEnd = "free";
  /** Why the call asks; undefined if it is in no line. */
  protected news: WaitEnd | undefined;
  /** Whether the call has asked or slept. */
  #hasBegun = false;
  #state: CallState = "waiting";
  #error: unknown;
  /** Makes the caller's promise continue. */
  #tell: (() => void) | undefined;

  constructor(count: Count, waiter: Waiter) {
    this.count = count;
    this.waiter = waiter;
  }

  /** Asks Redis. The subclass must then call {@link entered}, {@link refused} or {@link failed}; a call that has ended ignores them. */
  protected abstract ask(): void;

  /** The result of a call that was neither cancelled nor failed. Runs in the caller's async context. */
  protected abstract come(): Promise<T> | T;

  /** Called when the call is cancelled while its command is under way. */
  protected abandon(): void {
    // Nothing to undo: the command of this call only reads.
  }

  /** The call has ended and left the line. Runs in the caller's async context. */
  protected left(): void {
    // Nothing to do.
  }

  protected get hasEntered(): boolean {
    return this.#state === "entered";
  }

  protected get isAsking(): boolean {
    return this.#state === "asking";
  }

  /**
   * @param awaited what to wait for; undefined: it asks once
   * @throws the reason of a cancelled wait; UnavailableError, WrongTypeError, ClientClosedError
   */
  protected begin(awaited: Awaited | undefined): Promise<T> {
    return new Promise<void>((resolve) => {
      this.#tell = resolve;
      if (awaited !== undefined) this.line = this.count.client.lines.join(awaited, this.waiter);
      this.#askOrSleep();
    }).then(this.#forCaller);
  }

  readonly #forCaller = (): Promise<T> | T => {
    const { count, waiter, line } = this;
    const { client } = count;
    if (line !== undefined) client.lines.leave(line, waiter);
    this.left();
    client.dismiss(waiter);
    if (this.#state === "cancelled") throw forCaller(waiter.reason, count, waiter);
    if (this.#state === "failed") throw forCaller(this.#error, count, waiter);
    return this.come();
  };

  /** Runs inside the code that wakes the call, so it must not throw. */
  #askOrSleep(): void {
    const { line, waiter } = this;
    try {
      if (line === undefined || (line.head === waiter && line.shouldAsk())) {
        const news = line?.asking();
        this.news = news;
        if (this.#hasBegun && news !== undefined) this.waitEndedBy = news;
        this.#hasBegun = true;
        this.#state = "asking";
        waiter.onCancel = this.#cancelled;
        this.ask();
      } else {
        this.#state = "waiting";
        this.#hasBegun = true;
        if (line.head === waiter) line.watch();
        waiter.sleep(this.#awake);
      }
    } catch (error) {
      this.failed(error);
    }
  }

  readonly #awake = (): void => {
    const { served, over } = this.waiter;
    if (served) {
      this.waitEndedBy = "release";
      this.#end("entered");
    } else if (over) this.giveUp();
    else this.#askOrSleep();
  };

  protected entered(): void {
    if (this.isAsking) this.#end("entered");
  }

  /** The demand cannot be met now. */
  protected refused(): void {
    if (!this.isAsking) return;
    this.waiter.onCancel = undefined;
    if (this.line === undefined) this.giveUp();
    else this.#awake();
  }

  /** An unavailable server fails all calls of the line. Otherwise, the wake-up that the call has used goes to the next call in line. */
  failed(error: unknown): void {
    const { line, waiter } = this;
    if (!this.isAsking && this.#state !== "waiting") return;
    this.#error = error;
    this.#end("failed");
    if (error instanceof UnavailableError && !waiter.cancelled) line?.fail(error);
    else line?.wake();
  }

  /**
   * Records for the call and its line that an answer has refused their demand. @param askedMs when the command was sent, on the monotonic
   * clock
   */
  protected told(askedMs: number): void {
    this.waiter.told();
    this.line?.answers.taken(askedMs);
  }

  /**
   * The call's time is up, or it may not wait. It reports an unmet demand only if Redis has refused the call or its line since the call
   * began. Otherwise it waits for Redis' answer, one command timeout at most, and then fails.
   */
  protected giveUp({ waitsOn = true }: { readonly waitsOn?: boolean } = {}): void {
    const { waiter, line } = this;
    const { commands } = this.count.client;
    if (waiter.cancelled) this.#end("cancelled");
    else if (waiter.isTold || line?.answers.tell(waiter) === true) this.#end("over");
    else if (waitsOn && this.attempts === 0 && line?.waitOn(waiter, commands.timeoutMs) === true)
      this.#askOrSleep();
    else {
      this.#error = commands.failures.untold(waiter.waitedMs, this.attempts > 0);
      this.#end("failed");
    }
  }

  /** The caller's promise rejects at once, even if a command is under way. */
  readonly #cancelled = (): void => {
    this.abandon();
    this.line?.wake();
    this.#end("cancelled");
  };

  #end(state: CallState): void {
    this.#state = state;
    // After this, a cancellation of the line or of the caller no longer changes the outcome.
    this.waiter.onCancel = undefined;
    this.#tell?.();
  }
}
