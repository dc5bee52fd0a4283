import type { Holdfast, Lock } from "holdfast";
import { within } from "../within.js";
import type { Scene } from "./scene.js";

/** Something that programs do with locks. The check tries it on keys of its own. */
interface Trial {
  readonly what: string;
  run(holdfast: Holdfast, name: string): Promise<void>;
}

/** Long enough for the trial, and short enough that the lock soon ends by itself if the check is killed. */
const LEASE_MS = 10_000;
/** The shortest lease that a watchdog renews. The renewal comes after a third of it. */
const WATCHDOG_MS = 1_000;
const RENEWED_AFTER_MS = 400;
/** A trial sends several commands one after the other, and the library retries each for its `commandTimeoutMs`. */
const TRIAL_WITHIN_MS = 15_000;
const REMOVED_WITHIN_MS = 5_000;
/** If the check is killed, a semaphore ends by itself after this time. So do keys that this user may not delete. */
const COUNT_MS = 60_000;

/** Together the trials run every script of the library, so a missing right makes a trial fail. */
const trials: readonly Trial[] = [
  { what: "a lock", run: (holdfast, name) => takeTwice(holdfast.getLock(name), holdfast) },
  { what: "a renewed lock", run: (holdfast, name) => renew(holdfast.getLock(name)) },
  { what: "a lock with waiters", run: (holdfast, name) => contend(holdfast.getLock(name)) },
  {
    what: "a lock that is kept after its release",
    async run(holdfast, name) {
      const lease = await holdfast.getLock(name).lock({ leaseMs: LEASE_MS });
      await lease.extend(LEASE_MS);
      await lease.unlock({ keepForMs: 1 });
    },
  },
  {
    what: "a lock freed by force",
    async run(holdfast, name) {
      await holdfast.getLock(name).lock({ leaseMs: LEASE_MS });
      await holdfast.forceUnlock(await holdfast.inspect(name));
    },
  },
  { what: "a fair lock", run: (holdfast, name) => contend(holdfast.getFairLock(name)) },
  {
    what: "a fenced lock",
    run: (holdfast, name) => takeTwice(holdfast.getFencedLock(name), holdfast),
  },
  {
    what: "a read lock",
    run: (holdfast, name) => renew(holdfast.getReadWriteLock(name).readLock()),
  },
  {
    what: "a write lock",
    run: (holdfast, name) => renew(holdfast.getReadWriteLock(name).writeLock()),
  },
  { what: "a semaphore", run: useSemaphore },
  { what: "a permit-expirable semaphore", run: usePermits },
  { what: "a count-down latch", run: useLatch },
];

export interface TrialFailure {
  readonly what: string;
  readonly error: string;
}

/** Runs all trials at once. When a trial ends, it deletes each of its keys that this user may delete. */
export async function tryAll(scene: Scene): Promise<readonly TrialFailure[]> {
  const failures = await Promise.all(
    trials.map(async ({ what, run }, at) => {
      const name = trialName(scene.trial, at);
      try {
        await within(TRIAL_WITHIN_MS, run(scene.holdfast, name));
        return [];
      } catch (error) {
        return [{ what, error: error instanceof Error ? error.message : String(error) }];
      } finally {
        await remove(scene, keysOf(scene, name));
      }
    }),
  );
  return failures.flat();
}

/** The number of trials. */
export const trialCount: number = trials.length;

/** Deletes each key by its own command, because in a cluster the keys may be in several slots. Keys that may not be deleted get a TTL. */
export async function remove({ redis }: Pick<Scene, "redis">, keys: readonly string[]): Promise<void> {
  const bounded = (work: Promise<number>) => within(REMOVED_WITHIN_MS, work);
  // The token of a fenced lock has no TTL.
  const endsLater = (key: string) => bounded(redis.pexpire(key, COUNT_MS));
  const removed = (key: string) => bounded(redis.del(key)).catch(() => endsLater(key));
  await Promise.all(keys.map((key) => removed(key).catch(() => 0)));
}

/** All keys that a lock, a semaphore or a latch of this name may have. */
function keysOf({ settings: { prefix }, holdfast }: Scene, name: string): readonly string[] {
  const key = prefix + name;
  const tag = key.includes("{") ? key : `{${key}}`;
  return [
    key,
    `${tag}:timeout`,
    `redisson_lock_token:${tag}`,
    `redisson_lock_queue:${tag}`,
    `redisson_lock_timeout:${tag}`,
    `holdfast_fair_alive:${tag}`,
    `holdfast_waiting:${tag}`,
    `holdfast_waiting_writers:${tag}`,
    `holdfast_rw_writer:${tag}`,
    `holdfast_sc_saved:${tag}`,
    `holdfast_req:${tag}:${holdfast.clientId}`,
  ];
}

function trialName(trial: string, at: number): string {
  return `${trial}:${at}`;
}

async function takeTwice(lock: Lock, holdfast: Holdfast): Promise<void> {
  await holdfast.asThread(async () => {
    const outer = await lock.lock({ leaseMs: LEASE_MS });
    const inner = await lock.lock({ leaseMs: LEASE_MS });
    await inner.unlock();
    await outer.unlock();
  });
}

async function renew(lock: Lock): Promise<void> {
  const lease = await lock.lock({ watchdogMs: WATCHDOG_MS, waitMs: LEASE_MS });
  await new Promise((resolve) => setTimeout(resolve, RENEWED_AFTER_MS));
  await lease.unlock();
}

/** The second call waits, gets the message of the release, and then acquires the lock. */
async function contend(lock: Lock): Promise<void> {
  const first = await lock.lock({ leaseMs: LEASE_MS });
  const second = lock.lock({ leaseMs: LEASE_MS, waitMs: LEASE_MS });
  second.catch(() => undefined);
  await lock.isLocked();
  await first.unlock();
  await (await second).unlock();
}

async function useSemaphore(holdfast: Holdfast, name: string): Promise<void> {
  const semaphore = holdfast.getSemaphore(name);
  await semaphore.trySetPermits(2, { ttlMs: COUNT_MS });
  await semaphore.acquire(1, { waitMs: LEASE_MS });
  await semaphore.release(1);
  await semaphore.addPermits(1);
  await semaphore.drainPermits();
  await semaphore.delete();
}

async function usePermits(holdfast: Holdfast, name: string): Promise<void> {
  const semaphore = holdfast.getPermitExpirableSemaphore(name);
  await semaphore.trySetPermits(2, { ttlMs: COUNT_MS });
  const permits = await semaphore.acquire(1, { leaseMs: LEASE_MS, waitMs: LEASE_MS });
  await semaphore.updateLeaseTime(permits.ids, LEASE_MS);
  await permits.release();
  await semaphore.availablePermits();
  await semaphore.delete();
}

async function useLatch(holdfast: Holdfast, name: string): Promise<void> {
  const latch = holdfast.getCountDownLatch(name);
  await latch.trySetCount(1);
  await latch.countDown();
  await latch.await({ waitMs: LEASE_MS });
  await latch.delete();
}
