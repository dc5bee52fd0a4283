import type { KeySnapshot, Snapshot } from "../../../src/driver/memory/snapshot.js";
import type { Shared } from "../workload/family.js";

/** Which keys may be there, as docs/reference/keys.md has it. */
interface Rule {
  readonly what: string;
  readonly prefix: string;
  /** How long one may be there at most; "for ever": it has no TTL. */
  readonly lastsMs: number | "for ever";
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** A JVM's waiters are believed alive for five minutes, one after the other: so far ahead their scores may lie. */
const SCORES_MS = 3_600_000;

const RULES: readonly Rule[] = [
  { what: "the counter of a fenced lock", prefix: "redisson_lock_token:", lastsMs: "for ever" },
  {
    what: "the queue of a fair lock",
    prefix: "redisson_lock_queue:",
    lastsMs: DAY_MS + SCORES_MS,
  },
  { what: "its scores", prefix: "redisson_lock_timeout:", lastsMs: DAY_MS + SCORES_MS },
  { what: "its signs of life", prefix: "holdfast_fair_alive:", lastsMs: 2 * MINUTE_MS },
  { what: "the mark of a writer", prefix: "holdfast_rw_writer:", lastsMs: MINUTE_MS },
  { what: "permits saved up", prefix: "holdfast_sc_saved:", lastsMs: MINUTE_MS },
  { what: "the answers of a client", prefix: "holdfast_req:", lastsMs: 2 * MINUTE_MS },
];

const QUEUE = /^redisson_lock_(?:queue|timeout):/;

/** Numbers that nobody owns stay for ever. */
const KINDS_WITHOUT_END: readonly string[] = ["semaphore", "permit", "latch"];

/** What is known of a run, for its keys to be judged. */
export interface Expected {
  readonly shared: readonly Shared[];
  /** No lease is longer. */
  readonly longestMs: number;
  /** Whether a JVM takes part: it gives a queue no TTL, and its scores are those of its own clock. */
  readonly hasJvm: boolean;
}

/** @returns what is wrong with the keys of a server while there may be leases, in words */
export function wrongKeys(keys: Snapshot, { shared, longestMs, hasJvm }: Expected): readonly string[] {
  return Object.entries(keys).flatMap(([key, snapshot]) => {
    const rule = RULES.find(({ prefix }) => key.startsWith(prefix));
    if (hasJvm && QUEUE.test(key)) return [];
    const lastsMs = rule?.lastsMs ?? (isEndless(key, shared) ? "for ever" : longestMs);
    if (lastsMs === "for ever" || (snapshot.ttlMs >= 0 && snapshot.ttlMs <= lastsMs)) return [];
    return [`${told(key, snapshot)}, and may last for ${lastsMs} ms`];
  });
}

/** @returns the keys that are there although they belong to a lease or a call, and all of these are over */
export function keysLeft(keys: Snapshot, { shared }: Expected): readonly string[] {
  const mayStay = (key: string) =>
    isEndless(key, shared) || /^redisson_lock_(?:token|queue|timeout):/.test(key);
  return Object.entries(keys).flatMap(([key, snapshot]) => (mayStay(key) ? [] : [told(key, snapshot)]));
}

/** @returns the keys that are there although the time of all that have one has run out */
export function keysWithoutEnd(keys: Snapshot, { shared, hasJvm }: Expected): readonly string[] {
  const isMeant = (key: string) =>
    (hasJvm && QUEUE.test(key)) || isEndless(key, shared) || key.startsWith("redisson_lock_token:");
  return Object.entries(keys).flatMap(([key, snapshot]) => (isMeant(key) ? [] : [told(key, snapshot)]));
}

/** The number of a semaphore or latch, and the leases of permits: those have a key of which only the scores end. */
function isEndless(key: string, shared: readonly Shared[]): boolean {
  return shared.some(
    ({ kind, name }) =>
      KINDS_WITHOUT_END.some((word) => kind.includes(word)) &&
      [name, `{${name}}:timeout`, `${name}:timeout`].includes(key),
  );
}

function told(key: string, { ttlMs, value }: KeySnapshot): string {
  return `key "${key}" with a TTL of ${ttlMs} ms: ${JSON.stringify(value)}`;
}
