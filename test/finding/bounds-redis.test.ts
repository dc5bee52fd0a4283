import { afterEach, describe, expect, test } from "vitest";
import { UnavailableError } from "../../src/index.js";
import {
  permitLeasesKey,
  fairQueueKey as queueOf,
  fencingTokenKey as tokenOf,
  waitingKey,
  writersQueueKey,
} from "../../src/protocol/names.js";
import { sources } from "../support/all-scripts.js";
import { documentedUser, knownRights } from "../support/servers/documented-rights.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { JVM, listed } from "../support/worlds/listed.js";

const redis = locksOnRedis();
const MEGABYTE = 1_048_576;
/** As lock-inspect-many.lua promises. */
const MOST_BYTES = 524_288;

afterEach(() => redis.plain.flushdb());

/** What the server answers about some keys, and how many bytes these are. */
async function inspect(keys: readonly string[]) {
  const names = keys.flatMap((key) => [
    key,
    queueOf(key),
    tokenOf(key),
    permitLeasesKey(key),
    waitingKey(key),
    writersQueueKey(key),
  ]);
  const answer = await redis.plain.eval(sources["lock-inspect-many"].lua, names.length, ...names, "all");
  return { answer: answer as unknown[], bytes: JSON.stringify(answer).length };
}

/** How often each command was called meanwhile. */
async function callsOf(name: string, act: () => Promise<unknown>): Promise<number> {
  await redis.plain.config("RESETSTAT");
  await act();
  const stats = await redis.plain.info("commandstats");
  return Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, "m").exec(stats)?.[1] ?? 0);
}

