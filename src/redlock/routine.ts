import type { HeldLeases } from "./holds.js";
import type { Settings } from "./settings.js";

/** The signal of a routine. Like redlock 5. */
export type RedlockAbortSignal = AbortSignal & {
  /** Why it has aborted. */
  error?: Error;
};

export type Routine<T> = (signal: RedlockAbortSignal) => Promise<T>;

/** The arguments of `using` behind the duration. @throws Error like redlock 5 */
export function routineOf<T>(rest: readonly (Partial<Settings> | Routine<T> | undefined)[]): {
  readonly routine: Routine<T>;
  readonly given: Partial<Settings> | undefined;
} {
  const routine = rest.find((each) => typeof each === "function");
  if (routine === undefined) throw new Error("INVARIANT: routine is not a function.");
  return { routine, given: rest.find((each) => typeof each === "object") };
}

/**
 * A signal that aborts as soon as one of the leases is lost. It never aborts after `end`.
 *
 * @param lost makes the error of the signal from the reason of a lease
 */
export function signalOf(
  held: HeldLeases,
  lost: (reason: unknown) => Error,
): { readonly signal: RedlockAbortSignal; readonly end: () => void } {
  const controller = new AbortController();
  const signal: RedlockAbortSignal = controller.signal;
  const signals = held.map((lease) => lease.signal);
  const end = () => {
    for (const each of signals) each.removeEventListener("abort", abort);
  };
  const abort = ({ target }: { readonly target: unknown }) => {
    end();
    signal.error = lost((target as AbortSignal).reason);
    // Aborts without a reason, like redlock: functions that take the signal, such as fetch, then reject with an AbortError.
    controller.abort();
  };
  for (const each of signals) each.addEventListener("abort", abort);
  const gone = signals.find(({ aborted }) => aborted);
  if (gone !== undefined) abort({ target: gone });
  return { signal, end };
}
