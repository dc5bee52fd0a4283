import type { Holdfast, Lock } from "holdfast";

/** The kinds of lock that a program can be told to use. */
export type KindOfLock =
  | "lock"
  | "non-reentrant"
  | "fair"
  | "non-reentrant fair"
  | "spin"
  | "fenced"
  | "read"
  | "write"
  | "fair read"
  | "fair write"
  | "multi"
  | "red";

export function lockOfKind(holdfast: Holdfast, kind: KindOfLock, name: string): Lock {
  switch (kind) {
    case "lock":
      return holdfast.getLock(name);
    case "non-reentrant":
      return holdfast.getNonReentrantLock(name);
    case "fair":
      return holdfast.getFairLock(name);
    case "non-reentrant fair":
      return holdfast.getNonReentrantFairLock(name);
    case "spin":
      return holdfast.getSpinLock(name);
    case "fenced":
      return holdfast.getFencedLock(name);
    case "read":
      return holdfast.getReadWriteLock(name).readLock();
    case "write":
      return holdfast.getReadWriteLock(name).writeLock();
    case "fair read":
      return holdfast.getReadWriteLock(name, { fair: true }).readLock();
    case "fair write":
      return holdfast.getReadWriteLock(name, { fair: true }).writeLock();
    case "multi":
      return holdfast.getMultiLock(holdfast.getLock(`${name}:1`), holdfast.getFairLock(`${name}:2`));
    case "red":
      return holdfast.getRedLock(...[1, 2, 3].map((at) => holdfast.getLock(`${name}:${at}`)));
  }
}
