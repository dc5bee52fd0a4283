import { describe, expect, test } from "vitest";
import type { Lease } from "../../src/lease.js";
import { fencingTokenKey } from "../../src/protocol/names.js";
import { until } from "../support/run/until.js";
import { countedDuring, scriptCalls } from "../support/servers/command-counts.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();
const NAMES = Array.from({ length: 10 }, (_, at) => `order:${at}`);
const MINUTE_MS = 60_000;

/** A client that has met the server, so that it asks for neither its version nor its scripts any more. */
async function acquainted() {
  const holdfast = redis.holdfast();
  await holdfast.getLock("acquaintance").using(() => undefined);
  return holdfast;
}

function calls(body: () => Promise<unknown>): Promise<number> {
  return countedDuring(redis.plain, body).then(scriptCalls);
}

describe("a multi lock of ten locks on one server", () => {
  test("costs one command to take, one to release, and nothing else", async () => {
    const client = await acquainted();
    const lock = client.getMultiLock(...NAMES.map((name) => client.getLock(name)));
    const leases: Lease[] = [];
    const acquired = await countedDuring(redis.plain, async () => leases.push(await lock.lock()));
    expect([scriptCalls(acquired), acquired["hset"]]).toEqual([1, 10]);
    const released = await countedDuring(redis.plain, async () => leases[0]?.unlock());
    expect(released).toEqual({ evalsha: 1, hdel: 10, publish: 10 });
  });

  test("costs one command in tryLock when one of them is held, and takes none", async () => {
    const [client, other] = [await acquainted(), await acquainted()];
    const lease = await other.getLock("order:5").lock();
    const lock = client.getMultiLock(...NAMES.map((name) => client.getLock(name)));
    const counts = await countedDuring(redis.plain, async () => expect(await lock.tryLock()).toBeNull());
    expect(scriptCalls(counts)).toBe(1);
    expect([counts["hset"], counts["publish"], counts["subscribe"]]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(await redis.plain.keys("order:*")).toEqual(["order:5"]);
    await lease.unlock();
  });

  test("costs one command for the fenced and the plain ones, one for the readers, and one for the fair ones", async () => {
    const client = await acquainted();
    const reader = (name: string) => client.getReadWriteLock(name).readLock();
    const lock = client.getMultiLock(
      client.getLock("a"),
      client.getFencedLock("b"),
      client.getSpinLock("c"),
      client.getNonReentrantLock("d"),
      reader("e"),
      reader("f"),
      client.getFairLock("g"),
      client.getFairLock("h"),
    );
    // The scripts are known from here on.
    await lock.using(() => undefined);
    const leases: Lease[] = [];
    expect(await calls(async () => leases.push(await lock.lock({ leaseMs: MINUTE_MS })))).toBe(3);
    await leases[0]?.unlock();
    await redis.plain.del(fencingTokenKey("b"));
  });

  test("waits for messages about one lock only: the one that is held", async () => {
    const [client, other] = [await acquainted(), await acquainted()];
    const lease = await other.getLock("order:3").lock();
    const lock = client.getMultiLock(...NAMES.map((name) => client.getLock(name)));
    const waiting = lock.lock();
    const channels = async () => ((await redis.plain.pubsub("CHANNELS")) as string[]).sort();
    await until(async () => (await channels()).length > 1);
    const channel = "redisson_lock__channel:{order:3}";
    // The holder does not look into the queue, so that the client hears what all hear as well.
    expect(await channels()).toEqual([channel, `${channel}:${client.clientId}`]);
    await lease.unlock();
    await (await waiting).unlock();
  });
});
