import { describe, expect, it, test } from "vitest";
import { type Interpreter, MemoryStore, SharedInterpreter } from "../../../src/memory/memory-store.js";
import { publishing } from "../../../src/protocol/dialect.js";
import { scriptSource } from "../../../src/protocol/script-call.js";
import { sources } from "../../support/all-scripts.js";
import { seededChooser } from "../chooser/seeded.js";
import type { RecordedCalls } from "../jvm/recorded-call.js";
import { scripts as oldScripts } from "../jvm/scripts-3.24.3.js";
import { scripts as newestScripts } from "../jvm/scripts-4.7.0.js";
import { runSchedule } from "../schedule.js";
import { replaceInterpreter } from "../world/sim-server.js";
import { ComparedScripts } from "./compared-scripts.js";
import { CompiledScripts } from "./compiled-scripts.js";

const nobody = {
  runFor(): never {
    throw new Error("the script is not compiled");
  },
};
const surroundings = {
  wallMs: () => 1_700_000_000_000,
  publish: () => 1,
  listeners: () => 1,
  channels: () => [],
};

describe("the compiler knows", () => {
  const scripts = new CompiledScripts(nobody);

  test.each(Object.values(sources))("$name", (source) => {
    expect(scripts.knows(source)).toBe(true);
    for (const publishes of ["sharded", "both"] as const) {
      expect(scripts.knows(publishing(source, publishes))).toBe(true);
    }
  });

  test.each(Object.entries<RecordedCalls>({ oldScripts, newestScripts }))(
    "all of Redisson's %s",
    (_, calls) => {
      for (const [name, call] of Object.entries(calls)) {
        if (call !== undefined && "lua" in call)
          expect(scripts.knows(scriptSource(name, call.lua)), name).toBe(true);
      }
    },
  );

  it("nothing of what no script of ours has", () => {
    const others = [
      "x = 1",
      "goto on ::on::",
      "return ('a'):rep(2)",
      "return [[long]]",
      "return math.random()",
    ];
    for (const lua of others) expect(scripts.knows(scriptSource("other", lua)), lua).toBe(false);
  });
});

/** Each answers a text, which both interpreters have to answer alike. */
const snippets: readonly string[] = [
  "return string.format('%.0f', 2 ^ 53) .. '|' .. -2 ^ 2 .. '|' .. 1 / 3 .. '|' .. 1e15",
  "return '10' + 5 .. ' ' .. 10 - '3' .. ' ' .. '2' * '4'",
  "return 1 .. 2 .. 'x' .. 3.5",
  "local a, b, c = (function() return 1, 2, 3 end)() return tostring(a) .. tostring(b) .. tostring(c)",
  "local function two() return 1, 2 end local t = { two(), two() } return tostring(#t)",
  "local function none() end local t = { none(), (none()), 4 } return tostring(#t) .. tostring(t[3])",
  "local function all(...) local a, b = ... return #{ ... } .. tostring(b) end return all(1, 'x', 3)",
  "local t = {} for i = 3, 1, -1 do t[#t + 1] = i end return t[1] .. t[2] .. t[3]",
  "local t = { 1, 2, 3, 4 } t[4] = nil t[2] = nil t[2] = 9 return tostring(#t) .. t[2]",
  "local t = { n = 1, ['m'] = 2, 5, [2] = 6 } return t.n .. t.m .. t[1] .. t[2] .. #t",
  "local fs = {} for i = 1, 3 do fs[i] = function() i = i + 1 return i end end return fs[1]() .. fs[1]() .. fs[3]()",
  "local x = 1 do local x = x + 1 x = x + 1 end return tostring(x)",
  "local i = 0 while true do i = i + 1 if i > 4 then break end end return tostring(i)",
  "local a, b = 1, 2 a, b = b, a return a .. b",
  "return tostring(nil and 1 or 'no') .. tostring(false or nil) .. tostring(not nil) .. tostring(0 and 'yes')",
  "return tostring(1 < 2) .. tostring('a' < 'b') .. tostring('10' < '9') .. tostring(2 >= 2) .. tostring(1 == '1')",
  "return string.sub('abcdef', 2, 3) .. string.sub('abc', -2) .. string.sub('abc', 0, 1) .. string.sub('abc', 3, 2)",
  "return tostring(tonumber('0x10')) .. tostring(tonumber(' 12 ')) .. tostring(tonumber('1x')) .. tostring(tonumber('ff', 16))",
  "return tostring(tonumber(nil)) .. tostring(tonumber(false)) .. tostring(tonumber('')) .. tostring(tonumber('-1e3'))",
  "return math.floor(-1.5) .. math.ceil(1.2) .. math.max(1, '3', 2) .. math.min(4, 2) .. math.abs(-3)",
  "return tostring(string.match('granted:-12', '^([%a-]+):(-?%d+)$'))",
  "local a, b, c = string.match('id:7:1:99', '^(.+):(%d+):(%d+)$') return a .. '|' .. b .. '|' .. c",
  "return tostring(string.match('redis_version:7.2.4\\r\\nx', 'redis_version:([%d.]+)')) .. tostring(string.match('a', 'b'))",
  "local at, to = string.find('xWRONGTYPEx', 'WRONGTYPE', 1, true) return at .. ' ' .. to",
  "local at, to, found = string.find('ab12', '(%d+)') return at .. ' ' .. to .. found",
  "local all = '' for id in string.gmatch('1,22,333', '%d+') do all = all .. id .. ';' end return all",
  "return (string.gsub('6162', '%x%x', function(byte) return string.char(tonumber(byte, 16)) end))",
  "local all = '' for at, item in ipairs({ 'a', 'b', nil, 'd' }) do all = all .. at .. item end return all",
  "local sum = 0 for _, item in pairs({ a = 1, b = 2, 3 }) do sum = sum + item end return tostring(sum)",
  "return tostring(next({})) .. tostring(next({ 5 }))",
  "local t = { 1, 2, 3 } return (function(...) return tostring(#{ ... }) end)(unpack(t, 2))",
  "local keys = {} table.insert(keys, 'a') table.insert(keys, 'b') return keys[1] .. keys[2]",
  "return type(redis.call('PTTL', 'none')) .. type(redis.call('GET', 'none')) .. redis.call('TYPE', 'none').ok",
  "return redis.pcall('HGET', 'text', 'x').err",
  "local ask = redis.pcall return ask('NOSUCH', 1).err",
  "return redis.call('HGET', 'text', 'x')",
  "local function read(...)\n local insist = redis.call\n return insist(...)\nend\nreturn read('HGET', 'text', 'x')",
  "return redis.call('SET', 'n', 3 / 2 * 4) and redis.call('GET', 'n')",
  "return redis.call('SET', {}, 1)",
  "return redis.call()",
  "return redis.error_reply('-MY error')",
  "return redis.status_reply('FINE')",
  "return { 1.9, -0.5, true, false, 'x', { 'deep' }, nil, 'behind' }",
  "return",
  "return KEYS[1] .. ARGV[1] .. #KEYS .. tostring(ARGV[2])",
  "return '\\65\\n\\\"'",
  "return 'ü' .. #'ü'",
];

