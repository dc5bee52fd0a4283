import type { Client } from "../client.js";
import { presenceClientsKey } from "../protocol/names.js";
import {
  type ListAnswer,
  type PageStart,
  presenceList,
  type StoredPresence,
} from "../protocol/presence-scripts.js";
import { forCaller } from "../runtime/for-caller.js";
import type { Waiter } from "../runtime/waiter.js";
import { type Live, type Meta, readCount, readLive, readMeta } from "./claims.js";
import type { Described, KnownClients } from "./known-clients.js";
import { MOST_LIVE_BYTES } from "./live-format.js";
import {
  BEATS_MISSED,
  checkFleetOptions,
  DEFAULT_GROUP,
  type FleetOptions,
  LONGEST_BEAT_MS,
} from "./presence-options.js";

/** One client of a group, as it tells. Any program that can write to Redis may have told it: a claim, and no proof. */
export interface ClientPresence extends Meta, Live {
  /** The client id: the first part of its holders. */
  readonly id: string;
  /** `gone`: three beats were missed. The process has died or stands still, or it could not write. */
  readonly state: "there" | "gone";
  /** Milliseconds since it was heard of. */
  readonly lastSeenMs: number;
  /** How often it tells, in milliseconds. */
  readonly everyMs: number;
}

/** The clients of a group that were heard of in the last hour and were not closed. */
export interface Fleet {
  /** When the last of them was read, in milliseconds since the Unix epoch on the server's clock. */
  readonly atMs: number;
  readonly group: string;
  /** Those that were heard of longest ago first. */
  readonly clients: readonly ClientPresence[];
  /**
   * Whether there is more than is read: of a group the 10,000 clients that were heard of last, in all 32 MiB of what they tell of
   * themselves, of those that were heard of last; of the others then `id`, `state`, `lastSeenMs` and `everyMs`.
   */
  readonly truncated: boolean;
}

/** A call for more would keep the server from other commands for too long. */
const PAGE = 100;
/** Ids alone take less. */
const IDS_A_PAGE = 1_000;
/** What one call answers at most, but for the client that crosses it: half a millisecond of the server. */
const PAGE_BYTES = 262_144;
/** What a client remembers of what it has read, so that unchanged texts need not be sent again. */
const REMEMBERED_BYTES = 4_194_304;

/** Whatever a group has, a reader keeps no more: some hundred megabytes at most, as objects take more than their text. */
const MOST_CLIENTS = 10_000;
const MOST_BYTES = 33_554_432;

/** However the scores move while they are read, it ends. */
const MOST_CALLS = 10_000;
/** Redisson's client ids are UUIDs as well. Another text may not become part of a key. */
const CLIENT_ID = /^[0-9a-f-]{36}$/;

/**
 * The clients of a group.
 * @throws TypeError, RangeError; UnavailableError, ClientClosedError, the signal's reason
 */
export async function fleetOf(client: Client, options: FleetOptions, known: KnownClients): Promise<Fleet> {
  const group = assertReadable(client, options);
  const clients: ClientPresence[] = [];
  const reader = new FleetReader(client, group, known.of(group));
  for await (const page of reader.pages(options.signal)) clients.push(...page);
  known.replace(group, reader.described);
  return { atMs: reader.atMs, group, clients: clients.reverse(), truncated: reader.truncated };
}

/** The same page by page, those that were heard of last first. A reader keeps the ids, and the first few megabytes of what it has read. */
export async function* readFleet(
  client: Client,
  options: FleetOptions = {},
): AsyncGenerator<readonly ClientPresence[], void, undefined> {
  const group = assertReadable(client, options);
  yield* new FleetReader(client, group, new Map()).pages(options.signal);
}

/** @returns the group */
function assertReadable(client: Client, options: FleetOptions): string {
  const group = checkFleetOptions(options) ?? client.settings.presence?.group ?? DEFAULT_GROUP;
  client.assertOpen({ name: group, kind: "fleet" });
  return group;
}

/** Reads a group once. */
class FleetReader {
  /** As much as is remembered of what it has read. */
  readonly described = new Map<string, Described>();
  /** Whether it leaves out something. */
  truncated = false;
  /** On the server's clock. */
  atMs = 0;
  readonly #client: Client;
  readonly #group: string;
  readonly #known: ReadonlyMap<string, Described>;
  readonly #seen = new Set<string>();
  /** Of the texts that were read. */
  #bytes = 0;
  #next: PageStart = { fromScore: "-inf", skip: 0 };
  #hasAllIds = false;

  constructor(client: Client, group: string, known: ReadonlyMap<string, Described>) {
    this.#client = client;
    this.#group = group;
    this.#known = known;
  }

