import type { KeySnapshot, Snapshot } from "../../../src/memory/snapshot.js";
import type { Shared } from "../workload/family.js";

/** Which keys may be there, as docs/reference/keys.md has it. */
interface Rule {
  readonly what: string;
  readonly prefix: string;
  /** How long one may be there at most; "for ever": it has no TTL. */
  readonly lastsMs: number | "for ever";
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
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
  { what: "its signs of life", prefix: "holdfast_fair_alive:", lastsMs: DAY_MS },
  { what: "the mark of a writer", prefix: "holdfast_rw_writer:", lastsMs: MINUTE_MS },
  { what: "permits saved up", prefix: "holdfast_sc_saved:", lastsMs: MINUTE_MS },
  { what: "that a fire was begun", prefix: "holdfast_once:", lastsMs: DAY_MS + MINUTE_MS },
  { what: "what a client tells of itself", prefix: "holdfast_client:", lastsMs: HOUR_MS + MINUTE_MS },
  { what: "the clients that do", prefix: "holdfast_clients:", lastsMs: HOUR_MS + MINUTE_MS },
  { what: "the clients that wait for a lock", prefix: "holdfast_waiting:", lastsMs: 10 * MINUTE_MS },
  { what: "the clients that wait to write", prefix: "holdfast_waiting_writers:", lastsMs: 10 * MINUTE_MS },
  { what: "the answers of a client", prefix: "holdfast_req:", lastsMs: 2 * MINUTE_MS },
];

/** What the dead have left in a queue, who has had a lock that others waited for (see waiting-queue.ts), the counter of a fenced lock, and what was done. */
const STAYS = /^(?:redisson_lock_(?:token|queue|timeout)|holdfast_(?:fair_alive|waiting(?:_writers)?|once)):/;

/** It belongs to clients, and not to what they hold. */
const PRESENCE = /^holdfast_clients?:/;

/** @returns the keys in which a client that was closed still tells of itself */
export function keysOfClosed(keys: Snapshot, clientIds: readonly string[]): readonly string[] {
  return Object.entries(keys).flatMap(([key, snapshot]) =>
    PRESENCE.test(key) && clientIds.some((id) => told(key, snapshot).includes(id))
      ? [told(key, snapshot)]
      : [],
  );
}

/** Numbers that nobody owns stay for ever. */
const KINDS_WITHOUT_END: readonly string[] = ["semaphore", "permit", "latch"];

/** With JVMs in the fleet these stay for as long as their scores say, or for ever: by the clock of a JVM, and as Redisson writes them. */
function isJvms(key: string, hasJvm: boolean): boolean {
  return hasJvm && /^redisson_lock_(?:queue|timeout):/.test(key);
}

/**
 * @param longestMs no lease is longer
 * @param hasJvm whether a JVM is in the fleet
 * @param setBackMs by so much the server's clock is behind the one that the keys were written by
 * @returns what is wrong with the keys of a server while there may be leases, in words
 */
export function wrongKeys(
  keys: Snapshot,
  shared: readonly Shared[],
  { longestMs, hasJvm }: { readonly longestMs: number; readonly hasJvm: boolean },
  setBackMs = 0,
): readonly string[] {
  return Object.entries(keys).flatMap(([key, snapshot]) => {
    if (isJvms(key, hasJvm)) return [];
    const rule = RULES.find(({ prefix }) => key.startsWith(prefix));
    const lastsMs = rule?.lastsMs ?? (isEndless(key, shared) ? "for ever" : longestMs);
    if (lastsMs === "for ever" || (snapshot.ttlMs >= 0 && snapshot.ttlMs <= lastsMs + setBackMs)) return [];
    return [`${told(key, snapshot)}, and may last for ${lastsMs} ms`];
  });
}

/** @returns the keys that are there although they belong to a lease or a call, and all of these are over */
export function keysLeft(keys: Snapshot, shared: readonly Shared[]): readonly string[] {
  const mayStay = (key: string) => isEndless(key, shared) || STAYS.test(key) || PRESENCE.test(key);
  return Object.entries(keys).flatMap(([key, snapshot]) => (mayStay(key) ? [] : [told(key, snapshot)]));
}

/** @returns the keys that are there although the time of all that have one has run out */
export function keysWithoutEnd(
  keys: Snapshot,
  shared: readonly Shared[],
  hasJvm: boolean,
): readonly string[] {
  const isMeant = (key: string) =>
    isEndless(key, shared) || key.startsWith("redisson_lock_token:") || isJvms(key, hasJvm);
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