describe("a compiled script answers what fengari answers", () => {
  test.each(snippets)("%s", (lua) => {
    const compared = new ComparedScripts(
      new CompiledScripts(new SharedInterpreter()),
      new SharedInterpreter(),
    );
    const store = new MemoryStore(surroundings, compared);
    store.command("SET", ["text", "x"]);
    const answer = () => {
      try {
        return store.evaluate(scriptSource("snippet", lua), ["key"], ["arg"]);
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(JSON.stringify(answer()) ?? "").not.toMatch(/second interpreter|not compiled/);
  });

  it("also when it fails, but for how fengari calls a variable", () => {
    const lua = "local t\nreturn t.x";
    const answers = [new CompiledScripts(nobody), new SharedInterpreter()].map((interpreter) => {
      const store = new MemoryStore(surroundings, interpreter);
      return () => store.evaluate(scriptSource("snippet", lua), [], []);
    });
    for (const answer of answers) {
      expect(answer).toThrow(
        /^ERR user_script:2: attempt to index a nil value.* script: \w{40}, on @user_script:2\.$/,
      );
    }
  });
});

describe("a comparison tells", () => {
  const get = scriptSource("one", "return redis.call('GET', 'text')");
  const others = {
    "another command": "return redis.call('GET', 'other')",
    "a command too few": "return 'x'",
    "a command too many": "redis.call('GET', 'text') return redis.call('GET', 'text')",
    "another answer": "return redis.call('GET', 'text') .. 'y'",
  };

  test.each(Object.entries(others))("%s", (_, lua) => {
    const fengari = new SharedInterpreter();
    const wrong: Interpreter = {
      runFor: (run, _script, keys, args) => fengari.runFor(run, scriptSource("other", lua), keys, args),
    };
    const store = new MemoryStore(surroundings, new ComparedScripts(new CompiledScripts(nobody), wrong));
    store.command("SET", ["text", "x"]);
    expect(() => store.evaluate(get, [], [])).toThrow(/the second interpreter of one/);
  });
});

it("in whole schedules every call sends the same commands and answers the same", {
  timeout: 120_000,
}, async () => {
  const compared = new ComparedScripts(new CompiledScripts(nobody), new SharedInterpreter());
  const restore = replaceInterpreter(compared);
  try {
    for (let seed = 1; seed <= 20; seed += 1) {
      expect((await runSchedule({ chooser: seededChooser(seed) })).violations).toEqual([]);
    }
  } finally {
    restore();
  }
  expect(compared.runs.size).toBeGreaterThan(25);
});
