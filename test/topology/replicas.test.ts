import type { Redis } from "ioredis";
import { afterEach, describe, expect, test } from "vitest";
import type { HoldfastOptions } from "../../src/client-options.js";
import { events } from "../../src/events.js";
import type { Holdfast } from "../../src/holdfast.js";
import { type KindOfLock, lockOfKind } from "../support/programs/kind-of-lock.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { until } from "../support/run/until.js";
import { locksOnReplicas } from "../support/servers/locks-on-replicas.js";
import { isRequestKey } from "../support/servers/request-keys.js";

const redis = locksOnReplicas();
endRecordings();
afterEach(async () => {
  const counters = (await redis.plain.keys("*")).filter(isTokenKey);
  if (counters.length > 0) await redis.plain.del(counters);
});

const NAME = "order:7";
/** How long a broken link is waited for. */
const SHORT_MS = 150;
const HOUR_MS = 3_600_000;

const kinds: readonly KindOfLock[] = [
  ...(["lock", "non-reentrant", "fair", "non-reentrant fair", "spin", "fenced"] as const),
  ...(["read", "write", "fair read", "fair write", "multi"] as const),
];
const reentrant = kinds.filter((kind) => !kind.startsWith("non-reentrant"));
/** A multi lock is several locks, and takes back behind the scenes. */
const singles = kinds.filter((kind) => kind !== "multi");

/** A client that wants the replica to have everything. */
function demanding(options: HoldfastOptions = {}, timeoutMs = 1_400) {
  const replicas = { mode: "require", timeoutMs } as const;
  return redis.holdfast({ replicas, commandTimeoutMs: 5_000, safetyPeriodMs: HOUR_MS, ...options });
}

/** The same, which waits for a broken link not for long. */
function hasty(options: HoldfastOptions = {}) {
  return demanding(options, SHORT_MS);
}

/** All that a server has, but what clients remember of their requests and the counters of tokens. */
async function stored(server: Redis): Promise<Record<string, string>> {
  const names = (await server.keys("*")).filter((name) => !isRequestKey(name) && !isTokenKey(name));
  const dumps = names.sort().map(async (name) => [name, (await server.dumpBuffer(name)).toString("base64")]);
  return Object.fromEntries(await Promise.all(dumps)) as Record<string, string>;
}

function isTokenKey(name: string): boolean {
  return name.startsWith("redisson_lock_token:");
}

/** What the replica has at this moment, which is to be all that the master has. */
async function replicated(): Promise<readonly string[]> {
  const [copy] = redis.copies;
  if (copy === undefined) throw new Error("there is no replica");
  const there = await stored(copy);
  expect(there).toEqual(await stored(redis.plain));
  return Object.keys(there);
}

describe("with replicas required, and one that acknowledges, it has what was answered at that moment", () => {
  test.each(kinds)("a lock of the kind %s, from its lock() to its release", async (kind) => {
    const lock = lockOfKind(demanding(), kind, NAME);
    const lease = await lock.lock();
    expect(await replicated()).not.toEqual([]);
    await lease.unlock();
    expect(await replicated()).toEqual([]);
  });

  test.each(reentrant)("a lock of the kind %s that is entered again", async (kind) => {
    const lock = lockOfKind(demanding(), kind, NAME);
    const outer = await lock.lock();
    const first = await stored(redis.plain);
    const inner = await outer.run(() => lock.lock());
    expect(await stored(redis.plain)).not.toEqual(first);
    await replicated();
    await inner.unlock();
    await replicated();
    await outer.unlock();
    expect(await replicated()).toEqual([]);
  });

  test("a lock that is renewed", async () => {
    const [copy] = redis.copies;
    const lease = await demanding({ watchdogMs: 3_000 }).getLock(NAME).lock();
    let ttlMs = Number.POSITIVE_INFINITY;
    await until(async () => {
      const beforeMs = ttlMs;
      ttlMs = Number(await copy?.pttl(NAME));
      return ttlMs > beforeMs;
    });
    expect(ttlMs).toBeGreaterThanOrEqual(lease.remainingMs());
    await lease.unlock();
  });

  test("a semaphore and its permits", async () => {
    const semaphore = demanding().getSemaphore(NAME);
    await semaphore.trySetPermits(3);
    await semaphore.acquire(2);
    expect(await redis.copies[0]?.get(NAME)).toBe("1");
    await semaphore.release(2);
    expect(await redis.copies[0]?.get(NAME)).toBe("3");
    await semaphore.delete();
  });

  test("leased permits", async () => {
    const semaphore = demanding().getPermitExpirableSemaphore(NAME);
    await semaphore.trySetPermits(3);
    const permits = await semaphore.acquire(2);
    await replicated();
    await permits.release();
    await replicated();
    await semaphore.delete();
    expect(await replicated()).toEqual([]);
  });
});

