import { defineScript, type Script } from "./define-script.js";
import * as scripts from "./later-scripts.js";
import { presenceClientKey, presenceClientsKey } from "./names.js";
import { integer, list, text } from "./replies.js";
import type { RawReply } from "./script-call.js";

/** One client of a group. */
interface GroupMember {
  readonly group: string;
  readonly clientId: string;
}

interface Tell extends GroupMember {
  readonly notAfterMs: number;
  /** Grows with each call. */
  readonly beat: number;
  /** How often the client reports while it gets no answer. */
  readonly everyMs: number;
  /** How often the client wants to report. */
  readonly leastMs: number;
  /** How long the report outlives the client. */
  readonly keepMs: number;
  /** "": unchanged. */
  readonly meta: string;
  /** "": unchanged. */
  readonly live: string;
}

/**
 * How often a client of the group reports, and whether the next report needs `meta`. If `isLate`, nothing was written; if a later
 * call of the client had written before, `stored` is higher than the `beat` of this call.
 */
export type TellAnswer =
  | { readonly isLate: false; readonly nextMs: number; readonly needsMeta: boolean }
  | { readonly isLate: true; readonly stored: number };

/** Reports that a client is present, and what it holds and waits for; see presence-tell.lua. */
export const presenceTell: Script<Tell, TellAnswer> = defineScript({
  source: scripts.presenceTell,
  keys: ({ group, clientId }) => [presenceClientsKey(group), presenceClientKey(group, clientId)],
  args: ({ notAfterMs, clientId, beat, everyMs, leastMs, keepMs, meta, live }) => [
    notAfterMs,
    clientId,
    beat,
    everyMs,
    leastMs,
    keepMs,
    meta,
    live,
  ],
  reply: ([next, more]) =>
    next === "late"
      ? { isLate: true, stored: integer(more) }
      : { isLate: false, nextMs: integer(next), needsMeta: more === 1 },
});

/** Removes a client's report; see presence-leave.lua. */
export const presenceLeave: Script<GroupMember, undefined> = defineScript({
  source: scripts.presenceLeave,
  keys: ({ group, clientId }) => [presenceClientsKey(group), presenceClientKey(group, clientId)],
  args: ({ clientId }) => [clientId],
  reply: () => undefined,
});

/** The start of a page of ids. */
export interface PageStart {
  /** The lowest score, as text. */
  readonly fromScore: string;
  /** How many ids, from this score on, were already read. */
  readonly skip: number;
}

interface ListCall {
  readonly group: string;
  readonly next: PageStart;
  /** The most ids to return. */
  readonly limit: number;
  readonly roomBytes: number;
  /** A stored text with more bytes is left out. */
  readonly mostBytes: number;
  readonly page: readonly { readonly clientId: string; readonly liveAt: string }[];
}

/** A client's report as it is stored: any program that can write to Redis may have written it. */
export interface StoredPresence {
  /** "" for a key that is missing or of another kind. */
  readonly v: string;
  readonly at: string;
  readonly every: string;
  readonly liveAt: string;
  readonly meta: string;
  readonly live: string;
}

export interface ListAnswer {
  /** `clientId` is "" for a member that does not have the length of an id. */
  readonly ids: readonly { readonly clientId: string; readonly score: string }[];
  /** How many ids the group has. */
  readonly entries: number;
  /** The reports of the first clients of the page; at least one if the page has clients. */
  readonly told: readonly StoredPresence[];
}

/** Reads the reports of a page of clients, and the ids of the next page; see presence-list.lua. */
export const presenceList: Script<ListCall, ListAnswer> = defineScript({
  source: scripts.presenceList,
  keys: ({ group, page }) => [
    presenceClientsKey(group),
    ...page.map(({ clientId }) => presenceClientKey(group, clientId)),
  ],
  args: ({ next, limit, roomBytes, mostBytes, page }) => [
    `(${next.fromScore}`,
    next.skip,
    limit,
    roomBytes,
    mostBytes,
    ...page.map(({ liveAt }) => liveAt),
  ],
  reply: ([ids, entries, ...told]) => ({
    ids: scored(list(ids)),
    entries: integer(entries),
    told: told.map(stored),
  }),
});

function scored(flat: readonly RawReply[]): ListAnswer["ids"] {
  const ids: { clientId: string; score: string }[] = [];
  for (let at = 0; at < flat.length; at += 2) {
    ids.push({ clientId: text(flat[at]), score: text(flat[at + 1]) });
  }
  return ids;
}

function stored(raw: RawReply): StoredPresence {
  const [v, at, every, liveAt, meta, live] = list(raw);
  return {
    v: text(v),
    at: text(at),
    every: text(every),
    liveAt: text(liveAt),
    meta: text(meta),
    live: text(live),
  };
}
