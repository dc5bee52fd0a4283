import type { ListedHolder } from "holdfast";
import { globOf } from "../find/exact-name.js";
import { nameWords, shellWord } from "../text/shell-word.js";

/** With more holders than this the command line would be unreadable. */
const MOST_HOLDERS = 8;

/**
 * The command that frees the lock from its present holders, and does nothing once the lock has other holders.
 * @param asTyped options of the connection
 * @returns undefined if there is nothing to free
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

/** The command that finds out whether the lock is still renewed. @param asTyped options of the connection */
export function staleLine(name: string, asTyped: readonly string[]): string {
  return commandLine("ls", globOf(name), [...asTyped, "--stale"]);
}

/**
 * The command that gives back the leased permits of clients that are gone; for a plain semaphore the command that sets the new number.
 * @returns undefined if no client is known to be gone
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

/** A name that looks like an option comes after all options. */
function commandLine(command: string, name: string, given: readonly string[]): string {
  const { word, options: own } = nameWords(name);
  const options = [...own, ...given];
  const words = word.startsWith("-") ? [...options, "--", word] : [word, ...options];
  return ["holdfast", command, ...words].join(" ");
}

function manyHolders(holders: readonly Pick<ListedHolder, "client">[]): string {
  return holders.every(({ client }) => client?.state === "gone") ? "--stale" : "--force";
}
