import type { Clock } from "../clock.js";
import type { Fleet, Holdfast, ListedLock } from "../index.js";
import { type LockChange, Looks, type WatchedLock } from "./looks.js";
import { type WatchOptions, type WatchSettings, watchSettings } from "./watch-options.js";

/** What one look at all locks has shown. */
export interface LocksSeen {
  /** On the server's clock, in milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly locks: readonly WatchedLock[];
  /** What differs from the look before. Nothing at the first look. */
  readonly changes: readonly LockChange[];
  readonly fleet: Fleet;
  /** True when so many clients fell silent at once that presence itself must have failed: nothing is told to be stale. */
  readonly presenceIsUnwell: boolean;
}

/** What is used of a client. */
type Finder = Pick<Holdfast, "fleet" | "locks">;

/** Looking takes at most this share of the time. */
const SHARE = 0.1;

/**
 * Looks at the locks that are held or waited for, again and again, and tells what has changed. A lock that is taken and freed between two
 * looks is not seen. It ends with the loop over it, and sends nothing any more after that.
 * @throws TypeError, RangeError at once; in the loop what `locks` and `fleet` throw
 */
export function watchLocks(holdfast: Finder, options: WatchOptions = {}): AsyncIterable<LocksSeen> {
  const settings = watchSettings(options);
  // Checks the rest of them.
  const locks = holdfast.locks(settings.find);
  return { [Symbol.asyncIterator]: () => watch(holdfast, locks, settings) };
}

async function* watch(
  holdfast: Finder,
  all: AsyncIterable<ListedLock>,
  { everyMs, group, signal, clock }: WatchSettings,
): AsyncGenerator<LocksSeen, void, undefined> {
  const looks = new Looks();
  for (;;) {
    const startMs = clock.monotonicMs();
    const fleet = await holdfast.fleet({ group, signal });
    const locks: ListedLock[] = [];
    for await (const lock of all) locks.push(lock);
    const nowMs = clock.monotonicMs();
    yield { atMs: fleet.atMs, fleet, ...looks.seen(locks, fleet, nowMs) };
    await pause(clock, Math.max(everyMs, (nowMs - startMs) / SHARE), signal);
  }
}

/** Ends early when the signal aborts: the next look then rejects with its reason. */
function pause(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const abort = () => {
      timer.cancel();
      resolve();
    };
    const timer = clock.schedule(
      ms,
      () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      },
      true,
    );
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}
