import type { JvmUser } from "../support/jvm/lock-user.js";
import type { RedissonKind, RedissonSynchronizerName } from "../support/jvm/redisson.js";

/** Threads of a JVM; the last two have a client of their own, whose watchdog beats fast. */
export type ScriptUsers = Readonly<Record<"a" | "b" | "watched" | "colleague", JvmUser>>;

/** Something to do with Redisson, and the names of what it sends that was not recorded before. */
export interface ScriptOrder {
  readonly records: readonly string[];
  play(users: ScriptUsers): Promise<unknown>;
  /** What the numbers in the calls stand for, where nothing else is. */
  readonly numbers?: Readonly<Record<string, number>>;
  /** The first release of Redisson that has the operation. Default: all that are recorded. */
  readonly since?: string;
  /** All keys are deleted before. */
  readonly clears?: boolean;
}

export const NAME = "order:7";
export const WATCHDOG_MS = 600;
const LEASE_MS = 71_234;
const WAIT_MS = 212;
const PERMITS = 3;
const TTL_MS = 81_357;

/** Numbers that stand for themselves in no call. */
export const NUMBERS: Readonly<Record<string, number>> = {
  leaseMs: LEASE_MS,
  waitMs: WAIT_MS,
  permits: PERMITS,
  ttlMs: TTL_MS,
};

/** Once for each kind of lock: an acquisition with a lease, and a release of it. */
const restores = { restoreMs: LEASE_MS };
const waits = { waitMs: WAIT_MS, leaseMs: LEASE_MS };
const NON_REENTRANT = "4.4.0";

const on = (kind: RedissonKind) => ({ kind, name: NAME });
const semaphore: RedissonSynchronizerName = { kind: "semaphore", name: NAME };
const permits: RedissonSynchronizerName = { kind: "permit-expirable-semaphore", name: NAME };
const latch: RedissonSynchronizerName = { kind: "count-down-latch", name: NAME };

const acquire = (
  kind: RedissonKind,
  records: readonly string[],
  more: Partial<ScriptOrder> = {},
): ScriptOrder => ({
  records,
  play: ({ a }) => a.lock(on(kind), LEASE_MS),
  ...more,
});
const release = (
  kind: RedissonKind,
  records: readonly string[],
  more: Partial<ScriptOrder> = {},
): ScriptOrder => ({
  records,
  play: ({ a }) => a.unlock(on(kind)),
  numbers: restores,
  ...more,
});
const force = (kind: RedissonKind, records: readonly string[]): ScriptOrder => ({
  records,
  play: ({ b }) => b.forceUnlock(on(kind)),
});
const call = (
  target: RedissonSynchronizerName,
  records: readonly string[],
  method: string,
  options: object = {},
  more: Partial<ScriptOrder> = {},
): ScriptOrder => ({
  records,
  play: ({ a }) => a.thread.call(target, method, { permits: PERMITS, ...options }),
  ...more,
});

const lockOrders: readonly ScriptOrder[] = [
  acquire("lock", ["lock acquire"]),
  { records: ["is locked"], play: ({ b }) => b.isLocked(on("lock")) },
  { records: ["is held"], play: ({ a }) => a.isHeld(on("lock")) },
  { records: ["hold count"], play: ({ a }) => a.holdCount(on("lock")) },
  { records: ["time to live"], play: ({ a }) => a.ttlMs(on("lock")) },
  release("lock", ["lock release", "latch away"]),
  force("lock", ["lock force"]),
  {
    records: ["lock renew"],
    play: ({ watched }) => watched.lock(on("lock")),
    numbers: { watchdogMs: WATCHDOG_MS },
    clears: true,
  },
  acquire("non-reentrant", ["non-reentrant acquire"], { since: NON_REENTRANT, clears: true }),
  acquire("fair", ["fair acquire"], { numbers: { waitMs: 300_000 }, clears: true }),
  {
    records: ["fair attempt"],
    play: ({ b }) => b.tryLock(on("fair")),
    numbers: { leaseMs: 30_000, waitMs: 300_000 },
  },
  { records: ["fair give up"], play: ({ b }) => b.tryLock(on("fair"), waits) },
  release("fair", ["fair release"]),
  force("fair", ["fair force"]),
  acquire("non-reentrant fair", ["non-reentrant fair acquire"], {
    numbers: { waitMs: 300_000 },
    since: NON_REENTRANT,
    clears: true,
  }),
  {
    records: ["non-reentrant fair attempt"],
    play: ({ b }) => b.tryLock(on("non-reentrant fair")),
    numbers: { leaseMs: 30_000, waitMs: 300_000 },
    since: NON_REENTRANT,
  },
  acquire("spin", ["spin acquire"], { clears: true }),
  release("spin", ["spin release"]),
  force("spin", ["spin force"]),
  acquire("fenced", ["fenced acquire", "fencing token"], { clears: true }),
  {
    records: ["fenced acquire for token"],
    play: ({ a }) => a.thread.call(on("fenced"), "lockAndGetToken", { leaseMs: LEASE_MS }),
  },
];

