import { type FencedLease, LeaseLostError } from "../index.js";
import { reasonOf } from "../runtime/abort-signals.js";
import { either } from "./either.js";

/** A time for which one process is the leader. */
export interface Term {
  /**
   * Greater than the token of every earlier term in any process. Pass it along with each write, so that the store can refuse writes of a
   * former leader.
   */
  readonly token: bigint;
  /**
   * Aborts when the term is lost, or when the process must resign: the option `signal` aborted, or the client begins to close. A process
   * that must resign keeps the office until the body has ended. `term.signal` is right even after the process was suspended; a signal kept
   * in a variable aborts when timers run again.
   */
  readonly signal: AbortSignal;
  readonly lease: FencedLease;
}

/**
 * Runs a body for a term.
 * @param report gets the error that the body throws after the term had to end
 * @returns the error that the body threw while the process was the leader
 */
export async function runTerm(
  lease: FencedLease,
  stop: AbortSignal,
  body: (term: Term) => unknown,
  report: (error: unknown) => void,
): Promise<{ readonly failure?: { readonly error: unknown } }> {
  const { signal, end } = either(lease.signal, stop);
  try {
    await body({
      token: lease.token,
      lease,
      get signal() {
        // `lease.signal` compares the clocks: if the lease is over, the signals of the lease and of the term abort.
        void lease.signal;
        return signal;
      },
    });
    return {};
  } catch (error) {
    if (!signal.aborted) return { failure: { error } };
    if (!comesOf(error, signal)) report(error);
    return {};
  } finally {
    end();
  }
}

/** Whether a body has failed only because its signal has aborted. */
export function comesOf(error: unknown, signal: AbortSignal): boolean {
  const reason = reasonOf(signal);
  if (error === reason || (error as { readonly cause?: unknown } | null)?.cause === reason) return true;
  // Each call on a lost lease gets its own error.
  return (
    reason instanceof LeaseLostError && error instanceof LeaseLostError && error.holder === reason.holder
  );
}
