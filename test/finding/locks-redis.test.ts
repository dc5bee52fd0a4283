import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FindLocksOptions, UnavailableError } from "../../src/index.js";
import { FakeClock } from "../../src/memory/index.js";
import { until } from "../support/run/until.js";
import { watched } from "../support/run/watched.js";
import { documentedUser, knownRights } from "../support/servers/documented-rights.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { ServerMonitor } from "../support/servers/server-monitor.js";
import { JVM, listed } from "../support/worlds/listed.js";

const redis = locksOnRedis();
const HOUR_MS = 3_600_000;
const OTHER = "2f1c9d1e-6f0a-1c6e-9d8e-0123456789ab";

let monitor: ServerMonitor;
beforeEach(async () => {
  monitor = await ServerMonitor.open(redis.server);
});
afterEach(() => monitor.close());

/** The names of all commands that were sent, those that scripts have called among them. */
async function callsOf(act: () => Promise<unknown>): Promise<Readonly<Record<string, number>>> {
  await redis.plain.config("RESETSTAT");
  await act();
  const stats = await redis.plain.info("commandstats");
  return Object.fromEntries(
    [...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, name = "", calls]) => [
      name,
      Number(calls),
    ]),
  );
}

/** A lock as a JVM stores it. */
async function store(key: string, ...fields: readonly string[]): Promise<void> {
  for (const field of fields) await redis.plain.hset(key, field, field === "mode" ? "write" : "1");
  await redis.plain.pexpire(key, HOUR_MS);
}

