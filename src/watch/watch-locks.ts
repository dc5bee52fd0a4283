import { pause } from "../clock.js";
import type { FindLocksOptions, Fleet, Holdfast, ListedLock } from "../index.js";
import { type LockChange, Looks, type WatchedLock } from "./looks.js";
import { type WatchOptions, type WatchSettings, watchSettings } from "./watch-options.js";

/** The result of one look at all locks. */
export interface LocksSeen {
  /** On the server's clock, in milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly locks: readonly WatchedLock[];
  /** The differences from the previous look. Empty at the first look. */
  readonly changes: readonly LockChange[];
  readonly fleet: Fleet;
  /** True when so many clients fell silent at once that presence itself must have failed: no lock is reported as stale. */
  readonly presenceIsUnwell: boolean;
  /** How many keys a scan has left out, as their names are not UTF-8. */
  readonly unreadable: number;
}

/** The methods of a client that watching uses. */
interface WatchedClient extends Pick<Holdfast, "fleet"> {
  locks(options: FindLocksOptions): FoundLocks;
}

type FoundLocks = AsyncIterable<ListedLock> & { readonly unreadable?: number };

/** Looking takes at most this share of the time. */
const SHARE = 0.1;

/**
 * Repeatedly reads the locks that are held or waited for, and reports the changes. A lock that is taken and freed between two looks is not
 * seen. Sends nothing more once the loop has ended.
 * @throws TypeError, RangeError at once; in the loop, the errors of `locks` and `fleet`
 * @example
 * for await (const { changes } of watchLocks(holdfast, { match: "order:*", signal }))
 *   for (const { type, name } of changes) console.log(type, name);
 */
export function watchLocks(holdfast: WatchedClient, options: WatchOptions = {}): AsyncIterable<LocksSeen> {
  const settings = watchSettings(options);
  // `locks` checks the other options.
  const locks = holdfast.locks(settings.find);
  return { [Symbol.asyncIterator]: () => watch(holdfast, locks, settings) };
}

async function* watch(
  holdfast: WatchedClient,
  all: FoundLocks,
  { everyMs, group, signal, clock }: WatchSettings,
): AsyncGenerator<LocksSeen, void, undefined> {
  const looks = new Looks();
  for (;;) {
    const startMs = clock.monotonicMs();
    const fleet = await holdfast.fleet({ group, signal });
    const locks: ListedLock[] = [];
    for await (const lock of all) locks.push(lock);
    const nowMs = clock.monotonicMs();
    const { unreadable = 0 } = all;
    yield { atMs: fleet.atMs, fleet, unreadable, ...looks.seen(locks, fleet, nowMs) };
    // If the signal aborts meanwhile, the next look rejects with its reason.
    await pause(clock, Math.max(everyMs, (nowMs - startMs) / SHARE), signal);
  }
}
