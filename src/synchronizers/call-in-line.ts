import { UnavailableError } from "../errors.js";
import type { WaitEnd } from "../events.js";
import type { Awaited } from "../runtime/awaited.js";
import { forCaller } from "../runtime/for-caller.js";
import type { WaitLine } from "../runtime/wait-line.js";
import type { Waiter } from "../runtime/waiter.js";
import type { Count } from "./count.js";

/**
 * The states of a call, as those of an acquisition of a lock: `waiting` in its line, or `asking`. The others are ends: `entered`, it has
 * what it wants; `over`, its time is up, or it may not wait; `cancelled`, `failed`.
 */
type CallState = "waiting" | "asking" | "entered" | "over" | "cancelled" | "failed";

/**
 * One call that wants something of a count, and so asks Redis: once, or as the head of a line of calls that want the same. An answer or a
 * wake-up calls the next step directly; only the caller has a promise. To make an error, and to leave the line, is left to the `then` of
 * that promise: it runs in the caller's async context, and after a signal or `close` has cancelled all calls of the line, so that none of
 * them asks in the place of another.
 * @see docs/internals/states.md#the-line
 */
export abstract class CallInLine<T> {
  readonly count: Count;
  readonly waiter: Waiter;
  /** Where it waits; undefined where it asks once. */
  protected line: WaitLine | undefined;
  /** How often something was sent for it that may have had an effect. */
  attempts = 0;
  /** What has ended the wait. */
  waitEndedBy: WaitEnd = "free";
  /** Why it asks; undefined where it stands in no line. */
  protected news: WaitEnd | undefined;
  /** Whether it has asked or slept. */
  #hasBegun = false;
  #state: CallState = "waiting";
  #error: unknown;
  /** Has the caller's promise go on. */
  #tell: (() => void) | undefined;

  constructor(count: Count, waiter: Waiter) {
    this.count = count;
    this.waiter = waiter;
  }

  /** Asks Redis. To be followed by {@link entered}, {@link refused} or {@link failed}, of which a call that has ended takes no notice. */
  protected abstract ask(): void;

  /** What the call comes to when it was neither cancelled nor failed. In the caller's async context. */
  protected abstract come(): Promise<T> | T;

  /** It was cancelled while what it has asked for is under way. */
  protected abandon(): void {
    // What only looks is of no consequence.
  }

  /** It has ended, and stands in no line. In the caller's async context. */
  protected left(): void {
    // Nothing is to be done.
  }

  protected get hasEntered(): boolean {
    return this.#state === "entered";
  }

  protected get isAsking(): boolean {
    return this.#state === "asking";
  }

  /**
   * @param awaited where to wait; undefined: it asks once
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

  /** Within the call of its waker, which must not fail by it. */
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

  /** It can not have now what it wants. */
  protected refused(): void {
    if (!this.isAsking) return;
    this.waiter.onCancel = undefined;
    if (this.line === undefined) this.giveUp();
    else this.#awake();
  }

  /** A server that fails one call fails all. A wake-up that the call has used up otherwise is for the next in line. */
  failed(error: unknown): void {
    const { line, waiter } = this;
    if (!this.isAsking && this.#state !== "waiting") return;
    this.#error = error;
    this.#end("failed");
    if (error instanceof UnavailableError && !waiter.cancelled) line?.fail(error);
    else line?.wake();
  }

  /** An answer tells the call, and its line, that what they want is not there. @param askedMs when it was asked for, on the monotonic clock */
  protected told(askedMs: number): void {
    this.waiter.told();
    this.line?.answers.taken(askedMs);
  }

  /**
   * Its time is up, or it may not wait. What it wants is not there only if Redis has said so since it began, to it or to its line.
   * Otherwise it waits on to be told, for one command timeout at most, and then fails.
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

  /** The caller hears of it at once, whatever is under way. */
  readonly #cancelled = (): void => {
    this.abandon();
    this.line?.wake();
    this.#end("cancelled");
  };

  #end(state: CallState): void {
    this.#state = state;
    // What cancels its line, or the caller from now on, comes too late for this call.
    this.waiter.onCancel = undefined;
    this.#tell?.();
  }
}
