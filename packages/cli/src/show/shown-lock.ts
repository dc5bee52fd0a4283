import type { LockState } from "holdfast";
import { type WatchedLock, watchLocks } from "holdfast/watch";
import { Cluster } from "ioredis";
import type { Connection } from "../connection/connect.js";
import { askableSources } from "../find/askable-sources.js";
import { NamedFinder } from "../find/named-finder.js";

/** One lock, with all known facts. `--json` prints the same facts, and the command that frees the lock. */
export interface ShownLock extends Omit<WatchedLock, "kind" | "sources" | "more"> {
  readonly kind: WatchedLock["kind"] | LockState["kind"];
  /** Released, but its key stays for a while. */
  readonly kept: boolean;
  /** The value of the fencing counter, if it is not a number. */
  readonly foreignToken?: string;
  readonly taken?: NonNullable<LockState["taken"]>;
  /** In a cluster: the slot of the lock's key, and the master of this slot, as far as this client knows. */
  readonly slot?: number;
  readonly master?: string;
}

/** Everything that `show` prints about some names. */
export interface ShownLocks {
  readonly locks: readonly ShownLock[];
  /** Why some facts are missing: a line for each reason. */
  readonly missing: readonly string[];
}

/** Reads locks by their names, once. @throws errors of `inspect` and `fleet`; Failure */
export async function lookByName(
  { holdfast, redis }: Connection,
  names: readonly string[],
  group: string,
): Promise<ShownLocks> {
  const { missing, finder: presence } = await askableSources(holdfast, group, ["presence"]);
  const finder = new NamedFinder(holdfast, names, presence);
  for await (const { locks } of watchLocks(finder, { group })) {
    const shown = finder.states.map(async (state, at) => {
      const lock = locks[at];
      if (lock === undefined) throw new Error("each name is looked at");
      return { ...shownLock(state, lock), ...(await placeOf(redis, state.key)) };
    });
    return { locks: await Promise.all(shown), missing };
  }
  throw new Error("unreachable: looks go on until the loop is left");
}

function shownLock(state: LockState, { sources: _, more: __, ...lock }: WatchedLock): ShownLock {
  const { kept, taken, foreignToken } = state;
  const isUnknown = state.kind === "semaphore-or-latch" && lock.holders.length + lock.waiting.length === 0;
  return {
    ...lock,
    kind: state.kind === "none" || isUnknown ? state.kind : lock.kind,
    kept,
    ...(taken === undefined ? {} : { taken }),
    ...(foreignToken === undefined ? {} : { foreignToken }),
  };
}

/** The slot of a key and its master. Empty if the user may not ask for the slot. */
async function placeOf(redis: Connection["redis"], key: string): Promise<Pick<ShownLock, "slot" | "master">> {
  if (!(redis instanceof Cluster)) return {};
  const slot = await redis.cluster("KEYSLOT", key).catch(() => undefined);
  if (slot === undefined) return {};
  const [master] = redis.slots[slot] ?? [];
  return { slot, ...(master === undefined ? {} : { master }) };
}
