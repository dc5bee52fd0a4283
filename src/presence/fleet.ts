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

/**
 * One client of a group, by its own report. Any program that can write to Redis may have written the report: it is a claim, not a proof.
 */
export interface ClientPresence extends Meta, Live {
  /** The client id: the first part of its holders. */
  readonly id: string;
  /** `gone`: three beats were missed. The process has died or is suspended, or it could not write. */
  readonly state: "there" | "gone";
  /** Milliseconds since the client was last heard from. */
  readonly lastSeenMs: number;
  /** How often the client reports, in milliseconds. */
  readonly everyMs: number;
}

/** The clients of a group that were heard from in the last hour and were not closed. */
export interface Fleet {
  /** When the last report was read, in milliseconds since the Unix epoch on the server's clock. */
  readonly atMs: number;
  readonly group: string;
  /** The clients that reported longest ago come first. */
  readonly clients: readonly ClientPresence[];
  /**
   * Whether something was left out. Limits: the 10,000 clients that reported last, and 32 MiB of their reports, the latest first. Beyond 32
   * MiB a client has only `id`, `state`, `lastSeenMs` and `everyMs`.
   */
  readonly truncated: boolean;
}

/** A call for more would block the server for too long. */
const PAGE = 100;
/** Without descriptions and reports, an id costs the server less. */
const IDS_A_PAGE = 1_000;
/** The most bytes in one answer, which takes the server half a millisecond. The last client in it may exceed the limit. */
const PAGE_BYTES = 262_144;
/** The most bytes that a client remembers of the texts that it has read, so that unchanged texts need not be sent again. */
const REMEMBERED_BYTES = 4_194_304;

/** A reader keeps no more than this of any group. As objects take more memory than their text, that is some hundred megabytes. */
const MOST_CLIENTS = 10_000;
const MOST_BYTES = 33_554_432;

/** Ends the loop even if the scores keep changing while they are read. */
const MOST_CALLS = 10_000;
/** Redisson's client ids are UUIDs as well. Any other text must not become part of a key. */
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

/**
 * As {@link fleetOf}, but page by page, from the client that reported last. Keeps only the ids and the first few megabytes of the texts in
 * memory.
 */
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
  /** The most text that is remembered. */
  readonly described = new Map<string, Described>();
  /** Whether the list leaves out something. */
  truncated = false;
  /** On the server's clock. */
  atMs = 0;
  readonly #client: Client;
  readonly #group: string;
  readonly #known: ReadonlyMap<string, Described>;
  readonly #seen = new Set<string>();
  /** The bytes of the texts that were read. */
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
      // If not all texts can be read, the clients that reported last are described.
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

  /** The ids of the group; the clients that reported longest ago come first. */
  async #allIds(waiter: Waiter): Promise<string[]> {
    const ids: string[] = [];
    for (let calls = 0; !this.#hasAllIds && calls < MOST_CALLS; calls += 1) {
      const answer = await this.#ask(waiter, [], IDS_A_PAGE);
      if (calls === 0 && this.#passesOver(answer)) continue;
      ids.push(...this.#newIds(answer.ids));
    }
    return ids;
  }

  /** @param limit how many ids of the next page to ask for */
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
      // `exchange` sends a command even for a waiter that is already cancelled.
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

  /** If a group has too many clients, skips those that reported longest ago. @returns whether the first ids are left out */
  #passesOver({ entries }: ListAnswer): boolean {
    if (entries <= MOST_CLIENTS) return false;
    this.truncated = true;
    this.#next = { fromScore: "-inf", skip: entries - MOST_CLIENTS };
    return true;
  }

  /** A client that reports while the ids are read gets a higher score, and appears a second time. */
  #newIds(ids: ListAnswer["ids"]): readonly string[] {
    const room = MOST_CLIENTS - this.#seen.size;
    this.#hasAllIds = ids.length < IDS_A_PAGE;
    const last = ids.at(-1)?.score ?? "";
    const { fromScore, skip } = this.#next;
    this.#next = { fromScore: last, skip: last === fromScore ? skip + ids.length : 0 };
    const fresh = ids
      .map(({ clientId }) => clientId)
      .filter((id) => CLIENT_ID.test(id) && !this.#seen.has(id));
    // Clients may have joined since the first call.
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
    // A report without a time counts as new, because its age is unknown.
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
