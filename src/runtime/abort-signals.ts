/** What a signal cancels. */
interface Cancellable {
  cancel(reason: unknown): void;
}

const callsOf = new WeakMap<AbortSignal, SignalledCalls>();
const madeReasons = new WeakMap<AbortSignal, unknown>();

/** Why a signal has aborted, the same each time. Signals of other libraries may have no reason: they get the one that the platform gives. */
export function reasonOf(signal: AbortSignal): unknown {
  const reason: unknown = signal.reason ?? madeReasons.get(signal);
  if (reason !== undefined) return reason;
  const made = new DOMException("This operation was aborted", "AbortError");
  madeReasons.set(signal, made);
  return made;
}

/** Cancels a call when a signal aborts, or at once if that has aborted already. To be followed by {@link unheed}. */
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

/** The call is over. */
export function unheed(signal: AbortSignal, call: Cancellable): void {
  callsOf.get(signal)?.remove(call);
}

/**
 * The calls that one signal cancels, of all clients, with one listener for all of them: a program may hand one signal to many calls,
 * and from the eleventh listener on Node warns of a leak.
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
