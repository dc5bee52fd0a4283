import type { Fleet, Holdfast, ListedHolder, LockState } from "holdfast";
import { tellDuration } from "../duration.js";
import { joinedLock } from "../find/joined-lock.js";
import { plain } from "../text/plain.js";
import { tellHolder } from "../text/tell-holder.js";

/** The group of presence that knows the names of the clients. */
export interface Where {
  readonly holdfast: Holdfast;
  readonly group: string;
}

/** Asks Redis and presence for a line about the holders of a lock: `held by ci@runner-2 pid 88 since 41 s, lease 22 s`. */
export async function tellHolders(name: string, { holdfast, group }: Where): Promise<string> {
  const [state, fleet] = await Promise.all([holdfast.inspect(name), holdfast.fleet({ group })]);
  return holdersIn(state, fleet, holdfast.clientId);
}

/** @param ownId the id of the waiting client */
export function holdersIn(state: LockState, fleet: Fleet, ownId: string): string {
  const [first, ...others] = joinedLock(state, fleet).holders;
  const queued = [...state.queue, ...state.waitingClients];
  const before = queued.findIndex((waiter) => waiter === ownId || waiter.startsWith(`${ownId}:`));
  const queue = before > 0 ? `; ${before} before it in the queue` : "";
  if (first === undefined) return `free at this moment${queue}`;
  const more = others.length > 0 ? ` and ${others.length} more` : "";
  const lease = state.ttlMs < 0 ? "no TTL" : `lease ${tellDuration(state.ttlMs)}`;
  return `${state.kept ? "" : "held by "}${plain(tellOne(first))}${more}, ${lease}${queue}`;
}

function tellOne(holder: ListedHolder): string {
  const { client, sinceMs, note } = holder;
  // Unless a note is given, `exec` writes the name of the program as the note.
  const noted = note === null || note === client?.app ? "" : ` ("${note}")`;
  const since = sinceMs === null ? "" : ` since ${tellDuration(sinceMs)}`;
  return `${tellHolder(holder)}${since}${noted}`;
}
