import type { ListedLock, LockState } from "holdfast";
import { isWriter } from "./tell-holder.js";

type Kind = ListedLock["kind"] | LockState["kind"];

const SHORT: Readonly<Record<Exclude<Kind, "read-write-lock">, string>> = {
  none: "free",
  lock: "lock",
  "fair-lock": "fair",
  "fenced-lock": "fenced",
  semaphore: "semaphore",
  "permit-expirable-semaphore": "permits",
  "count-down-latch": "latch",
  "semaphore-or-latch": "semaphore or latch",
};

/** A kind in one word, as in `exec --kind`: a read-write lock is named by the way in which it is held. */
export function tellKind(kind: Kind, holders: readonly string[]): string {
  if (kind !== "read-write-lock") return SHORT[kind];
  if (holders.length === 0) return "read-write";
  return holders.some(isWriter) ? "write" : "read";
}