/** The ways in which a replica does not have in time what the master writes. */
const breaks: readonly (readonly [string, () => unknown])[] = [
  ["link is cut", () => redis.cut()],
  ["link carries nothing", () => redis.hold()],
  ["process stands still", () => redis.freeze()],
];

/** A client whose writes the replica has acknowledged so far. */
async function acquainted(options: HoldfastOptions = {}) {
  const holdfast = hasty(options);
  await holdfast.getLock("acquaintance").using(() => undefined);
  return holdfast;
}

const notReplicated = { name: "NotReplicatedError", code: "ERR_HOLDFAST_NOT_REPLICATED" };
const byNobody = { ...notReplicated, acknowledged: 0, wanted: 1 };

/** A lock of each kind; a multi lock is several. */
function locksOf(holdfast: Holdfast, which: readonly KindOfLock[]) {
  return which.map((kind, at) => {
    const name = `order:${10 + at}`;
    return { kind, name, lock: lockOfKind(holdfast, kind, name) };
  });
}

describe.each(breaks)(
  "with replicas required, and an only one that had all earlier writes, whose %s,",
  (_, hurt) => {
    test("lock() of each kind fails, and no key is left when it has [B30]", async () => {
      const locks = locksOf(await acquainted(), singles);
      await hurt();
      for (const verb of ["lock", "tryLock"] as const) {
        const found = locks.map(async ({ kind, lock, name }) => {
          const error = await lock[verb]().catch((error: unknown) => error);
          const keys = (await redis.plain.keys(`*${name}*`)).filter((key) => !isTokenKey(key));
          return { kind, error, keys };
        });
        expect(await Promise.all(found)).toMatchObject(
          locks.map(({ kind, name }) => ({ kind, error: { ...byNobody, lockName: name }, keys: [] })),
        );
      }
      await redis.mend();
      await Promise.all(locks.map(({ lock }) => lock.using(() => undefined)));
      expect(await replicated()).toEqual([]);
    });

    test("entering a lock of each kind again fails, and its hold is as it was before", async () => {
      const locks = locksOf(await acquainted(), reentrant);
      const outer = await Promise.all(locks.map(async (one) => ({ ...one, lease: await one.lock.lock() })));
      const before = await stored(redis.plain);
      await hurt();
      const again = outer.map(async ({ kind, lock, lease }) => {
        const error = await lease.run(() => lock.lock()).catch((error: unknown) => error);
        return { kind, error };
      });
      expect(await Promise.all(again)).toMatchObject(
        locks.map(({ kind }) => ({ kind, error: notReplicated })),
      );
      expect(outer.filter(({ lease }) => lease.state !== "held" || lease.holdCount !== 1)).toEqual([]);
      // Several locks that were taken together are given back behind the scenes.
      await until(async () => JSON.stringify(await stored(redis.plain)) === JSON.stringify(before));
      await redis.mend();
      for (const { lock, lease } of outer) {
        await lease.run(() => lock.using((inner) => expect(inner.holdCount).toBe(2)));
        await lease.unlock();
      }
      expect(await replicated()).toEqual([]);
    });

    test("permits that were acquired are given back [B30]", async () => {
      const holdfast = await acquainted();
      const [plain, leased] = [holdfast.getSemaphore(NAME), holdfast.getPermitExpirableSemaphore("order:8")];
      await plain.trySetPermits(3);
      await leased.trySetPermits(3);
      await hurt();
      await expect(plain.acquire(2)).rejects.toMatchObject({ ...byNobody, lockName: NAME });
      expect(await plain.availablePermits()).toBe(3);
      await expect(leased.tryAcquire(2)).rejects.toMatchObject({ ...byNobody, lockName: "order:8" });
      expect(await leased.acquiredPermits()).toBe(0);
      await redis.mend();
      await Promise.all([plain.delete(), leased.delete()]);
    });

    test("what another has is refused, nothing of it is given back, and no permit is invented [wire-S10]", async () => {
      const holdfast = await acquainted();
      const semaphore = holdfast.getSemaphore("order:8");
      await semaphore.trySetPermits(1);
      const other = await redis
        .holdfast({ replicas: { mode: "off" } })
        .getLock(NAME)
        .lock();
      await hurt();
      // From here on WAIT falls short whatever this client asks for.
      await expect(holdfast.getLock("order:9").lock()).rejects.toMatchObject(byNobody);
      const before = await stored(redis.plain);
      expect(await holdfast.getLock(NAME).tryLock()).toBeNull();
      expect(await semaphore.tryAcquire(2)).toBe(false);
      expect(await stored(redis.plain)).toEqual(before);
      expect(other.state).toBe("held");
      await other.unlock();
      await semaphore.delete();
    });
  },
);

