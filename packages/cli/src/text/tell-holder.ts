import type { ClientRef, ListedHolder } from "holdfast";
import { tellDuration } from "../duration.js";

/** The fields of a holder or waiter that its name needs. */
export interface Named {
  /**
   * As stored, `<client id>:<thread id>`, with `:write` at the end for a write lock; or the client id alone. Null if only presence reports
   * the holder.
   */
  readonly holder: string | null;
  readonly client: ClientRef | null;
}

/** How much to print: `short` is `jobs@pod-9 1 (gone)`, and `least` is `jobs@pod-9 (gone)`. */
export type Detail = "whole" | "short" | "least";

const WRITE = ":write";
const UUID = /^([0-9a-f]{4})[0-9a-f]{4}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}(:.*)?$/;
/** Replaces the thread in the holder of a lock that was released, but whose key stays for a while. */
const KEPT_THREAD = ":0";

/**
 * A holder as text for people, in one line: `api@web-7 pid 3121`, `jobs@pod-9 pid 1 (gone 40 s)`, `JVM 4e7e…:57`, `unknown 319b…:7`. The
 * line may contain text of strangers, so it must be printed through `plain`.
 */
export function tellHolder({ holder, client }: Named, detail: Detail = "whole"): string {
  const text = holder ?? client?.id ?? "";
  const name = client === null ? tellId(text) : tellClient(client, detail);
  return isKept(text) ? `kept for ${name}` : name;
}

/** A client of the fleet: `api@web-7 pid 3121`. Missing parts are left out. */
export function tellClient(
  { id, app, host, pid, state, lastSeenMs }: ClientRef,
  detail: Detail = "whole",
): string {
  const place = host === null ? "" : `@${host}`;
  const name = `${app}${place}` || tellId(id);
  const isWhole = detail === "whole";
  const parts = [
    name,
    ...(pid === null || detail === "least" ? [] : [isWhole ? `pid ${pid}` : String(pid)]),
    ...(state === "gone" ? [isWhole ? `(gone ${tellDuration(lastSeenMs)})` : "(gone)"] : []),
  ];
  return parts.join(" ");
}

/**
 * Whether a lock may store this text as a holder: `<client id>:<thread id>`, or `<client id>:next` for a client that is about to take the
 * lock; with `:write` at the end for a write lock. Other programs may write any text.
 */
export function isHolder(text: string): boolean {
  return /^[0-9a-f-]{36}:(?:\d+|next)(?::write)?$/i.test(text);
}

/** Whether the lock was released, and only its key stays for a while. */
export function isKept(holder: string): boolean {
  return holder.endsWith(KEPT_THREAD);
}

/** Whether this holder of a read-write lock may write. */
export function isWriter(holder: string): boolean {
  return holder.endsWith(WRITE);
}

/** The library behind a holder or a client id: Redisson's UUIDs have version 4, holdfast's have version 8. */
export function originOf(holder: string): ListedHolder["by"] {
  const [, , version] = UUID.exec(holder) ?? [];
  if (version === "8") return "holdfast";
  return version === "4" ? "jvm" : "other";
}

/** The start of the id, and the thread. */
function tellId(holder: string): string {
  const [, start, , rest = ""] = UUID.exec(holder) ?? [];
  const whose = originOf(holder) === "jvm" ? "JVM" : "unknown";
  if (start === undefined) return `${whose} ${holder}`;
  const thread = rest.endsWith(WRITE) ? rest.slice(0, -WRITE.length) : rest;
  return `${whose} ${start}…${thread}`;
}