const holders = (count: number, ending = ""): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${JVM}:${at}${ending}`, "1"]));

describe("a look at locks that were found", () => {
  test("reads and answers nothing of hashes that have no lock's form, or are larger than any lock [P2-3]", async () => {
    const foreign: Readonly<Record<string, Readonly<Record<string, string>>>> = {
      "a huge value": { [`${JVM}:1`]: "1".repeat(MEGABYTE) },
      "a huge name": { [`${JVM}:1`]: "1", ["x".repeat(MEGABYTE)]: "1" },
      "a long number": { [`${JVM}:1`]: "1".repeat(17) },
      "no number": { [`${JVM}:1`]: "-1" },
      "another mode": { [`${JVM}:1`]: "1", mode: "x" },
      "another field": { [`${JVM}:1`]: "1", [`${JVM}:1:reader`]: "1" },
      "a thread without end": { [`${JVM}:${"1".repeat(27)}`]: "1" },
    };
    for (const [key, fields] of Object.entries(foreign)) await redis.plain.hset(key, fields);
    await redis.plain.hset("lock", `${JVM}:-7`, "2");
    const { answer, bytes } = await inspect([...Object.keys(foreign), "lock"]);
    const told = answer.slice(1) as unknown[][];
    expect(told.map(([type, , fields]) => [type, fields])).toEqual([
      ...Object.keys(foreign).map(() => ["foreign", []]),
      ["hash", [`${JVM}:-7`, "2"]],
    ]);
    expect(bytes).toBeLessThan(1_000);
    const huge = ["a huge value", "a huge name"];
    expect(await callsOf("hrandfield", () => inspect(huge))).toBe(0);
  });

  test("reads no field of a hash of which a single one among hundreds is huge", async () => {
    await redis.plain.hset("large", holders(500));
    await redis.plain.hset("large", `${JVM}:500`, "1".repeat(MEGABYTE));
    const { answer } = await inspect(["large"]);
    expect((answer[1] as unknown[]).slice(0, 3)).toEqual(["foreign", -1, []]);
    // Two names may have been read, no value.
    expect(await callsOf("hrandfield", () => inspect(["large"]))).toBeLessThanOrEqual(1);
  });

  test("takes a list for a queue and a string for a token only if they have their form", async () => {
    for (const key of ["a", "b", "c", "d"]) await redis.plain.hset(key, `${JVM}:1`, "1");
    await redis.plain.rpush(queueOf("a"), `${JVM}:2`, "x".repeat(MEGABYTE));
    await redis.plain.rpush(queueOf("b"), `${JVM}:2`, "someone");
    await redis.plain.rpush(queueOf("c"), `${JVM}:2`);
    await redis.plain.set(tokenOf("a"), "1".repeat(MEGABYTE));
    await redis.plain.set(tokenOf("b"), "-9223372036854775808");
    await redis.plain.set(tokenOf("c"), "x");
    expect(await callsOf("lrange", () => inspect(["a"]))).toBe(0);
    expect(await callsOf("get", () => inspect(["a"]))).toBe(0);
    const { holdfast } = redis.connect();
    const locks = await listed(holdfast.locks({ sources: ["scan"] }));
    const ordered = locks.toSorted((a, b) => (a.key < b.key ? -1 : 1));
    expect(ordered.map(({ key, kind, token, waiting }) => [key, kind, token, waiting.length])).toEqual([
      ["a", "lock", null, 0],
      ["b", "fenced-lock", -9_223_372_036_854_775_808n, 0],
      ["c", "fair-lock", null, 1],
      ["d", "lock", null, 0],
    ]);
  });

  test("lists a thousand holders and waiters of a lock, and says how many more there are", async () => {
    await redis.plain.hset("readers", { mode: "read", ...holders(3_000) });
    await redis.plain.hset("fair", `${JVM}:1`, "1");
    await redis.plain.rpush(queueOf("fair"), ...Object.keys(holders(3_000)));
    await redis.plain.hset("crowd", `${JVM}:1`, "1");
    await redis.plain.rpush(queueOf("crowd"), ...Object.keys(holders(10_001)));
    const { holdfast } = redis.connect();
    const found = await listed(holdfast.locks({ sources: ["scan"] }));
    const [crowd, fair, readers] = found.toSorted((a, b) => (a.key < b.key ? -1 : 1));
    expect(crowd).toMatchObject({ waiting: [], more: { holders: 0, waiting: 10_001 } });
    expect(fair).toMatchObject({ kind: "fair-lock", more: { holders: 0, waiting: 2_000 } });
    expect(fair?.waiting.map(({ holder }) => holder)).toEqual(Object.keys(holders(1_000)));
    expect(readers?.kind).toBe("read-write-lock");
    const shown = new Set(readers?.holders.map(({ holder }) => holder));
    expect(shown.size + (readers?.more.holders ?? 0)).toBe(3_000);
    expect(shown.size).toBeGreaterThanOrEqual(999);
    expect(shown.size).toBeLessThanOrEqual(1_000);
  });

  test("lists a thousand of the clients that wait for a lock, and says how many more there are", async () => {
    const clients = (count: number) =>
      Array.from({ length: count }, (_, at) => `${String(at).padStart(8, "0")}${JVM.slice(8)}`);
    const wait = (key: string, members: readonly string[]) =>
      redis.plain.zadd(waitingKey(key), ...members.flatMap((member, at) => [at + 1, member]));
    for (const key of ["crowd", "many", "one", "spoilt"]) await redis.plain.hset(key, `${JVM}:1`, "1");
    await wait("crowd", clients(10_001));
    await wait("many", clients(3_000));
    await wait("one", [JVM]);
    await redis.plain.zadd(waitingKey("one"), -1, clients(1)[0] ?? "", -2, "given");
    await wait("spoilt", [JVM, "x".repeat(MEGABYTE)]);
    await wait("permits", [`${JVM}:1`, `${JVM}:${"1".repeat(MEGABYTE)}`]);
    expect(await callsOf("zrange", () => inspect(["crowd", "spoilt", "permits"]))).toBe(0);
    const { holdfast } = redis.connect();
    const found = await listed(holdfast.locks({ sources: ["scan"] }));
    const told = found
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
      .map(({ kind, waiting, more }) => ({ kind, ids: waiting.map(({ holder }) => holder), more }));
    const nobodyElse = { holders: 0, waiting: 0 };
    expect(told).toEqual([
      { kind: "lock", ids: [], more: { holders: 0, waiting: 10_001 } },
      { kind: "lock", ids: clients(1_000), more: { holders: 0, waiting: 2_000 } },
      { kind: "lock", ids: [JVM], more: nobodyElse },
      { kind: "lock", ids: [], more: nobodyElse },
    ]);
  });

  test("answers half a mebibyte at most, and tells of all locks in several answers [P2-3]", async () => {
    const keys = Array.from({ length: 20 }, (_, at) => `lock:${at}`);
    const readers = holders(900, ":write");
    const fill = redis.plain.pipeline();
    const clients = Array.from({ length: 900 }, (_, at) => [
      at + 1,
      `${String(at).padStart(8, "0")}${JVM.slice(8)}`,
    ]);
    for (const key of keys) {
      fill.hset(key, readers).rpush(queueOf(key), ...Object.keys(holders(900)));
      fill.zadd(waitingKey(key), ...clients.flat());
    }
    await fill.exec();
    const { answer, bytes } = await inspect(keys);
    expect(answer.length).toBeLessThan(10);
    expect(bytes).toBeLessThan(MOST_BYTES);
    const { holdfast } = redis.connect();
    const locks = await listed(holdfast.locks({ sources: ["scan"] }));
    expect(locks.map(({ holders: shown, waiting }) => [shown.length, waiting.length])).toEqual(
      keys.map(() => [900, 1_800]),
    );
  });

  test("finds locks for a user who may not know how much a key takes", async () => {
    const more = ["+hrandfield", "+scan", "~holdfast_client*:{default}*"];
    await redis.plain.acl("SETUSER", "orders", ...knownRights, ...more);
    await redis.plain.hset("order:1", `${JVM}:1`, "1");
    await redis.plain.hset("order:2", `${JVM}:1`, "x".repeat(MEGABYTE));
    const { holdfast } = redis.connect({}, documentedUser);
    const locks = await listed(holdfast.locks({ sources: ["scan"] }));
    expect(locks.map(({ key }) => key)).toEqual(["order:1"]);
    await redis.plain.acl("SETUSER", "orders", "-hrandfield");
    await expect(listed(holdfast.locks({ sources: ["scan"] }))).rejects.toThrow(UnavailableError);
    await redis.plain.acl("DELUSER", "orders");
  });
});

describe("names that are found", () => {
  test("have 4 096 bytes at most", async () => {
    const [longest, tooLong] = ["ü".repeat(2_048), `${"ü".repeat(2_048)}x`];
    for (const key of [longest, tooLong]) await redis.plain.hset(key, `${JVM}:1`, "1");
    const listener = redis.server.client();
    await listener.subscribe(...[longest, tooLong].map((key) => `redisson_lock__channel:{${key}}`));
    const { holdfast } = redis.connect();
    for (const source of ["scan", "channels"] as const) {
      const locks = await listed(holdfast.locks({ sources: [source] }));
      expect(locks.map(({ key }) => key === longest)).toEqual([true]);
    }
  });
});
