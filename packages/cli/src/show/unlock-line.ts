import type { ListedHolder } from "holdfast";
import { shellWord } from "../text/shell-word.js";

/** More than these would make a line that cannot be read. */
const MOST_HOLDERS = 8;

/**
 * The command that frees the lock from those that have it now, and does nothing once others have it.
 * @param asTyped options of the connection
 * @returns undefined where there is nothing to free
 */
export function unlockLine(
  name: string,
  holders: readonly Pick<ListedHolder, "holder" | "client">[],
  asTyped: readonly string[],
): string | undefined {
  if (holders.length === 0) return undefined;
  const how =
    holders.length > MOST_HOLDERS
      ? [manyHolders(holders)]
      : holders.map(({ holder }) => `--holder ${shellWord(holder)}`);
  const isOptionLike = name.startsWith("-");
  const word = shellWord(name);
  return [
    "holdfast unlock",
    ...(isOptionLike ? [] : [word]),
    ...asTyped,
    ...how,
    ...(isOptionLike ? ["--", word] : []),
  ].join(" ");
}

function manyHolders(holders: readonly Pick<ListedHolder, "client">[]): string {
  return holders.every(({ client }) => client?.state === "gone") ? "--stale" : "--force";
}
