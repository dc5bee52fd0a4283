import type { Fleet, Holdfast, ListedLock, LockState } from "holdfast";
import { joinedLock } from "../find/joined-lock.js";

/** A lock as it is shown before it is freed. */
export interface Seen {
  /** The lock to free: these holders, and no others. */
  readonly state: LockState;
  /** The same, joined with what clients tell. */
  readonly lock: ListedLock;
  /** Why nothing is known of clients; undefined where their presence could be read. */
  readonly blind: string | undefined;
}

/** @throws what `inspect` throws */
export async function lookAt(
  holdfast: Pick<Holdfast, "fleet" | "inspect">,
  name: string,
  group: string,
): Promise<Seen> {
  const state = await holdfast.inspect(name);
  // Without presence a lock can still be freed: its holders are then told as they are stored.
  const { fleet, blind } = await holdfast.fleet({ group }).then(
    (told) => ({ fleet: told, blind: undefined }),
    (error: Error) => ({ fleet: emptyFleet(group), blind: error.message }),
  );
  const lock = joinedLock(state, fleet);
  // A client that is gone has told of waits that are over.
  const waiting = lock.waiting.filter(({ holder, client }) => holder !== null || client?.state !== "gone");
  return { state, lock: { ...lock, waiting }, blind };
}

function emptyFleet(group: string): Fleet {
  return { atMs: 0, group, clients: [], truncated: false };
}
