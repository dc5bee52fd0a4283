import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HoldfastOptions, ReplicaOptions } from "../../src/client-options.js";
import { ServerReplyError, WaitRefusedError } from "../../src/driver/driver.js";
import { events } from "../../src/events.js";
import type { Holdfast } from "../../src/holdfast.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { until } from "../support/run/until.js";
import { commandCounts, resetCounts } from "../support/servers/command-counts.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { locksOnReplicas } from "../support/servers/locks-on-replicas.js";
import { startRedis } from "../support/servers/redis-server.js";

endRecordings();
const NAME = "order:7";
/** How long a broken link is waited for. */
const SHORT_MS = 200;
/** How long a healthy one may take on a machine that is busy. */
const LONG_MS = 1_400;

describe("of two replicas", () => {
  const redis = locksOnReplicas(2);

  /** What lock() comes to with these demands: "held", or how many acknowledged of how many. */
  async function attempt(replicas: ReplicaOptions, timeoutMs: number): Promise<unknown> {
    const lock = redis.holdfast({ replicas: { timeoutMs, ...replicas } }).getLock(NAME);
    try {
      await (await lock.lock()).unlock();
      return "held";
    } catch (error) {
      expect(error).toMatchObject({ code: "ERR_HOLDFAST_NOT_REPLICATED" });
      const { acknowledged, wanted } = error as { acknowledged: number; wanted: number };
      expect(await redis.plain.keys("*")).toEqual([]);
      return `${acknowledged} of ${wanted}`;
    }
  }

  const demands: readonly ReplicaOptions[] = [
    { mode: "require" },
    { mode: "require", min: 2 },
    { mode: "require", min: 3 },
    { mode: "require", min: "majority" },
    { mode: "require", min: "all" },
    { mode: "auto" },
  ];

  async function attempts(timeoutMs = SHORT_MS): Promise<unknown[]> {
    const found: unknown[] = [];
    for (const demand of demands) found.push(await attempt(demand, timeoutMs));
    return found;
  }

  test("both have a lock: as many as are required can be had [wire-S14]", async () => {
    const few = "2 of 3";
    expect(await attempts(LONG_MS)).toEqual(["held", "held", few, "held", "held", "held"]);
  });

  test("one has it whose master still counts both: a majority and all are more [wire-S14]", async () => {
    redis.hold();
    const [two, three] = ["1 of 2", "1 of 3"];
    expect(await attempts()).toEqual(["held", two, three, two, two, "held"]);
  });

  test("one is connected: it is the majority and all, but no two", async () => {
    await redis.cut();
    const [two, three] = ["1 of 2", "1 of 3"];
    expect(await attempts()).toEqual(["held", two, three, "held", "held", "held"]);
  });

  test("none is connected: one at least is required, and none is waited for otherwise", async () => {
    for (const replica of redis.servers.replicas) await redis.cut(replica);
    const one = "0 of 1";
    expect(await attempts()).toEqual([one, "0 of 2", "0 of 3", one, one, "held"]);
  });
});

describe("where replicas are asked but not required", () => {
  const redis = locksOnReplicas();
  const auto = (timeoutMs = SHORT_MS) => redis.holdfast({ replicas: { mode: "auto", timeoutMs } });

  test("too few are an event, and no failure [B30]", async () => {
    const short = recorded(events.replicasShort);
    const lock = auto().getLock(NAME);
    await lock.using(() => undefined);
    expect(short).toEqual([]);
    redis.hold();
    const lease = await lock.lock();
    const server = `redis://127.0.0.1:${redis.servers.master.port}/0`;
    expect(short).toMatchObject([{ server, script: "lock-acquire", acknowledged: 0, wanted: 1 }]);
    expect(await redis.plain.hgetall(NAME)).toEqual({ [lease.holder]: "1" });
    expect(lease.state).toBe("held");
    await lease.unlock();
    expect(short).toHaveLength(2);
  });

  test("a renewal that too few have prolongs the lease", async () => {
    const short = recorded(events.replicasShort);
    const holdfast = redis.holdfast({ watchdogMs: 3_000, replicas: { mode: "auto", timeoutMs: SHORT_MS } });
    const lease = await holdfast.getLock(NAME).lock();
    redis.hold();
    await until(() => lease.remainingMs() < 2_100);
    await until(() => lease.remainingMs() > 2_400);
    expect(short.map(({ script }) => script)).toContain("lock-renew");
    await lease.unlock();
  });

  test("one that is gone is waited for once, and not again until it is back, but told of each time", async () => {
    const short = recorded(events.replicasShort);
    const lock = auto().getLock(NAME);
    await lock.using(() => undefined);
    await redis.cut();
    await lock.using(() => undefined);
    // The acquisition and the release.
    expect(short.map(({ wanted }) => wanted)).toEqual([1, 1]);
    await resetCounts(redis.plain);
    await lock.using(() => undefined);
    expect((await commandCounts(redis.plain))["wait"]).toBeUndefined();
    expect(short.map(({ acknowledged, wanted }) => [acknowledged, wanted])).toEqual(Array(4).fill([0, 1]));
  });
});

