import type { FindLocksOptions, Fleet, Holdfast, ListedLock, LockSource } from "holdfast";
import { exitCodes } from "../exit-codes.js";
import { Failure } from "../failure.js";
import { lacksRight } from "../failure-of.js";

/** The methods of a client that read locks. */
export interface Finder extends Pick<Holdfast, "fleet"> {
  locks(options?: FindLocksOptions): AsyncIterable<ListedLock> & { readonly unreadable?: number };
}

/** The sources that this user may search. */
export interface AskableSources {
  readonly sources: readonly LockSource[];
  /** A line for each source that is not asked, with the missing right. */
  readonly missing: readonly string[];
  /** Reads the locks. If the user may not read presence, the locks come without details about their clients. */
  readonly finder: Finder;
}

/** A glob that no name matches: the source is asked, but no lock is read. */
const NO_NAME = "";

/**
 * Tries out which of the sources the user may read.
 * @param finder the client to try them with
 * @throws errors of `fleet` and `locks` other than a missing right
 */
export async function askableSources(
  finder: Finder,
  group: string,
  wanted: readonly LockSource[],
): Promise<AskableSources> {
  const tries: Readonly<Record<LockSource, () => Promise<unknown>>> = {
    presence: () => finder.fleet({ group }),
    channels: () => askChannels(finder),
    // Not tried out: if the right to scan is missing, the search itself fails.
    scan: async () => undefined,
  };
  const rights: Readonly<Record<LockSource, string>> = {
    presence: `~holdfast_client*:{${group}}*`,
    channels: "+pubsub|channels (in a cluster +pubsub|shardchannels as well)",
    scan: "+scan",
  };
  const sources: LockSource[] = [];
  const missing: string[] = [];
  for (const source of wanted) {
    try {
      await tries[source]();
      sources.push(source);
    } catch (error) {
      if (!lacksRight(error)) throw error;
      missing.push(`${NAMES[source]} not asked: this user lacks the right to it: ${rights[source]}`);
    }
  }
  return { sources, missing, finder: sources.includes("presence") ? finder : withoutPresence(finder) };
}

/** @throws Failure if the user may not ask any source */
export function assertAskable({ sources, missing }: AskableSources): void {
  if (sources.length === 0) throw new Failure(exitCodes.noRight, missing.join("\n"));
}

const NAMES: Readonly<Record<LockSource, string>> = {
  presence: "presence was",
  channels: "the channels that are listened to were",
  scan: "the keys were",
};

async function askChannels(finder: Finder): Promise<void> {
  for await (const _ of finder.locks({ sources: ["channels"], match: NO_NAME, limit: 1 })) return;
}

/** A finder for a user who may not read presence. */
function withoutPresence(finder: Finder): Finder {
  return {
    locks: (options) => finder.locks(options),
    async fleet({ group = "" } = {}): Promise<Fleet> {
      return { atMs: Date.now(), group, clients: [], truncated: false };
    },
  };
}
