import type { Holdfast, Lock } from "holdfast";

/** The kinds of lock that a program can be told to use. */
export type KindOfLock = "lock" | "non-reentrant" | "fair" | "spin" | "fenced" | "read" | "write";

export function lockOfKind(holdfast: Holdfast, kind: KindOfLock, name: string): Lock {
  switch (kind) {
    case "lock":
      return holdfast.getLock(name);
    case "non-reentrant":
      return holdfast.getNonReentrantLock(name);
    case "fair":
      return holdfast.getFairLock(name);
    case "spin":
      return holdfast.getSpinLock(name);
    case "fenced":
      return holdfast.getFencedLock(name);
    case "read":
      return holdfast.getReadWriteLock(name).readLock();
    case "write":
      return holdfast.getReadWriteLock(name).writeLock();
  }
}