  async *pages(signal: AbortSignal | undefined): AsyncGenerator<readonly ClientPresence[], void, undefined> {
    const client = this.#client;
    const waiter = client.newWaiter(undefined, signal);
    try {
      const ids = await this.#allIds(waiter);
      let left = MOST_CALLS;
      // Where not all texts are read, those of the clients are that were heard of last.
      while (ids.length > 0 && left > 0) {
        const page = ids.slice(-PAGE).reverse();
        const { told } = await this.#ask(waiter, page, 0);
        const read = told.flatMap((stored, at) => this.#read(page[at] ?? "", stored) ?? []);
        if (read.length > 0) yield read;
        ids.length -= told.length;
        left -= 1;
      }
      if (ids.length > 0) this.truncated = true;
    } finally {
      client.dismiss(waiter);
    }
  }

  /** The ids of the group, those that were heard of longest ago first. */
  async #allIds(waiter: Waiter): Promise<string[]> {
    const ids: string[] = [];
    for (let calls = 0; !this.#hasAllIds && calls < MOST_CALLS; calls += 1) {
      const answer = await this.#ask(waiter, [], IDS_A_PAGE);
      if (calls === 0 && this.#passesOver(answer)) continue;
      ids.push(...this.#newIds(answer.ids));
    }
    return ids;
  }

  /** @param limit how many ids of the next page are asked for */
  async #ask(waiter: Waiter, page: readonly string[], limit: number): Promise<ListAnswer> {
    const [group, known, next] = [this.#group, this.#known, this.#next];
    const { commands } = this.#client;
    const hasRoom = this.#bytes < MOST_BYTES;
    if (!hasRoom && page.length > 0) this.truncated = true;
    const input = {
      group,
      next,
      limit,
      roomBytes: PAGE_BYTES,
      mostBytes: hasRoom ? MOST_LIVE_BYTES : 0,
      page: page.map((clientId) => ({ clientId, liveAt: known.get(clientId)?.liveAt ?? "" })),
    };
    const subject = { name: group, kind: "fleet" };
    try {
      // `exchange` sends a command even for a waiter that was cancelled before.
      if (waiter.cancelled) throw waiter.reason;
      const asking = commands.exchange(presenceList, presenceClientsKey(group), () => input, waiter);
      const answer = await waiter.unlessCancelled(asking);
      if (answer === undefined) throw waiter.reason;
      this.atMs = answer.serverMs;
      return answer.reply;
    } catch (error) {
      throw forCaller(error, subject, waiter);
    }
  }

  /** Of a group that has too many it reads those that were heard of last. @returns whether the first ids are not among them */
  #passesOver({ entries }: ListAnswer): boolean {
    if (entries <= MOST_CLIENTS) return false;
    this.truncated = true;
    this.#next = { fromScore: "-inf", skip: entries - MOST_CLIENTS };
    return true;
  }

  /** A client that tells while the ids are read gets a higher score, and comes again. */
  #newIds(ids: ListAnswer["ids"]): readonly string[] {
    const room = MOST_CLIENTS - this.#seen.size;
    this.#hasAllIds = ids.length < IDS_A_PAGE;
    const last = ids.at(-1)?.score ?? "";
    const { fromScore, skip } = this.#next;
    this.#next = { fromScore: last, skip: last === fromScore ? skip + ids.length : 0 };
    const fresh = ids
      .map(({ clientId }) => clientId)
      .filter((id) => CLIENT_ID.test(id) && !this.#seen.has(id));
    // Of clients that have come since the first call.
    if (fresh.length > room) {
      this.truncated = true;
      this.#hasAllIds = true;
    }
    const taken = fresh.slice(0, room);
    for (const id of taken) this.#seen.add(id);
    return taken;
  }

  #read(id: string, stored: StoredPresence | undefined): ClientPresence | undefined {
    if (stored?.v !== "1") return undefined;
    const [at, everyMs] = [readCount(stored.at), readCount(stored.every)];
    if (at === undefined || everyMs === undefined || everyMs < 1 || everyMs > LONGEST_BEAT_MS)
      return undefined;
    const described = this.#describe(id, stored);
    this.#bytes += described.bytes;
    if (this.#bytes <= REMEMBERED_BYTES) this.described.set(id, described);
    const { meta, live } = described;
    // It is of any age where the time is missing at which it was told.
    const sinceMs = Math.max(0, this.atMs - (readCount(stored.liveAt) ?? this.atMs));
    const aged = <T extends { readonly ageMs: number }>(of: T): T => ({ ...of, ageMs: of.ageMs + sinceMs });
    return {
      id,
      state: at + BEATS_MISSED * everyMs > this.atMs ? "there" : "gone",
      lastSeenMs: Math.max(0, this.atMs - at),
      everyMs,
      ...meta,
      ...live,
      holds: live.holds.map(aged),
      waits: live.waits.map(aged),
      lost: live.lost.map((loss) => ({ ...loss, agoMs: loss.agoMs + sinceMs })),
    };
  }

  #describe(id: string, { liveAt, meta, live }: StoredPresence): Described {
    const known = this.#known.get(id);
    if (known !== undefined && liveAt !== "" && known.liveAt === liveAt) return known;
    return { liveAt, meta: readMeta(meta), live: readLive(live), bytes: meta.length + live.length };
  }
}
