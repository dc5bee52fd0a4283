import type { ListedHolder } from "holdfast";
import { globOf } from "../find/exact-name.js";
import { nameWords, shellWord } from "../text/shell-word.js";

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
  return commandLine("unlock", name, [...asTyped, ...how]);
}

/** The command that tells whether nothing renews the lock any more. @param asTyped options of the connection */
export function staleLine(name: string, asTyped: readonly string[]): string {
  return commandLine("ls", globOf(name), [...asTyped, "--stale"]);
}

/**
 * The command that gives back the leased permits of clients that are gone; for a plain semaphore the command that sets the new number.
 * @returns undefined where no client is known to be gone
 */
export function giveBackLine(
  name: string,
  holders: readonly Pick<ListedHolder, "holder" | "client" | "permitIds">[],
  asTyped: readonly string[],
): string | undefined {
  const gone = holders.filter(({ client }) => client?.state === "gone");
  if (gone.length === 0) return undefined;
  if (gone.every(({ permitIds }) => permitIds === undefined)) return commandLine("semaphore", name, asTyped);
  const clients = new Set(
    gone.filter(({ permitIds = [] }) => permitIds.length > 0).map(({ holder }) => holder),
  );
  if (clients.size === 0) return undefined;
  return commandLine("release", name, [...asTyped, ...[...clients].map((id) => `--client ${shellWord(id)}`)]);
}

/** A name that looks like an option stands behind them all. */
function commandLine(command: string, name: string, given: readonly string[]): string {
  const { word, options: own } = nameWords(name);
  const options = [...own, ...given];
  const words = word.startsWith("-") ? [...options, "--", word] : [word, ...options];
  return ["holdfast", command, ...words].join(" ");
}

function manyHolders(holders: readonly Pick<ListedHolder, "client">[]): string {
  return holders.every(({ client }) => client?.state === "gone") ? "--stale" : "--force";
}
