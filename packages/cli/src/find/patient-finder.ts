import { setTimeout as sleep } from "node:timers/promises";
import { type ListedLock, UnavailableError } from "holdfast";
import { lacksRight } from "../failure-of.js";
import type { Finder } from "./askable-sources.js";

/** Reports that Redis does not answer. */
export interface Outage {
  /** Redis does not answer, or the reason has changed. */
  began(why: string): void;
  ended(): void;
}

const RETRY_MS = 1_000;

/** Retries until Redis answers, for example after a failover, so a running watch continues. A missing right still fails. */
export function patientFinder(finder: Finder, outage: Outage, signal: AbortSignal): Finder {
  let why: string | undefined;
  const tried = async <T>(look: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        const seen = await unlessAborted(look(), signal);
        if (why !== undefined) outage.ended();
        why = undefined;
        return seen;
      } catch (error) {
        if (signal.aborted || !(error instanceof UnavailableError) || lacksRight(error)) throw error;
        if (why !== error.message) outage.began(error.message);
        why = error.message;
        await sleep(RETRY_MS, undefined, { signal });
      }
    }
  };
  return {
    fleet: (options) => tried(() => finder.fleet(options)),
    locks(options) {
      // Checks them.
      const found = finder.locks(options);
      const all = async () => {
        const locks: ListedLock[] = [];
        for await (const lock of found) locks.push(lock);
        return locks;
      };
      return {
        async *[Symbol.asyncIterator]() {
          yield* await tried(all);
        },
      };
    },
  };
}

/** Rejects when the signal aborts, because some of the work takes no signal. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    if (signal.aborted) abort();
  });
}
