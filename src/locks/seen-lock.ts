import { keyOf, shown } from "../checks.js";
import type { Script } from "../protocol/define-script.js";
import {
  anyForceUnlock,
  type ForceUnlock,
  type ForceUnlockAnswer,
  readForceUnlock,
  writeForceUnlock,
} from "../protocol/force-unlock-scripts.js";
import { lockChannel, MODE_FIELD, rwChannel, WRITE_ENDING } from "../protocol/names.js";
import type { LockState, StoredLockKind } from "./inspect.js";

/** A lock as an earlier look has seen it, in the form that the force-unlock command needs. */
export interface SeenLock {
  /** The name that the program uses. */
  readonly name: string;
  readonly kind: StoredLockKind;
  readonly key: string;
  readonly script: Script<ForceUnlock, ForceUnlockAnswer>;
  /** The channel of its waiters. */
  readonly channel: string;
  /** The fields that were seen. */
  readonly seen: Readonly<Record<string, string>>;
}

/** The kinds that can be freed by force. */
const KINDS = new Set<unknown>(["none", "lock", "fair-lock", "fenced-lock", "read-write-lock"]);
/**
 * `<client id>:<thread id>`, or `<client id>:next` for a client that is about to take the lock; with `:write` appended for a write lock.
 */
const HOLDER = /^[0-9a-f-]{36}:(?:\d+|next)(?::write)?$/i;
const WAY = "as in forceUnlock(await holdfast.inspect(name))";

/** @throws TypeError if `state` is not a lock state as `inspect` returns it; InvalidNameError for an invalid key */
export function seenLock(state: LockState): SeenLock {
  checkState(state);
  const { name, kind, holders, holdCounts } = state;
  const key = keyOf(state.key, (itself) => itself);
  const counts = Object.fromEntries(holders.map((holder) => [holder, String(holdCounts[holder])]));
  if (kind !== "read-write-lock") {
    const stored = kind === "fair-lock" || kind === "fenced-lock" ? kind : "lock";
    return { name, kind: stored, key, script: anyForceUnlock, channel: lockChannel(key), seen: counts };
  }
  // A writer's own read holds are stored beside its write hold.
  const isWritten = holders.some((holder) => holder.endsWith(WRITE_ENDING));
  const seen = { ...counts, [MODE_FIELD]: isWritten ? "write" : "read" };
  const script = isWritten ? writeForceUnlock : readForceUnlock;
  return { name, kind, key, script, channel: rwChannel(key), seen };
}

/** The state may come from untyped code or from parsed text. */
function checkState(state: unknown): void {
  if (typeof state !== "object" || state === null) throw wrong("a lock state", state);
  const { name, key, kind, holders, holdCounts } = state as Partial<Record<keyof LockState, unknown>>;
  if (typeof name !== "string") throw wrong("a lock state whose name is a string", name);
  if (typeof key !== "string") throw wrong("a lock state whose key is a string", key);
  if (!KINDS.has(kind)) throw wrong(`a state of kind ${[...KINDS].join(", ")}`, kind);
  if (!Array.isArray(holders) || holders.some((holder) => typeof holder !== "string" || holder === "")) {
    throw wrong("a lock state whose holders are an array of strings", holders);
  }
  if (typeof holdCounts !== "object" || holdCounts === null) {
    throw wrong("a lock state whose holdCounts are an object", holdCounts);
  }
  const counted = Object.entries(holdCounts);
  const foreign = holders.find((holder) => !HOLDER.test(holder));
  if (foreign !== undefined) throw wrong("holders of locks, <client id>:<thread id>", foreign);
  const unlike = counted.find(([holder, count]) => !holders.includes(holder) || !Number.isSafeInteger(count));
  if (unlike !== undefined) throw wrong("a whole number for each holder in holdCounts", unlike[1]);
  if (counted.length !== holders.length) {
    throw wrong(`a hold count for each of ${holders.length} holders`, counted.length);
  }
}

function wrong(wanted: string, value: unknown): TypeError {
  return new TypeError(`forceUnlock needs ${wanted}, ${WAY}, got ${shown(value)}`);
}