describe("with replicas required, and an only one whose link carries nothing,", () => {
  test("one who waits fails when it is its turn, and leaves no key", async () => {
    const holdfast = await acquainted();
    const lease = await redis
      .holdfast({ replicas: { mode: "off" } })
      .getLock(NAME)
      .lock();
    const waiting = holdfast.getLock(NAME).lock();
    await until(async () => (await redis.plain.pubsub("CHANNELS")).length === 1);
    redis.hold();
    await lease.unlock();
    await expect(waiting).rejects.toMatchObject(byNobody);
    expect(await stored(redis.plain)).toEqual({});
  });

  test("one who waits for what another has goes on waiting, as long as was asked for", async () => {
    const holdfast = await acquainted();
    const lease = await redis
      .holdfast({ replicas: { mode: "off" } })
      .getLock(NAME)
      .lock();
    redis.hold();
    await expect(holdfast.getLock(NAME).lock({ waitMs: 2 * SHORT_MS })).rejects.toMatchObject({
      code: "ERR_HOLDFAST_WAIT_TIMEOUT",
    });
    await lease.unlock();
  });

  test("several locks that are taken together are all given back", async () => {
    const holdfast = await acquainted();
    redis.hold();
    const both = holdfast.getMultiLock(holdfast.getLock("order:8"), holdfast.getLock("order:9"));
    await expect(both.lock()).rejects.toMatchObject({ ...byNobody, lockName: "order:8, order:9" });
    await until(async () => Object.keys(await stored(redis.plain)).length === 0);
  });

  test("a lock that is renewed is lost when its time is over, though the master has it", async () => {
    const failed = recorded(events.renewalFailed);
    const lease = await (await acquainted({ watchdogMs: 1_500 })).getLock(NAME).lock();
    redis.hold();
    const lost = new Promise((resolve) => lease.signal.addEventListener("abort", resolve));
    await lost;
    expect(await redis.plain.hgetall(NAME)).toEqual({ [lease.holder]: "1" });
    expect([lease.state, lease.signal.reason]).toMatchObject(["lost", { code: "ERR_HOLDFAST_LEASE_LOST" }]);
    const why = "0 of 1 required replicas acknowledged the renewal in time";
    expect(failed.map(({ error }) => (error instanceof Error ? error.message : ""))).toContain(why);
    await redis.mend();
    await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
    await until(async () => (await redis.plain.exists(NAME)) === 0);
  });
});
