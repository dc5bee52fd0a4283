/** A call that a signal can cancel. */
interface Cancellable {
  cancel(reason: unknown): void;
}

const callsOf = new WeakMap<AbortSignal, SignalledCalls>();
const madeReasons = new WeakMap<AbortSignal, unknown>();

/**
 * The reason of an aborted signal, the same one each time. Signals of other libraries may have no reason: they get the platform's default.
 */
export function reasonOf(signal: AbortSignal): unknown {
  const reason: unknown = signal.reason ?? madeReasons.get(signal);
  if (reason !== undefined) return reason;
  const made = new DOMException("This operation was aborted", "AbortError");
  madeReasons.set(signal, made);
  return made;
}

/** Cancels a call when a signal aborts, or at once if it has already aborted. Must be followed by {@link unheed}. */
export function heed(signal: AbortSignal, call: Cancellable): void {
  if (signal.aborted) {
    call.cancel(reasonOf(signal));
    return;
  }
  let calls = callsOf.get(signal);
  if (calls === undefined) {
    calls = new SignalledCalls(signal);
    callsOf.set(signal, calls);
  }
  calls.add(call);
}

/** The call has ended. */
export function unheed(signal: AbortSignal, call: Cancellable): void {
  callsOf.get(signal)?.remove(call);
}

/**
 * The calls of all clients that one signal cancels, with one listener for all: a program may pass one signal to many calls, and Node warns
 * of a leak from the eleventh listener on.
 */
class SignalledCalls {
  readonly #signal: AbortSignal;
  readonly #calls = new Set<Cancellable>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  readonly #onAbort = (): void => {
    for (const call of this.#calls) call.cancel(reasonOf(this.#signal));
  };

  add(call: Cancellable): void {
    if (this.#calls.size === 0) this.#signal.addEventListener("abort", this.#onAbort, { once: true });
    this.#calls.add(call);
  }

  remove(call: Cancellable): void {
    if (this.#calls.delete(call) && this.#calls.size === 0) {
      this.#signal.removeEventListener("abort", this.#onAbort);
    }
  }
}
