import type { Lock } from "../../../src/locks/lock.js";
import type { Member } from "./member.js";

/** The kinds of lock; all but red ones have one server. */
export const LOCK_KINDS = [
  "lock",
  "fair",
  "read-write",
  "non-reentrant",
  "fenced",
  "spin",
  "non-reentrant fair",
  "fair read-write",
  "multi",
  "red",
] as const;

export type LockKindName = (typeof LOCK_KINDS)[number];

/** A lock that tasks fight for. */
export interface LockName {
  readonly kind: LockKindName;
  readonly name: string;
}

/** What a task calls: a lock, with what is known about it. */
export interface Door {
  readonly kind: LockKindName;
  readonly name: string;
  readonly lock: Lock;
  /** What it excludes others from. */
  readonly members: readonly string[];
  readonly mode: "exclusive" | "shared";
  readonly isReentrant: boolean;
}

/** The locks of a multi lock. */
export function membersOf(name: string): readonly [string, string] {
  return [`${name}.a`, `${name}.b`];
}

/** @param half which lock of a pair */
export function openDoor(
  { holdfast, clients }: Pick<Member, "holdfast" | "clients">,
  { kind, name }: LockName,
  half: "read" | "write",
): Door {
  const door = (lock: Lock, isReentrant = true, mode: Door["mode"] = "exclusive"): Door => ({
    kind,
    name,
    lock,
    members: [name],
    mode,
    isReentrant,
  });
  switch (kind) {
    case "lock":
      return door(holdfast.getLock(name));
    case "fair":
      return door(holdfast.getFairLock(name));
    case "read-write":
    case "fair read-write": {
      const pair = holdfast.getReadWriteLock(name, { fair: kind === "fair read-write" });
      return half === "read" ? door(pair.readLock(), true, "shared") : door(pair.writeLock());
    }
    case "non-reentrant":
      return door(holdfast.getNonReentrantLock(name), false);
    case "fenced":
      return door(holdfast.getFencedLock(name));
    case "spin":
      return door(holdfast.getSpinLock(name));
    case "non-reentrant fair":
      return door(holdfast.getNonReentrantFairLock(name), false);
    case "multi": {
      const members = membersOf(name);
      const locks = members.map((member) => holdfast.getLock(member));
      return {
        kind,
        name,
        lock: holdfast.getMultiLock(...locks),
        members,
        mode: "exclusive",
        isReentrant: true,
      };
    }
    case "red":
      return door(holdfast.getRedLock(...clients.map((client) => client.getLock(name))));
    default:
      return kind satisfies never;
  }
}
