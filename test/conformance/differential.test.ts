import { createHash } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  lockAcquire,
  lockForceUnlock,
  lockInspect,
  lockRelease,
  lockRenew,
} from "../../src/protocol/lock-scripts.js";
import { type Action, ServerPair } from "../support/server-pair.js";

const HISTORIES = 80;

/** What each script must have answered in the course of the histories, or they prove little. */
const ANSWERS = {
  "lock-acquire": ["held", "busy", "late", "lost", "wrong-type", "miscounted", "refused"],
  "lock-release": ["released", "absent", "late", "wrong-type", "miscounted"],
  "lock-renew": ["renewed", "lost"],
  "lock-force-unlock": ["released", "absent", "changed", "late", "wrong-type"],
};

/** Times that differ by less may be the same: the two servers do not act at the same moment. */
const SLACK_MS = 5_000;

/** Smaller numbers are no times and have to be the same. All leases are far above. */
const SMALLEST_TIME_MS = 20_000;

type Step = Action | { readonly full: boolean };

const epochFarOffMs = Date.now() + 3_600_000;

const key = fc.constantFrom("lock a", "lock b", "lock c");
const anyKey = fc.oneof(key, fc.constantFrom("string", "list", "zset"));
const holder = fc.constantFrom("h1", "h2", "h3", "hölder 4");
const channel = fc.constantFrom("channel one", "channel two", "nobody listens");
const leaseMs = fc.constantFrom(60_000, 120_000, 600_000);
const count = fc.integer({ min: 0, max: 3 });
const notAfterMs = fc.oneof({ weight: 9, arbitrary: fc.constant(epochFarOffMs) }, fc.constant(1));
const oneToThree = { minLength: 1, maxLength: 3 };

const scripts: fc.Arbitrary<Action> = fc
  .oneof(
    fc
      .record({
        notAfterMs,
        locks: fc.array(fc.record({ key, holder, leaseMs, heldCount: count }), oneToThree),
      })
      .map(lockAcquire.encode),
    fc
      .record({
        notAfterMs: fc.oneof(notAfterMs, fc.constant(0)),
        locks: fc.array(
          fc.record({ key, holder, heldCount: count, keptCount: count, ttlMs: leaseMs, channel }),
          oneToThree,
        ),
      })
      .map(lockRelease.encode),
    fc.array(fc.record({ key, holder, leaseMs }), oneToThree).map(lockRenew.encode),
    fc
      .record({ key, notAfterMs, channel, seen: fc.dictionary(holder, count.map(String), { maxKeys: 2 }) })
      .map(lockForceUnlock.encode),
    fc.record({ key, queueKey: anyKey, tokenKey: anyKey }).map(lockInspect.encode),
  )
  .map((call) => ({ ...call, [fc.toStringMethod]: () => textOf(call) }));

/** For messages: the source of a script would bury the rest. */
function textOf(action: Action): string {
  return JSON.stringify("script" in action ? [action.script.name, action.keys, action.args] : action);
}

const word = fc.oneof(holder, fc.constantFrom("1", "2", "07", "1.5", "text"));
const increment = fc.constantFrom("1", "-3", "text", "9223372036854775807", "-9223372036854775808");
const ttl = fc.constantFrom("60000", "600000", "0", "-5", "soon", "1.5", "9223372036854775807");
const place = fc.constantFrom("0", "1", "-1", "-2", "5", "x");
const score = fc.constantFrom("1", "2.5", "-1", "1795209961773", "inf", "0x10", "nan", "one");

