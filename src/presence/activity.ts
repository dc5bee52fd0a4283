import type { Client } from "../client.js";
import { now } from "../runtime/instant.js";
import type { Taken } from "../runtime/taken-permits.js";
import type { CountedCalls } from "../runtime/tally.js";
import type { WaitedFor } from "../runtime/waiter.js";
import type { PermitHold } from "../threads/permit-holds.js";
import type { Stay } from "../threads/stay.js";
import type { Trust } from "../threads/trust.js";
import { type Activity, type HeldNow, MOST_HELD, type WaitsNow } from "./live-format.js";

/** The client's holds and waits. */
interface Look {
  readonly nowMs: number;
  /** Younger holds are not reported: most locks are held for less time. */
  readonly leastAgeMs: number;
  readonly redact: (key: string) => string;
}

/** A list of limited length that counts the entries left out. */
class Longest<T> {
  readonly entries: T[] = [];
  more = 0;

  add(entry: () => T): void {
    if (this.entries.length < MOST_HELD) this.entries.push(entry());
    else this.more += 1;
  }
}

/**
 * A client's holds and waits, and its counts since the last beat. Does not check the end of a lease, so it never declares a loss.
 * @param acquired how many locks and permits were acquired since the last beat
 * @throws the error of `redact`; TypeError if it does not return a string
 */
export function activityOf(client: Client, look: Look, acquired: number, counted: CountedCalls): Activity {
  const holds = holdsOf(client, look);
  const waits = waitsOf(client, look);
  const redacted = <T extends { readonly key: string }>(of: T): T => ({ ...of, key: look.redact(of.key) });
  return {
    acquired,
    holds: holds.entries,
    waits: waits.entries,
    stats: [...counted.stats.values()].map(redacted),
    lost: (client.tally?.losses ?? []).map(redacted),
    more: { holds: holds.more, waits: waits.more, stats: counted.uncounted },
  };
}

/**
 * The client lists its held locks in the order in which their calls began, so the first are the oldest, except where a call had to wait.
 */
function holdsOf(client: Client, look: Look): Longest<HeldNow> {
  const found = new Longest<HeldNow>();
  const at = now(client.clock);
  const isOld = (hold: Trust) =>
    at.monotonicMs - hold.takenAt.monotonicMs >= look.leastAgeMs && hold.believedMs(at) > 0;
  for (const stay of client.threads.stays()) {
    if (stay.held.some(isOld)) found.add(() => stayNow(stay, look));
  }
  for (const hold of client.permits.all()) if (isOld(hold)) found.add(() => permitsNow(hold, look));
  for (const taken of client.tally?.permits.all() ?? [])
    if (look.nowMs - taken.sinceMs >= look.leastAgeMs) found.add(() => takenNow(taken, look));
  return found;
}

function stayNow({ held, key, lock, threadId, chain }: Stay, { redact }: Look): HeldNow {
  return {
    key: redact(key),
    kind: lock.kind.name,
    threadId,
    count: held.length,
    sinceMs: held[0]?.takenAt.monotonicMs ?? 0,
    renewed: held.some(({ isRenewed }) => isRenewed),
    handedOff: chain !== undefined,
    capped: held.some(({ terms }) => terms.maxHoldMs !== undefined),
    permanent: false,
    ids: [],
    note: held.find(({ terms }) => terms.note !== undefined)?.terms.note,
  };
}

function permitsNow({ key, count, ids, takenAt, isRenewed, terms }: PermitHold, { redact }: Look): HeldNow {
  return {
    key: redact(key),
    kind: count.kind,
    threadId: 0,
    count: ids.length,
    sinceMs: takenAt.monotonicMs,
    renewed: isRenewed,
    handedOff: false,
    capped: terms.maxHoldMs !== undefined,
    permanent: terms.leaseMs === Number.POSITIVE_INFINITY,
    note: terms.note,
    ids,
  };
}

/** The permits of a plain semaphore do not belong to a call. */
function takenNow({ key, kind, permits, sinceMs }: Taken, { redact }: Look): HeldNow {
  return {
    key: redact(key),
    kind,
    threadId: 0,
    count: permits,
    sinceMs,
    renewed: false,
    handedOff: false,
    capped: false,
    permanent: true,
    note: undefined,
    ids: [],
  };
}

function waitsOf(client: Client, { nowMs, leastAgeMs, redact }: Look): Longest<WaitsNow> {
  const found = new Longest<WaitsNow>();
  // If a call wants locks of several clients, the first of these clients lists the call twice; the set counts it once.
  for (const { waitsFor, waitedMs, note } of new Set(client.waiting())) {
    if (waitsFor === undefined || waitedMs < leastAgeMs) continue;
    for (const of of toList(waitsFor)) {
      if (of.client !== client) continue;
      const kind = typeof of.kind === "string" ? of.kind : of.kind.name;
      found.add(() => ({ key: redact(of.key), kind, sinceMs: nowMs - waitedMs, note }));
    }
  }
  return found;
}

function toList(waitsFor: WaitedFor | readonly WaitedFor[]): readonly WaitedFor[] {
  return "key" in waitsFor ? [waitsFor] : waitsFor;
}