describe("locks() on a real server", () => {
  test("lists what Node and JVMs hold and wait for, and sends neither SCAN nor KEYS unless asked", async () => {
    const clock = new FakeClock();
    // Its beats are on the fake clock, and so it tells when the test says so.
    const { holdfast } = redis.connect({ clock, presence: { app: "billing" } });
    const lease = await holdfast.getLock("mine").lock({ leaseMs: HOUR_MS });
    await store("jvm", `${JVM}:57`);
    await store("{jvm}:rw", "mode", `${JVM}:57:write`);
    const waits = redis.connect().holdfast;
    const controller = new AbortController();
    const { signal } = controller;
    const waiting = [
      watched(waits.getLock("jvm").lock({ signal })),
      watched(waits.getReadWriteLock("{jvm}:rw").readLock().lock({ signal })),
    ];
    const counted = async () =>
      Object.values(
        await redis.plain.pubsub("NUMSUB", "redisson_lock__channel:{jvm}", "redisson_rwlock:{jvm}:rw"),
      );
    await until(async () => (await counted()).filter((count) => Number(count) === 1).length === 2);
    await clock.advance(15_000);
    await until(async () => (await holdfast.fleet()).clients[0]?.holds.length === 1);

    const looks = redis.connect().holdfast;
    const find = async (options?: FindLocksOptions) => {
      const keys: unknown[] = [];
      const calls = await callsOf(async () => {
        for (const { key, kind, holders, listeners } of await listed(looks.locks(options)))
          keys.push([key, kind, holders.map(({ by, client }) => [by, client?.app]), listeners]);
      });
      return { keys, calls };
    };
    const mine = ["mine", "lock", [["holdfast", "billing"]]];
    const byPresence = await find();
    expect(byPresence.keys).toEqual([[...mine, undefined]]);
    const byBoth = await find({ sources: ["presence", "channels"] });
    expect(byBoth.keys).toEqual([
      ["jvm", "lock", [["jvm", undefined]], 1],
      [...mine, 0],
      ["{jvm}:rw", "read-write-lock", [["jvm", undefined]], 1],
    ]);
    for (const { calls } of [byPresence, byBoth]) {
      expect(calls).toHaveProperty("hrandfield");
      for (const name of ["scan", "keys"]) expect(calls).not.toHaveProperty(name);
    }
    await store("unseen", `${OTHER}:3`);
    const byScan = await find({ sources: ["presence", "channels", "scan"] });
    expect(byScan.keys).toContainEqual(["unseen", "lock", [["other", undefined]], 0]);
    expect(byScan.keys).toHaveLength(4);
    expect(byScan.calls).toHaveProperty("scan");
    expect(byScan.calls).not.toHaveProperty("keys");
    const sent = (await monitor.read()).map(([name = ""]) => name.toUpperCase());
    expect(sent).toContain("EVAL");
    for (const name of ["SCAN", "KEYS", "HGETALL"]) expect(sent).not.toContain(name);

    controller.abort(new Error("enough"));
    await until(() => waiting.every(({ outcome }) => outcome !== undefined));
    await lease.unlock();
    await redis.plain.del("jvm", "{jvm}:rw", "unseen");
  });

  test("reads no hash that is no lock as a whole, however large", async () => {
    const fields = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`${JVM}:${at}`, "1"]));
    await redis.plain.hset("huge", fields);
    await redis.plain.hset("user", "name", "x", "age", "7");
    await store("lock", "mode", `${JVM}:57:write`);
    const looks = redis.connect().holdfast;
    let keys: string[] = [];
    const calls = await callsOf(async () => {
      keys = (await listed(looks.locks({ sources: ["scan"] }))).map(({ key }) => key);
    });
    expect(keys).toEqual(["lock"]);
    // Two fields of "user", two of "lock", and then the whole lock: of "huge" none.
    expect(calls).toMatchObject({ hrandfield: 3 });
    for (const name of ["hgetall", "hget"]) expect(calls).not.toHaveProperty(name);
    await redis.plain.del("huge", "user", "lock");
  });

  test.each([
    ["channels", "pubsub"],
    ["scan", "scan"],
    ["scan", "hrandfield"],
  ] as const)("fails with UnavailableError where the source %s may not use %s", async (source, command) => {
    await redis.plain.acl("SETUSER", "small", "reset", "on", ">secret", "~*", "&*", "+@all", `-${command}`);
    await store("lock", `${JVM}:57`);
    const looks = redis.connect({}, { username: "small", password: "secret" }).holdfast;
    const search = listed(looks.locks({ sources: [source] }));
    await expect(search).rejects.toThrow(UnavailableError);
    await expect(search).rejects.toThrow("docs/guide/servers.md lists the required rights");
    await redis.plain.acl("DELUSER", "small");
    await redis.plain.del("lock");
  });

  test("needs no rights but those that the guide names", async () => {
    const more = [
      "+hrandfield",
      "+memory|usage",
      "+pubsub|channels",
      "+scan",
      "~holdfast_client*:{default}*",
    ];
    await redis.plain.acl("SETUSER", "orders", ...knownRights, ...more);
    for (const key of ["order:1", "user:1"]) await store(key, `${JVM}:57`);
    const looks = redis.connect({}, documentedUser).holdfast;
    const all = { sources: ["presence", "channels", "scan"] } as const;
    expect((await listed(looks.locks(all))).map(({ key }) => key)).toEqual(["order:1"]);
    await redis.plain.acl("DELUSER", "orders");
    await redis.plain.del("order:1", "user:1");
  });

  test("leaves out the keys that its user may not read", async () => {
    const rights = ["~order:*", "~{order:*", "~redisson_*:{order:*", "&*", "+@all"];
    await redis.plain.acl("SETUSER", "orders", "reset", "on", ">secret", ...rights);
    for (const key of ["order:1", "order:2", "user:1", "user:2"]) await store(key, `${JVM}:57`);
    const looks = redis.connect({}, { username: "orders", password: "secret" }).holdfast;
    const keys = (await listed(looks.locks({ sources: ["scan"] }))).map(({ key }) => key);
    expect(keys).toEqual(["order:1", "order:2"]);
    await expect(listed(looks.locks())).rejects.toThrow(UnavailableError);
    await redis.plain.acl("DELUSER", "orders");
    await redis.plain.del("order:1", "order:2", "user:1", "user:2");
  });

  test("of 100 000 names lists as many as are wanted, each once, and sends nothing once it is left", async () => {
    const names = 100_000;
    const fill = redis.plain.pipeline();
    for (let at = 0; at < names; at += 1) fill.hset(`lock:${at}`, `${JVM}:${at}`, "1");
    await fill.exec();
    const { holdfast: looks, redis: connection } = redis.connect({ commandTimeoutMs: 60_000 });
    const seen = new Set<string>();
    for await (const { key } of looks.locks({ sources: ["scan"], limit: 5_000 })) seen.add(key);
    expect(seen.size).toBe(5_000);
    let count = 0;
    for await (const _ of looks.locks({ sources: ["scan"] })) {
      count += 1;
      if (count === 1_000) break;
    }
    await connection.ping();
    const sent = (await monitor.read()).filter(([name]) => name?.startsWith("eval")).length;
    expect(sent).toBeGreaterThan(0);
    await connection.ping();
    expect((await monitor.read()).filter(([name]) => name?.startsWith("eval"))).toEqual([]);
    await redis.plain.flushdb();
  });
});
