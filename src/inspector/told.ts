import type { ClientRef, ListedHolder } from "../index.js";
import type { LockRow } from "./format.js";

/** A client as text for people: `billing@web-7 pid 3121`. */
export function tellClient({ id, app, host, pid }: Pick<ClientRef, "id" | "app" | "host" | "pid">): string {
  const place = host === null ? "" : `@${host}`;
  const process = pid === null ? "" : ` pid ${pid}`;
  return app === "" && host === null ? id : `${app}${place}${process}`;
}

/** A holder as text for people. Without presence it is the stored holder. */
export function tellHolder({ holder, by, client }: ListedHolder): string {
  if (client !== null) return `${tellClient(client)} (${holder})`;
  return by === "jvm" ? `JVM ${holder}` : holder;
}

export function tellHolders(holders: readonly ListedHolder[]): string {
  const [first, ...others] = holders;
  if (first === undefined) return "nothing";
  return others.length === 0 ? tellHolder(first) : `${tellHolder(first)} and ${others.length} more`;
}

/** Characters that a terminal acts on or does not show. */
const HIDDEN = /[\p{Cc}\p{Zl}\p{Zp}\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/u;

type ForShell = Pick<LockRow, "key" | "kind" | "holders" | "more">;

/** The shell line that frees the lock as seen; null if there is nothing to free, or if the name is unsafe for a shell. */
export function shellLine({ key, kind, holders, more }: ForShell): string | null {
  if (holders.length === 0 || HIDDEN.test(key)) return null;
  const how = /lock$/.test(kind) ? unlockOf(holders, more.holders) : giveBackOf(holders);
  return how === null ? null : `holdfast ${how} -- ${quoted(key)}`;
}

function unlockOf([first, ...others]: readonly ListedHolder[], more: number): string {
  const isOne = first !== undefined && others.length === 0 && more === 0;
  return isOne ? `unlock --holder ${quoted(first.holder)}` : "unlock --force";
}

/**
 * The command that gives back the permits of clients that are gone. The permits of a plain semaphore have no ids, so the command can only
 * set a new number of permits.
 */
function giveBackOf(holders: readonly ListedHolder[]): string | null {
  const gone = holders.filter(({ client }) => client?.state === "gone");
  if (gone.length === 0) return null;
  const clients = gone.filter(({ permitIds = [] }) => permitIds.length > 0).map(({ holder }) => holder);
  if (clients.length > 0) return `release ${clients.map((id) => `--client ${quoted(id)}`).join(" ")}`;
  return gone.every(({ permitIds }) => permitIds === undefined) ? "semaphore" : null;
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