const readWriteOrders: readonly ScriptOrder[] = [
  acquire("read", ["read acquire"], { clears: true }),
  { records: ["is read"], play: ({ b }) => b.isLocked(on("read")) },
  release("read", ["read release"]),
  force("read", ["read force"]),
  {
    records: ["read renew"],
    async play({ watched, colleague }) {
      await watched.lock(on("read"));
      await colleague.lock(on("read"));
    },
    numbers: { watchdogMs: WATCHDOG_MS, holderCount: 2 },
    clears: true,
  },
  acquire("write", ["write acquire"], { clears: true }),
  { records: ["is written"], play: ({ b }) => b.isLocked(on("write")) },
  release("write", ["write release"]),
  force("write", ["write force"]),
];

const synchronizerOrders: readonly ScriptOrder[] = [
  call(semaphore, ["semaphore set"], "trySetPermits", {}, { clears: true }),
  call(semaphore, ["semaphore set with end"], "trySetPermits", { ttlMs: TTL_MS }, { since: "3.29.0" }),
  call(semaphore, ["semaphore acquire"], "tryAcquire"),
  call(semaphore, ["semaphore release"], "release"),
  call(semaphore, ["semaphore release if exists"], "releaseIfExists", {}, { since: "4.0.0" }),
  call(semaphore, ["semaphore add"], "addPermits"),
  call(semaphore, ["semaphore drain"], "drainPermits"),
  call(semaphore, ["count"], "availablePermits"),
  call(semaphore, ["semaphore delete"], "delete"),
  call(permits, [], "trySetPermits", {}, { clears: true }),
  call(permits, ["permits acquire"], "tryAcquire", { leaseMs: LEASE_MS }),
  call(permits, ["permits available"], "availablePermits"),
  call(permits, ["permits acquired"], "acquiredPermits"),
  call(permits, ["permits total"], "getPermits"),
  call(permits, ["permits set total"], "setPermits"),
  call(permits, ["permits add"], "addPermits"),
  {
    records: ["permit update lease"],
    play: ({ a }) =>
      a.thread.call(permits, "updateLeaseTime", { permitId: "8".repeat(32), leaseMs: LEASE_MS }),
  },
  {
    records: ["permit lease"],
    play: ({ a }) => settled(a.thread.call(permits, "getLeaseTime", { permitId: "8".repeat(32) })),
    since: "3.41.0",
  },
  {
    records: ["permit release"],
    play: ({ a }) => a.thread.call(permits, "tryRelease", { permitId: "8".repeat(32) }),
  },
  {
    records: ["permits release"],
    play: ({ a }) =>
      a.thread.call(permits, "tryRelease", { permitIds: ["8", "9", "a"].map((digit) => digit.repeat(32)) }),
  },
  call(permits, ["permits delete"], "delete"),
  call(latch, ["latch set"], "trySetCount", { count: 9 }, { numbers: { count: 9 }, clears: true }),
  call(latch, ["latch count down"], "countDown"),
  call(latch, ["latch delete"], "delete"),
];

/** Played one after the other. */
export const scriptOrders: readonly ScriptOrder[] = [
  ...lockOrders,
  ...readWriteOrders,
  ...synchronizerOrders,
];

/** A question about what is not there is refused, when it has been asked. */
async function settled(asked: Promise<unknown>): Promise<void> {
  await Promise.allSettled([asked]);
}
