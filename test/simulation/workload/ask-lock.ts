import type { Lease } from "../../../src/lease.js";
import type { StoredLock } from "../checker/keyspace.js";
import { pick } from "../draw.js";
import type { Caller } from "./caller.js";
import type { Door } from "./lock-names.js";

const US = 1_000;
const MODE = "mode";
const WRITE = ":write";
/** Of a lock that was handed on inside of its client nobody is told before Redis knows its holder, or it is no longer believed. */
const LONGEST_TRUST_MS = 10_000;

/** Asks Redis who has a lock, in one of the ways that there are: so it was at some time during the call. */
export async function askLock(caller: Caller, door: Door): Promise<void> {
  const { lock, name } = door;
  const { holdfast } = caller.member;
  switch (pick(caller.looks, ["isLocked", "inspect", "remainTimeToLive"])) {
    case "isLocked":
      return ask(caller, door, "isLocked", () => lock.isLocked(), {
        agrees: (state, told) => isLocked(door, state) === told,
      });
    case "remainTimeToLive":
      return ask(caller, door, "remainTimeToLive", () => lock.remainTimeToLive(), { agrees: lasts });
    default:
      return ask(caller, door, "inspect", () => holdfast.inspect(name), {
        agrees: (state, told, sinceUs, nowUs) => {
          const holders = [...state.fields].filter(([field]) => field !== MODE);
          const counts = Object.entries(told.holdCounts);
          const own = told.holders.filter((holder) => holder.startsWith(`${holdfast.clientId}:`));
          return (
            counts.length === holders.length &&
            holders.every(([field, count]) => told.holdCounts[field] === Number(count)) &&
            told.holders.join() === counts.map(([holder]) => holder).join() &&
            told.ownHolders.join() === own.join() &&
            lasts(state, told.ttlMs, sinceUs, nowUs)
          );
        },
      });
  }
}

/** Asks how often a lease's thread holds its lock, as Redis has it. */
export async function askHolder(caller: Caller, door: Door, lease: Lease): Promise<void> {
  const { threadId, holder } = lease;
  const { lock } = door;
  const { checker } = caller.scene;
  // Of a hold that was lost meanwhile its client knows no more.
  const isGone = () => !checker.believes(lease);
  const countOf = ({ fields }: StoredLock) => Number(fields.get(holder) ?? 0);
  if (pick(caller.looks, ["count", "held"]) === "count") {
    return ask(caller, door, `getHoldCount(${threadId})`, () => lock.getHoldCount(threadId), {
      mostMs: LONGEST_TRUST_MS,
      agrees: (state, told) => countOf(state) === told || (told === 0 && isGone()),
    });
  }
  return ask(caller, door, `isHeldByThread(${threadId})`, () => lock.isHeldByThread(threadId), {
    mostMs: LONGEST_TRUST_MS,
    agrees: (state, told) => countOf(state) > 0 === told || (!told && isGone()),
  });
}

interface Judge<T> {
  /** How long the answer may take besides the question. Default: no time. */
  readonly mostMs?: number;
  /** Whether a server that had this would answer so. */
  readonly agrees: (state: StoredLock, told: T, sinceUs: number, nowUs: number) => boolean;
}

async function ask<T>(
  caller: Caller,
  { name }: Door,
  what: string,
  act: () => Promise<T>,
  { agrees, mostMs = 0 }: Judge<T>,
): Promise<void> {
  const { keyspace, checker, nowUs } = caller.scene;
  const sinceUs = nowUs();
  const became = await caller.call({ what: `${what} of "${name}"`, names: [], waitMs: mostMs }, act);
  if (!became.ok) return;
  const told = became.value;
  const states = keyspace.since(name, sinceUs);
  if (states.some((state) => agrees(state, told, sinceUs, nowUs()))) return;
  const words = JSON.stringify(told, (_, value) => (typeof value === "bigint" ? String(value) : value));
  const had = states.map(({ fields }) => JSON.stringify([...fields])).join(", ");
  checker.fail("truth", `${caller.name}: ${what} of "${name}" tells ${words}, and it had ${had}`);
}

function isLocked({ kind, mode }: Door, { fields }: StoredLock): boolean {
  if (!kind.includes("read-write")) return fields.size > 0;
  if (mode === "exclusive") return fields.get(MODE) === "write";
  return [...fields.keys()].some((field) => field !== MODE && !field.endsWith(WRITE));
}

/** Whether its key has so long a TTL at some time between two moments. */
function lasts({ fields, endsUs }: StoredLock, ttlMs: number, sinceUs: number, nowUs: number): boolean {
  if (fields.size === 0) return ttlMs === -2;
  if (endsUs === Number.POSITIVE_INFINITY) return ttlMs === -1;
  return ttlMs * US >= endsUs - nowUs - 2 * US && ttlMs * US <= endsUs - sinceUs + 2 * US;
}
