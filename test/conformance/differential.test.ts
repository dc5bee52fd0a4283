import { createHash } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, it } from "vitest";
import { LOCK_ANSWERS, SYNCHRONIZER_ANSWERS } from "../support/models/known-answers.js";
import { synchronizerHistories } from "../support/models/synchronizer-histories.js";
import { commandHistory, type Step } from "../support/servers/command-histories.js";
import { expectSame, runHistories, runHistory } from "../support/servers/history-player.js";
import { isReference } from "../support/servers/redis-program.js";
import { lockHistories, type Names } from "../support/servers/server-histories.js";
import { LISTENED, ServerPair } from "../support/servers/server-pair.js";

const HISTORIES = 500;

const HISTORIES_MS = 300_000;

/** No script has to have answered in them. */
const COMMAND_HISTORIES = 250;

/** Fewer, as they take longer. */
const SYNCHRONIZER_HISTORIES = 250;

let pair: ServerPair;

beforeAll(async () => {
  pair = await ServerPair.start();
});
beforeEach(() => pair.flush());
afterAll(() => pair?.stop());

/** Puts 16 raw bytes into a sorted set for each of these, all with one score. */
const RAW_IDS = `
  local set, ids = "set", {}
  local hex = { "ff00112233445566778899aabbccddee", "00ffeeddccbbaa998877665544332211", "7f000000000000000000000000000000",
    "80FFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "c3a4c3a4c3a4c3a4c3a4c3a4c3a4c3a4", "0d0a000d0a000d0a000d0a000d0a0025" }
  for i = 1, #hex do
    ids[i] = string.gsub(hex[i], "..", function(digits) return string.char(tonumber(digits, 16)) end)
    redis.call("ZADD", set, "922337203685477", ids[i])
  end
  local function places(members)
    local at, seen = {}, {}
    for i = 1, #ids do at[ids[i]] = i end
    for i = 1, #members do seen[i] = at[members[i]] or members[i] end
    return seen
  end
`;

const ONLY_REFERENCE = "the embedded server has the error texts and number formats of Redis 7.0";

const PLAIN_LOCKS: Names = {
  objects: ["lock a", "lock b", "lock c"],
  channels: [...LISTENED, "nobody listens"],
};
const PLAIN_COUNTS: Names = { objects: ["name", "{na}me"], channels: LISTENED };