const commands: fc.Arbitrary<Action> = fc.oneof(
  words("HSET", key, holder, word),
  words("HSET", key, holder, word, holder),
  words("HINCRBY", key, holder, increment),
  words("HDEL", key, holder, holder),
  words(fc.constantFrom("HGET", "HEXISTS"), key, holder),
  words(fc.constantFrom("HKEYS", "HLEN", "HGETALL"), anyKey),
  words("SET", mostly("string"), word),
  words("SET", mostly("string"), word, fc.constantFrom("NX", "xx", "KEEP"), "PX", ttl),
  words(fc.constantFrom("GET", "INCR"), mostly("string")),
  words("INCRBY", mostly("string"), increment),
  words(fc.constantFrom("TYPE", "PTTL", "PERSIST"), anyKey),
  words(fc.constantFrom("DEL", "EXISTS"), anyKey, anyKey),
  words("PEXPIRE", anyKey, ttl),
  words("RPUSH", mostly("list"), word, word),
  words("LREM", mostly("list"), fc.constantFrom("0", "1", "-1", "-2", "x"), word),
  words("LRANGE", mostly("list"), place, place),
  words("LLEN", mostly("list")),
  words("ZADD", mostly("zset"), score, word, score, holder),
  words("ZREM", mostly("zset"), word, holder),
  words("ZSCORE", mostly("zset"), holder),
  words("ZCARD", mostly("zset")),
  words("ZRANGE", mostly("zset"), place, place),
  words("zrange", mostly("zset"), "0", "-1", fc.constantFrom("WITHSCORES", "withscores", "BACKWARDS")),
  words("PUBLISH", channel, word),
  words(fc.constantFrom("GET", "HSET", "NOSUCH", "PEXPIRE", "LREM"), word),
);

/** One key more often than others, so that commands also find what they expect. */
function mostly(name: string): fc.Arbitrary<string> {
  return fc.oneof({ weight: 4, arbitrary: fc.constant(name) }, key);
}

function words(...parts: (string | fc.Arbitrary<string>)[]): fc.Arbitrary<string[]> {
  return fc.tuple(...parts.map((part) => (typeof part === "string" ? fc.constant(part) : part)));
}

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: scripts },
  { weight: 8, arbitrary: commands },
  { weight: 1, arbitrary: fc.record({ full: fc.boolean() }) },
);

/** Some steps are done twice, at once or after the next one, as a client's resent commands are. */
const history: fc.Arbitrary<Step[]> = fc
  .array(fc.tuple(step, fc.constantFrom(0, 0, 0, 1, 2)), { minLength: 20, maxLength: 60, size: "max" })
  .map((steps) =>
    steps.flatMap(([one, again], at) => [one, ...(again > 0 ? [steps[at + 1 - again]?.[0] ?? one] : [])]),
  );

/** Replaces what depends on the moment: times become "the same" when they are near those of `other`. */
function alike(value: unknown, other: unknown): unknown {
  if (typeof value === "number" && typeof other === "number" && value >= SMALLEST_TIME_MS) {
    return Math.abs(value - other) < SLACK_MS ? other : value;
  }
  if (Array.isArray(value) && Array.isArray(other)) return value.map((item, at) => alike(item, other[at]));
  if (isRecord(value) && isRecord(other)) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, alike(item, other[name])]));
  }
  return value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

let pair: ServerPair;

beforeAll(async () => {
  pair = await ServerPair.start();
});
beforeEach(() => pair.flush());
afterAll(() => pair?.stop());

async function expectSame(action: Action): Promise<unknown> {
  const { redis, memory } = await pair.step(action);
  expect(alike(memory, redis), textOf(action)).toEqual(redis);
  return redis.reply;
}