/** Ways in which a server refuses WAIT. */
const refusals: readonly (readonly [string, () => Refusing])[] = [
  ["has renamed it", renamed],
  ["does not let this user", forbidden],
];

interface Refusing {
  connect(options: HoldfastOptions): Holdfast;
  readonly server: ReturnType<typeof locksOnRedis>;
}

function renamed(): Refusing {
  const server = locksOnRedis(() => startRedis({ args: ["--rename-command", "WAIT", ""] }));
  return { server, connect: (options) => server.holdfast(options) };
}

function forbidden(): Refusing {
  const server = locksOnRedis();
  const user = { username: "worker", password: "secret" };
  beforeAll(() =>
    server.plain.acl("SETUSER", user.username, "on", `>${user.password}`, "~*", "&*", "+@all", "-wait"),
  );
  afterAll(() => server.plain.acl("DELUSER", user.username));
  return { server, connect: (options) => server.holdfast(options, user) };
}

describe.each(refusals)("a server that refuses WAIT, as it %s,", (_, start) => {
  const { server, connect } = start();

  test("is not asked any more where replicas are not required, which is told once [B31]", async () => {
    const short = recorded(events.replicasShort);
    const holdfast = connect({ replicas: { mode: "auto" } });
    const names = ["a", "b", "c"];
    await Promise.all(names.map((name) => holdfast.getLock(name).using(() => undefined)));
    // Those that come while the first is answered fare no worse.
    const rounds = Array.from({ length: 20 }, async (_, turn) => {
      for (let i = 0; i < turn; i++) await null;
      await holdfast.getLock(`order:${turn}`).using(() => undefined);
    });
    await Promise.all(rounds);
    expect(short).toHaveLength(1);
    expect(short[0]).toMatchObject({ acknowledged: 0, wanted: 0, error: { name: "WaitRefusedError" } });
    expect(short[0]?.error).toBeInstanceOf(WaitRefusedError);
    await resetCounts(server.plain);
    await holdfast.getLock(NAME).using(() => undefined);
    const { wait, evalsha } = await commandCounts(server.plain);
    expect([wait, evalsha]).toEqual([undefined, 2]);
  });

  test("fails each acquisition where replicas are required, and none is sent [B31]", async () => {
    const holdfast = connect({ replicas: { mode: "require" } });
    const arrivals = await server.arrivals();
    const kinds = [
      holdfast.getLock(NAME),
      holdfast.getFairLock(NAME),
      holdfast.getReadWriteLock(NAME).readLock(),
    ];
    for (const lock of [...kinds, ...kinds]) {
      await expect(lock.lock()).rejects.toMatchObject({
        code: "ERR_HOLDFAST_UNAVAILABLE",
        message: expect.stringContaining("replicas are required, but the server refuses WAIT"),
        outcomeUnknown: false,
        cause: expect.any(WaitRefusedError),
      });
    }
    await expect(holdfast.getSemaphore(NAME).acquire()).rejects.toMatchObject({
      code: "ERR_HOLDFAST_UNAVAILABLE",
      cause: { cause: expect.any(ServerReplyError) },
    });
    await server.plain.ping();
    const acquisitions = ["lock-acquire", "fair-acquire", "read-acquire", "semaphore-acquire"] as const;
    expect([arrivals.of("server-probe"), ...acquisitions.map(arrivals.of)]).toEqual([1, 0, 0, 0, 0]);
  });
});

describe("a Redis client that may not ask who replicates", () => {
  const redis = locksOnReplicas();
  const user = { username: "worker", password: "secret" };
  beforeAll(() =>
    redis.plain.acl("SETUSER", user.username, "on", `>${user.password}`, "~*", "&*", "+@all", "-info"),
  );

  test("has replicas acknowledge all the same", async () => {
    const short = recorded(events.replicasShort);
    const options: HoldfastOptions = { replicas: { mode: "require", min: "all", timeoutMs: SHORT_MS } };
    const holdfast = redis.holdfast(options, { ...user, enableReadyCheck: false });
    await holdfast.getLock(NAME).using(() => undefined);
    redis.hold();
    await expect(holdfast.getLock(NAME).lock()).rejects.toMatchObject({ acknowledged: 0, wanted: 1 });
    expect(short.map(({ wanted }) => wanted)).toContain(1);
  });
});