describe("the embedded server does what redis-server does", () => {
  const seed = Date.now() & 0x7fffffff;

  it("in random histories of locks", { timeout: HISTORIES_MS }, async () => {
    console.info(`differential.test.ts: seed ${seed}`);
    await runHistories(pair, lockHistories(PLAIN_LOCKS), { seed, numRuns: HISTORIES }, LOCK_ANSWERS);
  });

  it("in random histories of semaphores and latches", { timeout: HISTORIES_MS }, async () => {
    const numRuns = SYNCHRONIZER_HISTORIES;
    await runHistories(pair, synchronizerHistories(PLAIN_COUNTS), { seed, numRuns }, SYNCHRONIZER_ANSWERS);
  });

  it("in random histories of commands", { timeout: HISTORIES_MS }, async ({ skip }) => {
    skip(!isReference(), ONLY_REFERENCE);
    const run = (steps: readonly Step[]) => runHistory(pair, steps);
    await fc.assert(fc.asyncProperty(commandHistory, run), { seed, numRuns: COMMAND_HISTORIES });
  });

  describe("in the script", () => {
    it.for([
      "return tonumber('1795209961') * 1000 + 7",
      "redis.call('SET', KEYS[1], tonumber('1795209961773')) return redis.call('GET', KEYS[1])",
      "redis.call('SET', KEYS[1], 4 / 2) return redis.call('GET', KEYS[1])",
      "redis.call('SET', KEYS[1], 2 ^ 53) return redis.call('GET', KEYS[1])",
      "return string.format('%.0f', 1795209961773.5)",
      "return { string.format('%.0f', 2.5), string.format('%.0f', 3.5), string.format('%.0f', -0.4) }",
      "return math.floor(1795209961773 / 1000) * 1000",
      "return { 60 * 60 * 1000 * 1000, 0xffffffff, 2147483647 + 1, 10 / 4 }",
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
      "return { string.sub('hölder', 2, 3), #'hölder', string.match('a:12', ':(%d+)') }",
      "return redis.call('PUBLISH', 'channel one', 'ü')",
      "local n = 0 for i = 1, #ARGV / 2 do n = n + i end return n",
      "return { tonumber('00', 16), tonumber('fF', 16), tonumber('7f', 16), tonumber('g0', 16), tonumber('', 16) }",
      "return { string.match('a:12:b', '(%a):(%d+):(%a)'), string.match('a:12', '^(%d)') }",
      "return { string.match('00ff10', '^%x+$'), string.match('00fg', '^%x+$'), #string.char(0, 255) }",
      "local seen = {} for a, b in string.gmatch('1=2,3=4', '(%d)=(%d)') do seen[#seen + 1] = a .. b end return seen",
      "local seen = {} for h in string.gmatch('00ff1', '%x%x') do seen[#seen + 1] = tonumber(h, 16) end return seen",
      "return { string.gsub('abc', '%w', function(c) return c ~= 'b' and c .. c end) }",
      "return { string.len('hölder'), string.len('\\0a\\0'), string.len(string.char(0, 200)) * 4294967296 }",
      "return { string.byte(string.char(0, 127, 128, 255), 1, -1) }",
      `${RAW_IDS} return { #ids[1], string.byte(ids[1], 1, -1) }`,
      `${RAW_IDS} return places(redis.call("ZRANGE", set, 0, -1))`,
      `${RAW_IDS} return places(redis.call("ZRANGE", set, 1, 2, "WITHSCORES"))`,
      `${RAW_IDS} redis.call("ZADD", set, 5, ids[4]) return places(redis.call("ZRANGE", set, 0, -1, "WITHSCORES"))`,
      `${RAW_IDS} return { redis.call("ZREM", set, ids[1], ids[3], "absent"), redis.call("ZCARD", set) }`,
      `${RAW_IDS} return { redis.call("ZREMRANGEBYRANK", set, 0, 3), places(redis.call("ZRANGE", set, 0, -1)) }`,
      `${RAW_IDS} return { redis.call("ZSCORE", set, ids[2]), redis.call("ZSCORE", set, hex[2]) }`,
      `${RAW_IDS} return { redis.call("ZCOUNT", set, "(922337203685476", "+inf"), redis.call("ZCOUNT", set, 0, 1) }`,
      `${RAW_IDS} return { redis.call("ZMSCORE", set, ids[2], "absent"), redis.call("ZMSCORE", "absent", ids[2]) }`,
      `${RAW_IDS} return places(redis.call("ZRANGE", set, "(0", "+inf", "BYSCORE", "LIMIT", 1, 2, "WITHSCORES"))`,
      `${RAW_IDS} return redis.call("ZRANGE", set, 0, 1, "LIMIT", 0, 1)`,
      "redis.call('RPUSH', 'list', 'a', 'b', 'a') return { redis.call('LPOS', 'list', 'a'), redis.call('LPOS', 'list', 'x'), redis.call('LPOS', 'none', 'x') }",
      "redis.call('RPUSH', 'list', 'a', 'b', 'c') return { redis.call('LTRIM', 'list', 1, -1), redis.call('LRANGE', 'list', 0, -1), redis.call('LTRIM', 'list', 5, -1), redis.call('EXISTS', 'list') }",
      "redis.call('RPUSH', 'list', 'a', 'b') return { redis.call('LPOP', 'list'), redis.call('LPOP', 'list'), redis.call('EXISTS', 'list'), redis.call('LPOP', 'list') }",
      "return redis.call('LPOP', KEYS[1])",
      `${RAW_IDS} return places(redis.call("ZRANGEBYSCORE", set, 0, "+inf", "limit", 0, 2))`,
      `${RAW_IDS} return redis.call("ZRANGEBYSCORE", "absent", 0, 1, "BYSCORE")`,
      "return { 'n:' .. 1, 2 .. '', 1 + 1 .. ':' .. '2' + 1, 'a' .. 'b' .. 'c', 0.5 .. '', 1795209961773 .. '' }",
      "return { 1e15 .. '', 123456789012345678 .. '', 1 / 3 .. '', -0 .. '', 1e-7 .. '', 1e300 .. '', -2 .. -3 }",
      "local seen = {} for i = redis.call('HINCRBY', 'hash', 'f', 2), 1, -1 do seen[#seen + 1] = 'at:' .. i end return seen",
      "redis.call('HSET', 'hash', 'f', 2) local seen = {} for i = redis.call('HGET', 'hash', 'f'), 1, -1 do seen[#seen + 1] = 'at:' .. i end return seen",
      "return { math.max(1, '3', 2), math.min('-1', 2), math.max('10', '9'), math.max(5), math.min(3000000000, 4) }",
      "return math.max(1, 'x')",
      "return { tostring(2), tostring(0.1), tostring('2'), tostring(nil), tostring(true), ':' .. tostring(1795209961773) }",
      `${RAW_IDS} redis.call("SET", KEYS[1], ids[4]) return redis.call("GET", KEYS[1]) == ids[4]`,
      `${RAW_IDS} redis.call("HSET", "hash", ids[1], ids[2]) return redis.call("HGET", "hash", ids[1]) == ids[2]`,
      "local t = {} for i = 1, 2000, 2 do t[i], t[i + 1] = i, i end return redis.call('ZADD', 'set', unpack(t))",
    ])("%s", async (lua, { skip }) => {
      skip(!isReference(), ONLY_REFERENCE);
      await pair.step(["SET", "key", "text"]);
      const sha1 = createHash("sha1").update(lua).digest("hex");
      await expectSame(pair, {
        script: { name: "example", lua, sha1 },
        keys: ["key"],
        args: ["a", "b", "c"],
      });
    });
  });

  it("when keys expire", async () => {
    for (const name of ["short", "kept"]) await expectSame(pair, ["SET", name, "text"]);
    await pair.step(["PEXPIRE", "short", "1"]);
    for (;;) {
      const { redis, memory } = await pair.step(["PTTL", "short"]);
      if (redis.reply === -2 && memory.reply === -2) break;
    }
    await expectSame(pair, ["EXISTS", "short", "kept"]);
    await expectSame(pair, ["SET", "short", "again"]);
    await expectSame(pair, ["PTTL", "short"]);
  });
});
