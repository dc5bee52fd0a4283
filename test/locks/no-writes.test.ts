import { afterEach, describe, expect, test } from "vitest";
import { type KindOfLock, lockOfKind } from "../support/programs/kind-of-lock.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();
const NAME = "order:7";
/** Nobody listens here. */
const NO_PORT = 1;

const kinds: readonly KindOfLock[] = [
  ...(["lock", "fair", "spin", "fenced", "read", "write", "fair read", "fair write", "multi"] as const),
];

/** A server that takes no writes for a while, as `min-replicas-to-write` and a failover have it. */
const servers = {
  "lacks replicas": {
    begin: () => redis.plain.config("SET", "min-replicas-to-write", "1"),
    end: () => redis.plain.config("SET", "min-replicas-to-write", "0"),
    code: "NOREPLICAS",
  },
  "is a replica": {
    begin: () => redis.plain.replicaof("127.0.0.1", NO_PORT),
    end: () => redis.plain.replicaof("NO", "ONE"),
    code: "READONLY",
  },
};
afterEach(async () => {
  for (const { end } of Object.values(servers)) await end();
  const tokens = await redis.plain.keys("redisson_lock_token:*");
  if (tokens.length > 0) await redis.plain.del(tokens);
});

describe.each(Object.entries(servers))("while a server %s", (_, { begin, end, code }) => {
  test.each(kinds)(
    "a %s is asked for again and again, and had as soon as there can be [own-9]",
    async (kind) => {
      const told: string[] = [];
      const { holdfast } = redis.connect(
        {},
        {
          reconnectOnError: ({ message }) => {
            told.push(message);
            return false;
          },
        },
      );
      await holdfast.getLock("other").using(() => undefined);
      await begin();
      const locked = lockOfKind(holdfast, kind, NAME).lock();
      // The Redis client hears of it, and may reconnect.
      const refused = until(() => told.some((message) => message.includes(code)));
      await Promise.race([refused, locked]);
      await refused;
      await end();
      const lease = await locked;
      expect(lease.state).toBe("held");
      await lease.unlock();
    },
  );

  test("a call fails when that lasts, and has surely changed nothing", async () => {
    // Of so long a time some 400 ms are left when the last try is sent: a busy machine still answers it in time.
    const holdfast = redis.holdfast({ commandTimeoutMs: 1_000 });
    await holdfast.getLock("other").using(() => undefined);
    await begin();
    const failed = expect(holdfast.getLock(NAME).tryLock()).rejects;
    await failed.toMatchObject({
      code: "ERR_HOLDFAST_UNAVAILABLE",
      outcomeUnknown: false,
      message: expect.stringContaining(code),
    });
  });
});
