import type { Client } from "../client.js";
import type { FindSettings } from "./finding-options.js";
import type { ListedLock } from "./listed-lock.js";

/** A search for locks: each loop over it is a new search. */
export interface LockSearch extends AsyncIterable<ListedLock> {
  /** How many keys the latest scan has left out so far, as their names are not UTF-8: a client that uses strings cannot name them. */
  readonly unreadable: number;
}

/**
 * Lists locks, each once, ordered by key within a page. Keeps the reports of presence and the list of channels in memory, and also the
 * listed keys if it scans.
 * @throws TypeError if the driver does not reach all servers that a source has to ask
 */
export function findLocks(client: Client, settings: FindSettings): LockSearch {
  const asksAll = settings.sources.find((source) => source !== "presence");
  if (asksAll !== undefined && !client.reachesEverywhere) {
    throw new TypeError(
      `the source "${asksAll}" asks each master of a cluster, but this driver has no member everywhere: ` +
        'use only the source "presence", or another driver',
    );
  }
  const found = { unreadable: 0 };
  return {
    get unreadable() {
      return found.unreadable;
    },
    [Symbol.asyncIterator]: () => searchOnceLoaded(client, settings, found),
  };
}

async function* searchOnceLoaded(
  client: Client,
  settings: FindSettings,
  found: { unreadable: number },
): AsyncGenerator<ListedLock, void, undefined> {
  const { search } = await import("./search.js");
  yield* search(client, settings, found);
}