describe("the embedded server does what redis-server does", () => {
  it("in random histories of scripts and commands", { timeout: 60_000 }, async () => {
    const seed = Date.now() & 0x7fffffff;
    console.info(`differential.test.ts: seed ${seed}`);
    const answers = new Set<string>();
    const runHistory = async (todo: readonly Step[]) => {
      await pair.flush();
      for (const one of todo) {
        if ("full" in one) {
          await pair.full(one.full);
          continue;
        }
        const reply = await expectSame(one);
        if ("script" in one)
          for (const answer of [reply].flat(2)) answers.add(`${one.script.name} ${answer}`);
      }
    };
    await fc.assert(fc.asyncProperty(history, runHistory), { seed, numRuns: HISTORIES });
    const wanted = Object.entries(ANSWERS).flatMap(([name, all]) => all.map((answer) => `${name} ${answer}`));
    expect(wanted.filter((answer) => !answers.has(answer))).toEqual([]);
  });

  it.each([
    "return tonumber('1795209961') * 1000 + 7",
    "redis.call('SET', KEYS[1], tonumber('1795209961773')) return redis.call('GET', KEYS[1])",
    "redis.call('SET', KEYS[1], 4 / 2) return redis.call('GET', KEYS[1])",
    "redis.call('SET', KEYS[1], 0.1) return redis.call('GET', KEYS[1])",
    "redis.call('SET', KEYS[1], 1e20) return redis.call('GET', KEYS[1])",
    "redis.call('SET', KEYS[1], 2 ^ 53) return redis.call('GET', KEYS[1])",
    "redis.call('SET', KEYS[1], 1e-7) return redis.call('GET', KEYS[1])",
    "redis.call('SET', KEYS[1], -1e300) return redis.call('GET', KEYS[1])",
    "return string.format('%.0f', 1795209961773.5)",
    "return { string.format('%.0f', 2.5), string.format('%.0f', 3.5), string.format('%.0f', -0.4) }",
    "return math.floor(1795209961773 / 1000) * 1000",
    "return { 60 * 60 * 1000 * 1000, 0xffffffff, 2147483647 + 1, 7 % 4, -7 % 4, 10 / 4 }",
    "return { tonumber(' 12 '), tonumber('1e3'), tonumber('0x10'), tonumber('ff', 16), tonumber('12abc') }",
    "return { 1, nil, 3 }",
    "return { 3.99, -3.99, -0.5, true, false, 'text', {}, { 'nested', { 1 } } }",
    "return { ok = 'fine' }",
    "return { err = 'CODE text' }",
    "return redis.error_reply('CODE text')",
    "return redis.error_reply('-CODE text')",
    "return redis.status_reply('fine')",
    "return redis.pcall('HGET', KEYS[1])",
    "return redis.pcall('HGET', KEYS[1], 'f')",
    "return redis.call('HGET', KEYS[1], 'f')",
    "return redis.call('NOSUCH')",
    "return redis.call('GET', {})",
    "return redis.call('GET', true)",
    "return redis.call()",
    "return type(redis.call('GET', 'no key'))",
    "return redis.call('TYPE', KEYS[1]).ok",
    "local ok, text = pcall(redis.call, 'HGET', KEYS[1], 'f') return { ok, text }",
    "local ok, text = pcall(error, 'text') return { ok, text }",
    "return { pcall(unpack, ARGV) }",
    "return select('#', unpack({ 1, 2, 3 }))",
    "\n\nerror('stop')",
    "error({ err = 'CODE text' })",
    "local function fail() redis.call('HGET', KEYS[1], 'f') end\nfail()",
    "redis.call('SET', KEYS[1], 'new') error('stop')",
    "return lock",
    "lock = 1",
    "KEYS = {}",
    "KEYS[1] = 'other' return KEYS[1]",
    "return { string.byte('\\255\\0a', 1, -1) }",
    "return { ('x'):rep(3), string.sub('hölder', 2, 3), #'hölder', string.match('a:12', ':(%d+)') }",
    "return redis.call('PUBLISH', 'channel one', 'ü')",
    "local n = 0 for i = 1, #ARGV / 2 do n = n + i end return n",
    "local t = { 'b', 'a' } table.sort(t) table.insert(t, 'c') return t",
  ])("in the script %s", async (lua) => {
    await pair.step(["SET", "key", "text"]);
    const sha1 = createHash("sha1").update(lua).digest("hex");
    await expectSame({ script: { name: "example", lua, sha1 }, keys: ["key"], args: ["a", "b", "c"] });
  });

  it("when keys expire", async () => {
    for (const name of ["short", "kept"]) await expectSame(["SET", name, "text"]);
    await pair.step(["PEXPIRE", "short", "1"]);
    for (;;) {
      const { redis, memory } = await pair.step(["PTTL", "short"]);
      if (redis.reply === -2 && memory.reply === -2) break;
    }
    await expectSame(["EXISTS", "short", "kept"]);
    await expectSame(["SET", "short", "again"]);
    await expectSame(["PTTL", "short"]);
  });
});
