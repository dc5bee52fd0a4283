import type { Clock, Holdfast } from "holdfast";
import { staleAfterMs, watchLocks } from "holdfast/watch";
import { tellDuration } from "../duration.js";
import { NamedFinder } from "../find/named-finder.js";
import { tellHolder } from "../text/tell-holder.js";
import type { Seen } from "./seen.js";

/** The pause between two looks. It is short, so that a renewed lease ends the wait soon. A watchdog of 30 s renews within 10 s. */
const EVERY_MS = 1_000;
/**
 * The TTL must be seen to fall for a whole period. If that has not succeeded after this many periods, the watching ends.
 */
const MOST_TIMES = 3;
/** The tolerance for a TTL that is read over a network. */
const TOLERANCE_MS = 500;

/**
 * Why a lock is not stale, as far as one look shows.
 * @returns undefined if presence reports all holders as gone, and the lock has a TTL that can be watched
 */
export function obstacleToStale({ state, lock, blind }: Seen): string | undefined {
  if (blind !== undefined) return `presence can not be read: ${blind}`;
  if (state.kept) return "no thread has it: it was released, and its key stays for a while";
  for (const holder of lock.holders) {
    const { by, client } = holder;
    const name = tellHolder(holder);
    if (client === null && by === "jvm") return `${name} has no presence, and may be running`;
    if (client === null) return `${name} is unknown: it has no presence, was closed, or is in another group`;
    if (client.state === "there")
      return `${name} is running: its last beat was ${tellDuration(client.lastSeenMs)} ago`;
  }
  const fixed = lock.holders.find(({ renewed }) => renewed === false);
  if (fixed !== undefined)
    return `${tellHolder(fixed)} has a fixed lease, which is never renewed, so its TTL shows nothing; it ends by itself in ${tellDuration(state.ttlMs)}`;
  return state.ttlMs < 0 ? "its key has no TTL that could be watched" : undefined;
}

interface Watching {
  readonly group: string;
  /** Default: the clock of the process. */
  readonly clock?: Clock;
}

/**
 * Watches a lock until its TTL has fallen for longer than the time between two renewals.
 * @returns why the lock is not stale; undefined if it is stale
 */
export async function watchFall(
  holdfast: Holdfast,
  { state, lock: { key } }: Seen,
  { group, clock }: Watching,
): Promise<string | undefined> {
  const finder = new NamedFinder(holdfast, [state.name], holdfast);
  let lastTtlMs = Number.POSITIVE_INFINITY;
  const mostLooks = (MOST_TIMES * staleAfterMs(state.ttlMs)) / EVERY_MS;
  let looks = 0;
  for await (const look of watchLocks(finder, { group, everyMs: EVERY_MS, ...(clock && { clock }) })) {
    if (look.presenceIsUnwell)
      return "presence itself has failed: more than half of the group fell silent at once, which says nothing about its locks";
    const lock = look.locks.find((each) => each.key === key);
    if (lock === undefined || lock.holders.length === 0) return "it was freed meanwhile";
    if (lock.flags.includes("stale")) return undefined;
    const back = lock.holders.find(({ client }) => client?.state !== "gone");
    if (back !== undefined) return `${tellHolder(back)} has it now`;
    if (lock.ttlMs < 0 || lock.ttlMs > lastTtlMs + TOLERANCE_MS)
      return "its TTL was raised a moment ago: something renews it";
    lastTtlMs = lock.ttlMs;
    looks += 1;
    if (looks >= mostLooks) break;
  }
  return `its TTL could not be watched for ${tellDuration(staleAfterMs(state.ttlMs))} without a gap`;
}
