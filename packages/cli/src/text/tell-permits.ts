import type { ListedHolder, TakenPermit } from "holdfast";
import { tellDuration } from "../duration.js";
import { plain } from "./plain.js";
import { tellHolder } from "./tell-holder.js";

/** A client's permits of a semaphore: `jobs@pod-9 pid 1 (gone 40 s), 3 permits, for 2 min, which never return by themselves`. */
export function tellPermitsOf(holder: ListedHolder): string {
  const { count, sinceMs, renewed, permanent, permitIds, note } = holder;
  const what = count === 1 ? "1 permit" : `${count} permits`;
  // The permits of a plain semaphore do not belong to a call: another client may give them back.
  const of = permitIds === undefined ? `${what} more taken than given back` : what;
  const end = count === 1 ? "which never returns by itself" : "which never return by themselves";
  return [
    plain(tellHolder(holder)),
    of,
    ...(sinceMs === null ? [] : [`for ${tellDuration(sinceMs)}`]),
    ...(permanent === true ? [end] : []),
    ...(renewed === null ? [] : [renewed ? "renewed" : "a fixed lease"]),
    ...(note === null ? [] : [plain(JSON.stringify(note))]),
  ].join(", ");
}

/** The number of available and of taken permits: `2 of 5 available, 3 taken`. */
export function tellNumbers({
  available = 0,
  takenCount,
}: {
  readonly available?: number | undefined;
  readonly takenCount?: number | undefined;
}): string {
  if (takenCount === undefined) return `${available} available; Redis does not store the total`;
  return `${available} of ${available + takenCount} available, ${takenCount} taken`;
}

/** One permit that is out, and its client. */
export function tellPermit({ id, endsInMs }: TakenPermit, owner: ListedHolder | undefined): string {
  const end = endsInMs < 0 ? "never returns by itself" : `returns in ${tellDuration(endsInMs)}`;
  const whose = owner === undefined ? "client unknown" : `of ${tellHolder(owner)}`;
  return `${plain(id)}  ${end}${owner?.renewed === true ? " unless it is renewed" : ""}, ${plain(whose)}`;
}
