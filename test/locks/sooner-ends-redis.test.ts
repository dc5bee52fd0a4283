import { describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import type { Lock } from "../../src/locks/lock.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();
const KEY = "order:7";
const HOUR_MS = 3_600_000;
const SOON_MS = 200;
/** No waiter helps itself: a test in which none is told outlasts its time. */
const PATIENT = { safetyPeriodMs: HOUR_MS };

const keep = (lease: Lease) => lease.unlock({ keepForMs: SOON_MS });
const shorten = (lease: Lease) => lease.extend(SOON_MS);
const plain = (client: Holdfast) => client.getLock(KEY);
const writer = (client: Holdfast) => client.getReadWriteLock(KEY).writeLock();
const reader = (client: Holdfast) => client.getReadWriteLock(KEY).readLock();

/**
 * How the lock ends sooner than its waiters have seen, who has it, and what they want; and how many subscriptions two clients that wait have.
 * For a plain or a write lock each has a channel of its own; the holder does not look into the queue, so that the client of others hears the
 * lock's, too, and behind a reader that of its own as well.
 */
type Way = [
  string,
  (lease: Lease) => Promise<void>,
  (client: Holdfast) => Lock,
  (client: Holdfast) => Lock,
  number,
];

describe("on a real server a lock that ends sooner than its waiters have seen", () => {
  test.each<Way>([
    ["is kept for a moment", keep, plain, plain, 3],
    ["has a shorter lease", shorten, plain, plain, 3],
    ["has a shorter lease, as a write lock that readers wait for", shorten, writer, reader, 2],
    ["has a shorter lease, as a read lock that a writer waits for", shorten, reader, writer, 4],
  ])(
    "is had by waiters of its own client and of another when it ends: it %s [own-97]",
    async (_, end, held, wanted, subscriptions) => {
      const [own, other] = [redis.holdfast(PATIENT), redis.holdfast(PATIENT)];
      const lease = await held(own).lock({ leaseMs: HOUR_MS });
      const visit = (client: Holdfast) => wanted(client).using({ leaseMs: HOUR_MS }, () => client.clientId);
      const visits = [visit(own), visit(other)];
      await until(async () => (await listeners()) === subscriptions);
      await end(lease);
      expect((await Promise.all(visits)).sort()).toEqual([own.clientId, other.clientId].sort());
    },
  );

  async function listeners(): Promise<number> {
    const channels = (await redis.plain.pubsub("CHANNELS", `redisson_*{${KEY}}*`)) as string[];
    const counts = await redis.plain.pubsub("NUMSUB", ...channels);
    return counts.reduce<number>((sum, count, at) => sum + (at % 2 === 1 ? Number(count) : 0), 0);
  }
});
