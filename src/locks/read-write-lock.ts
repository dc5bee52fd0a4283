import type { LockRecord } from "../protocol/inspect-scripts.js";
import { MODE_FIELD, rwChannel, WRITE_ENDING } from "../protocol/names.js";
import {
  MARK_MS,
  readAcquire,
  readRelease,
  writeAcquire,
  writeRelease,
} from "../protocol/read-write-scripts.js";
import { leaveQueue } from "./leave-queue.js";
import type { Lock } from "./lock.js";
import type { LockKind } from "./lock-kind.js";
import { WaitInLine } from "./wait-in-line.js";

/**
 * Admits many readers or one writer. The writer may also read, and continue to read after it has released the write lock. Source:
 * Redisson's RReadWriteLock.
 */
export interface ReadWriteLock {
  readonly name: string;
  /** @example const page = await catalog.readLock().using(load); */
  readLock(): Lock;
  /**
   * Acquiring it while holding only the read lock rejects with UpgradeNotSupportedError.
   * @example await catalog.writeLock().using(() => save(changes));
   */
  writeLock(): Lock;
}

/** How often a waiting writer renews its mark within the mark's lifetime: two renewals may be lost. */
const SIGNS_PER_MARK = 3;

function readKind(fair: boolean): LockKind {
  return {
    name: "read-lock",
    acquire: readAcquire(fair),
    release: readRelease,
    keep: undefined,
    channel: rwChannel,
    fieldEnding: "",
    half: "read",
    reentrant: true,
    fenced: false,
    shared: true,
    recordsWaiters: false,
    queues: false,
    handsOver: false,
    wait: (part) => new WaitInLine(part),
    isHeld: ({ fields }) => Object.keys(fields).some((field) => isReader(field, fields)),
    // The writer's own read holds are freed with its write lock.
    isForceable: ({ fields }) => fields[MODE_FIELD] === "read",
  };
}

function writeKind(fair: boolean): LockKind {
  return {
    ...readKind(fair),
    name: "write-lock",
    acquire: writeAcquire(fair),
    release: writeRelease,
    fieldEnding: WRITE_ENDING,
    half: "write",
    shared: false,
    recordsWaiters: fair,
    queues: true,
    leaveQueue,
    ...(fair ? { asksEachMs: MARK_MS / SIGNS_PER_MARK } : {}),
    isHeld: ({ fields }) => fields[MODE_FIELD] === "write",
    isForceable: ({ fields }) => fields[MODE_FIELD] === "write",
  };
}

/** A hash without a mode belongs to another kind of lock. */
function isReader(field: string, fields: LockRecord["fields"]): boolean {
  return fields[MODE_FIELD] !== undefined && field !== MODE_FIELD && !field.endsWith(WRITE_ENDING);
}

interface Pair {
  readonly read: LockKind;
  readonly write: LockKind;
}

const plainPair: Pair = { read: readKind(false), write: writeKind(false) };
const fairPair: Pair = { read: readKind(true), write: writeKind(true) };

export function readWriteKinds(fair: boolean): Pair {
  return fair ? fairPair : plainPair;
}
