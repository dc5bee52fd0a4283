import { beforeEach, describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import { journalArgs, type KeyJournal, keepJournal } from "../support/key-journal.js";
import { locksOnRedis } from "../support/locks-on-redis.js";
import { cut, cutBeforeForward, dropNextReply } from "../support/proxy-faults.js";
import type { ClientOptions } from "../support/redis-server.js";
import type { Fault, TcpProxy } from "../support/tcp-proxy.js";
import { until } from "../support/until.js";

const redis = locksOnRedis({ args: journalArgs });
const HOUR_MS = 3_600_000;

let proxy: TcpProxy;
let journal: KeyJournal;
beforeEach(async () => {
  proxy = await redis.proxy();
  journal = await keepJournal(redis.server);
});

/** Closing a client waits for clean-up until no copy of a command can arrive any more. */
const commandTimeoutMs = 2_000;

function behindProxy(connection: ClientOptions = {}): Holdfast {
  return redis.holdfast({ watchdogMs: 4_500, commandTimeoutMs }, { port: proxy.port, ...connection });
}

/** A connection that breaks: the server has done what the lost reply told of, or has never seen the request. */
interface Loss {
  readonly loss: string;
  fault(on: string): Fault;
}

const losses: readonly Loss[] = [
  { loss: "the reply is lost", fault: (on) => dropNextReply({ on }) },
  { loss: "the request is lost", fault: (on) => cutBeforeForward({ on }) },
];

/** Loses the next command about a lock while the work is under way. */
async function losing<T>(name: string, { fault }: Loss, work: () => Promise<T>): Promise<T> {
  const { struck } = proxy.inject(fault(name));
  const [result] = await Promise.all([work(), struck]);
  return result;
}

async function freed(lease: Lease): Promise<void> {
  await lease.unlock();
  expect(await redis.plain.exists(lease.name)).toBe(0);
}

async function acquisitionCountsOnce(holdfast: Holdfast, name: string, loss: Loss): Promise<void> {
  const lease = await losing(name, loss, () => holdfast.getLock(name).lock({ leaseMs: HOUR_MS }));
  expect(await redis.plain.hgetall(name)).toEqual({ [lease.holder]: "1" });
  expect(lease.state).toBe("held");
  await freed(lease);
}

async function entryCountsOnce(holdfast: Holdfast, name: string, loss: Loss): Promise<void> {
  const lock = holdfast.getLock(name);
  const outer = await lock.lock({ leaseMs: HOUR_MS });
  const { threadId } = outer;
  const inner = await losing(name, loss, () => lock.lock({ leaseMs: HOUR_MS, threadId }));
  expect(await redis.plain.hgetall(name)).toEqual({ [outer.holder]: "2" });
  await inner.unlock();
  expect(await redis.plain.hgetall(name)).toEqual({ [outer.holder]: "1" });
  await freed(outer);
}

async function releaseIsDoneOnce(holdfast: Holdfast, name: string, loss: Loss): Promise<void> {
  const lease = await holdfast.getLock(name).lock({ leaseMs: HOUR_MS });
  await journal.read();
  await losing(name, loss, () => lease.unlock());
  expect(lease.state).toBe("released");
  expect(await journal.read()).toEqual([
    `hdel ${name}`,
    `del ${name}`,
    `0 -> redisson_lock__channel:{${name}}`,
  ]);
}

async function partialReleaseIsDoneOnce(holdfast: Holdfast, name: string, loss: Loss): Promise<void> {
  const lock = holdfast.getLock(name);
  const outer = await lock.lock({ leaseMs: HOUR_MS });
  const inner = await lock.lock({ leaseMs: HOUR_MS, threadId: outer.threadId });
  await losing(name, loss, () => inner.unlock());
  expect(await redis.plain.hgetall(name)).toEqual({ [outer.holder]: "1" });
  expect(outer.state).toBe("held");
  await freed(outer);
}

async function renewalIsMadeUpFor(holdfast: Holdfast, name: string, loss: Loss): Promise<void> {
  const lease = await holdfast.getLock(name).lock();
  const { signal } = lease;
  const fields = await redis.plain.hgetall(name);
  await journal.read();
  await losing(name, loss, async () => undefined);
  const leftMs = lease.remainingMs();
  await until(() => lease.remainingMs() > leftMs || signal.aborted);
  expect([lease.state, signal.aborted]).toEqual(["held", false]);
  expect(await redis.plain.hgetall(name)).toEqual(fields);
  expect(new Set(await journal.read())).toEqual(new Set([`expire ${name}`]));
  await freed(lease);
}

describe.each(losses)("when $loss and the connection breaks", (loss) => {
  test(`an acquisition counts once (${loss.loss}) [B15] [wire-S1]`, () =>
    acquisitionCountsOnce(behindProxy(), "order:7", loss));

  test(`an entry once more counts once (${loss.loss})`, () =>
    entryCountsOnce(behindProxy(), "order:7", loss));

  test(`a release is done once and succeeds (${loss.loss}) [B14] [R30]`, () =>
    releaseIsDoneOnce(behindProxy(), "order:7", loss));

  test(`a partial release is done once and succeeds (${loss.loss})`, () =>
    partialReleaseIsDoneOnce(behindProxy(), "order:7", loss));

  test(`a renewal is made up for before the lease ends (${loss.loss})`, () =>
    renewalIsMadeUpFor(behindProxy(), "order:7", loss));
});

/** What users of ioredis choose. Some clients resend by themselves, some tell of each broken connection at once. */
const clients: readonly (readonly [client: string, connection: ClientOptions])[] = [
  ["maxRetriesPerRequest 0", { maxRetriesPerRequest: 0 }],
  ["maxRetriesPerRequest 1", { maxRetriesPerRequest: 1 }],
  ["maxRetriesPerRequest null", { maxRetriesPerRequest: null }],
  ["no resending", { autoResendUnfulfilledCommands: false }],
  ["no offline queue", { enableOfflineQueue: false }],
  ["no queue, no retries, no resending", failFast()],
  ["a command timeout of its own", { commandTimeout: 400 }],
  ["automatic pipelines", { enableAutoPipelining: true }],
  ["RESP2", { protocol: 2 }],
];

function failFast(): ClientOptions {
  return { enableOfflineQueue: false, maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false };
}

describe("whatever the options of the Redis client", () => {
  test.each(clients)(
    "a lost reply or request has its effect once and nobody notices: %s",
    async (_, connection) => {
      const holdfast = behindProxy(connection);
      await connected(holdfast);
      for (const [i, loss] of losses.entries()) {
        await acquisitionCountsOnce(holdfast, `acquisition:${i}`, loss);
        await connected(holdfast);
        await entryCountsOnce(holdfast, `entry:${i}`, loss);
        await connected(holdfast);
        await releaseIsDoneOnce(holdfast, `release:${i}`, loss);
        await connected(holdfast);
        await partialReleaseIsDoneOnce(holdfast, `partial:${i}`, loss);
        await connected(holdfast);
        await renewalIsMadeUpFor(holdfast, `renewal:${i}`, loss);
        await connected(holdfast);
      }
    },
  );

  /** A client without a queue refuses commands while it has no connection. */
  async function connected(holdfast: Holdfast): Promise<void> {
    const isThere = () => holdfast.getLock("acquaintance").isLocked();
    await until(() =>
      isThere().then(
        () => true,
        () => false,
      ),
    );
  }
});

describe("a release that finds nothing", () => {
  test("is refused when nobody has resent it: the lock was gone [R30]", async () => {
    const lease = await behindProxy().getLock("order:7").lock({ leaseMs: HOUR_MS });
    await redis.plain.del("order:7");
    await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
    expect(lease.state).toBe("lost");
  });

  test("is refused after an earlier reset, too, for that was not about the release [R30]", async () => {
    const lock = behindProxy().getLock("order:7");
    const lease = await lock.lock({ leaseMs: HOUR_MS });
    await proxy.inject(cut()).struck;
    expect(await lock.isLocked()).toBe(true);
    await redis.plain.del("order:7");
    await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
  });

  test("is refused when somebody else has the lock, and leaves that alone [B36]", async () => {
    const lease = await behindProxy().getLock("order:7").lock({ leaseMs: HOUR_MS });
    await redis.plain.del("order:7");
    const next = await redis.holdfast().getLock("order:7").lock({ leaseMs: HOUR_MS });
    await journal.read();
    await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
    expect(await journal.read()).toEqual([]);
    expect(await redis.plain.hgetall("order:7")).toEqual({ [next.holder]: "1" });
    await next.unlock();
  });
});
