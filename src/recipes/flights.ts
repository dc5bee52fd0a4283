import { type Clock, pause } from "../clock.js";
import { type Holdfast, WaitTimeoutError } from "../index.js";
import { reasonOf } from "../runtime/abort-signals.js";
import { either } from "./either.js";

/** How long a call waits for a value that is being made. */
export interface FlightPatience {
  readonly name: string;
  readonly ms: number;
  readonly signal: AbortSignal | undefined;
  readonly clock: Clock;
}

/** The values that this process is making, by the name of the lock. */
const flights = new WeakMap<Holdfast, Map<string, Promise<unknown>>>();

/** Waits for the value that this process is making already, or makes it. */
export async function share<V>(
  holdfast: Holdfast,
  fly: (leftMs: number) => Promise<V>,
  patience: FlightPatience,
): Promise<V> {
  const { name, ms, clock } = patience;
  const ours = flights.get(holdfast) ?? new Map<string, Promise<unknown>>();
  flights.set(holdfast, ours);
  const startMs = clock.monotonicMs();
  for (;;) {
    const leftMs = Math.max(0, Math.ceil(ms - (clock.monotonicMs() - startMs)));
    const shared = ours.get(name) as Promise<V> | undefined;
    const flight = shared ?? fly(leftMs).finally(() => ours.delete(name));
    ours.set(name, flight);
    try {
      return await within(flight, {
        ...patience,
        ms: shared === undefined ? Number.POSITIVE_INFINITY : leftMs,
      });
    } catch (error) {
      if (!(error instanceof WaitTimeoutError && error.lockName === name)) throw error;
      const waitedMs = clock.monotonicMs() - startMs;
      // The call that began to make the value has no time left, but this call may have.
      if (shared === undefined || waitedMs >= ms) throw new WaitTimeoutError(name, waitedMs, error.obstacle);
    }
  }
}

/** @throws WaitTimeoutError if the value comes later; the reason of the signal */
async function within<V>(flight: Promise<V>, { name, ms, signal, clock }: FlightPatience): Promise<V> {
  const landed = new AbortController();
  const ends = either(signal, landed.signal);
  const tooLong = async (): Promise<never> => {
    await pause(clock, ms, ends.signal);
    if (signal?.aborted) throw reasonOf(signal);
    throw new WaitTimeoutError(name, ms, undefined);
  };
  try {
    return await Promise.race([flight, tooLong()]);
  } finally {
    landed.abort();
    ends.end();
  }
}
