import type { Fleet, Holdfast, ListedLock, LockState } from "holdfast";
import { joinedLock } from "../find/joined-lock.js";

/** A lock as it is shown before it is freed. */
export interface Seen {
  /** The stored state of the lock: it is freed only from the holders in it. */
  readonly state: LockState;
  /** The same lock, joined with the reports of clients. */
  readonly lock: ListedLock;
  /** Why clients are unknown; undefined if their presence could be read. */
  readonly blind: string | undefined;
}

/** @throws errors of `inspect` */
export async function lookAt(
  holdfast: Pick<Holdfast, "fleet" | "inspect">,
  name: string,
  group: string,
): Promise<Seen> {
  const state = await holdfast.inspect(name);
  // Without presence a lock can still be freed: its holders are then printed as stored.
  const { fleet, blind } = await holdfast.fleet({ group }).then(
    (told) => ({ fleet: told, blind: undefined }),
    (error: Error) => ({ fleet: emptyFleet(group), blind: error.message }),
  );
  const lock = joinedLock(state, fleet);
  // If a client is gone, the waits that it has reported are over.
  const waiting = lock.waiting.filter(({ holder, client }) => holder !== null || client?.state !== "gone");
  return { state, lock: { ...lock, waiting }, blind };
}

function emptyFleet(group: string): Fleet {
  return { atMs: 0, group, clients: [], truncated: false };
}
