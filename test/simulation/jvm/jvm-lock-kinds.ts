import { type Effect, lockEffect } from "./jvm-channels.js";

export type JvmLockKind =
  | "lock"
  | "non-reentrant"
  | "fair"
  | "non-reentrant fair"
  | "spin"
  | "fenced"
  | "read"
  | "write";

/** In what a kind of lock differs: the names of its recorded calls, and how its threads wait. */
export interface KindOfJvmLock {
  readonly acquire: string;
  /** What `tryLock()` sends, which does not queue. Default: as `acquire`. */
  readonly attempt?: string;
  readonly release: string;
  readonly force: string;
  /** What a thread sends that has waited in vain. */
  readonly giveUp?: string;
  readonly isLocked: "is locked" | "is read" | "is written";
  /** The recorded form of the channel; without one, its threads spin. */
  readonly channel?: string;
  readonly effect: Effect;
  /** Each of its waiting threads has a channel of its own. */
  readonly isFair: boolean;
  /** What the field of a holder ends with. */
  readonly ending: "" | ":write";
}

const LOCK_CHANNEL = "redisson_lock__channel:{<name>}";
const RW_CHANNEL = "redisson_rwlock:{<name>}";

const plain: KindOfJvmLock = {
  acquire: "lock acquire",
  release: "lock release",
  force: "lock force",
  isLocked: "is locked",
  channel: LOCK_CHANNEL,
  effect: lockEffect,
  isFair: false,
  ending: "",
};

const fair: KindOfJvmLock = {
  ...plain,
  acquire: "fair acquire",
  attempt: "fair attempt",
  release: "fair release",
  force: "fair force",
  giveUp: "fair give up",
  isFair: true,
};

const spin: KindOfJvmLock = {
  acquire: "spin acquire",
  release: "spin release",
  force: "spin force",
  isLocked: "is locked",
  effect: lockEffect,
  isFair: false,
  ending: "",
};

export const kindsOfJvmLock: Readonly<Record<JvmLockKind, KindOfJvmLock>> = {
  lock: plain,
  "non-reentrant": { ...plain, acquire: "non-reentrant acquire" },
  fair,
  "non-reentrant fair": {
    ...fair,
    acquire: "non-reentrant fair acquire",
    attempt: "non-reentrant fair attempt",
  },
  spin,
  fenced: { ...plain, acquire: "fenced acquire" },
  read: {
    ...plain,
    acquire: "read acquire",
    release: "read release",
    force: "read force",
    isLocked: "is read",
    channel: RW_CHANNEL,
  },
  write: {
    ...plain,
    acquire: "write acquire",
    release: "write release",
    force: "write force",
    isLocked: "is written",
    channel: RW_CHANNEL,
    ending: ":write",
  },
};
