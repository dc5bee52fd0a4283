import type { ClientRef, ListedHolder } from "../index.js";

/** A client as text for people: `billing@web-7 pid 3121`. */
export function tellClient({ id, app, host, pid }: Pick<ClientRef, "id" | "app" | "host" | "pid">): string {
  const place = host === null ? "" : `@${host}`;
  const process = pid === null ? "" : ` pid ${pid}`;
  return app === "" && host === null ? id : `${app}${place}${process}`;
}

/** A holder as text for people; one without presence as it is stored. */
export function tellHolder({ holder, by, client }: ListedHolder): string {
  if (client !== null) return `${tellClient(client)} (${holder})`;
  return by === "jvm" ? `JVM ${holder}` : holder;
}

export function tellHolders(holders: readonly ListedHolder[]): string {
  const [first, ...others] = holders;
  if (first === undefined) return "nothing";
  return others.length === 0 ? tellHolder(first) : `${tellHolder(first)} and ${others.length} more`;
}

/** What a terminal acts on, or shows as nothing. */
const HIDDEN = /[\p{Cc}\p{Zl}\p{Zp}\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/u;

/** The line of a shell that frees what is seen; null where nothing is held, or where a shell had better not read the name. */
export function unlockLine(key: string, holders: readonly ListedHolder[], more: number): string | null {
  const [first, ...others] = holders;
  if (first === undefined || HIDDEN.test(key)) return null;
  const isOne = others.length === 0 && more === 0;
  return `holdfast unlock ${isOne ? `--holder ${quoted(first.holder)}` : "--force"} -- ${quoted(key)}`;
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
