import type { Holdfast, Lock } from "holdfast";
import type { LockName } from "../names.js";

/** The kinds of lock that a visit may be to. */
export type Kind = "plain" | "fair" | "read" | "write";

export function lockOf(holdfast: Holdfast, name: LockName, kind: Kind = "plain"): Lock {
  switch (kind) {
    case "plain":
      return holdfast.getLock(name);
    case "fair":
      return holdfast.getFairLock(name);
    case "read":
      return holdfast.getReadWriteLock(name).readLock();
    case "write":
      return holdfast.getReadWriteLock(name).writeLock();
  }
}
