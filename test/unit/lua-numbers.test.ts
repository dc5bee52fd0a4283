import { createHash } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { ServerReplyError } from "../../src/driver/driver.js";
import { MemoryServer } from "../../src/memory/index.js";
import type { RawReply } from "../../src/protocol/script-call.js";

let server: MemoryServer;

beforeEach(() => {
  server = new MemoryServer();
});

function run(lua: string, ...args: readonly string[]): RawReply {
  const sha1 = createHash("sha1").update(lua).digest("hex");
  return server.evaluate({ name: "example", lua, sha1 }, ["key"], args);
}

/** The text of a number as Redis gets it from a script. */
function asArgument(expression: string, ...args: readonly string[]): RawReply {
  return run(`redis.call("SET", KEYS[1], ${expression}) return redis.call("GET", KEYS[1])`, ...args);
}

describe("numbers in scripts are those of Lua 5.1", () => {
  // The first lines are what fengari does on its own (design review, R35).
  it.each([
    ['tonumber("1795209961") * 1000 + 7', "1795209961007"],
    ["tonumber(ARGV[1])", "1795209961773"],
    ["4 / 2", "2"],
    ["60 * 60 * 1000 * 1000", "3600000000"],
    ["0xffffffff", "4294967295"],
    ["2147483647 + 1", "2147483648"],
    ["ARGV[1] * 1000", "1795209961773000"],
    ["math.floor(1795209961773 / 1000) * 1000", "1795209961000"],
    ["math.floor(1795209961.7) * math.floor(1000.9)", "1795209961000"],
    ["math.ceil(1795209961.2) * 1000", "1795209962000"],
    ["#ARGV * 4294967296", "4294967296"],
    ["-1", "-1"],
    ["2 ^ 53", "9007199254740992"],
    ["922337203685477", "922337203685477"],
  ])("hands %s to Redis as %s", (expression, text) => {
    expect(asArgument(expression, "1795209961773")).toBe(text);
  });

  it.each([
    ["1795209961773", "1795209961773"],
    ["1795209961773 + 0.5", "1795209961774"],
    ["2.5", "2"],
    ["3.5", "4"],
    ["-0.4", "-0"],
    ["-0.6", "-1"],
    ["2 ^ 63", "9223372036854775808"],
    ["1e22", "10000000000000000000000"],
  ])('string.format("%%.0f", %s) is %s', (expression, text) => {
    expect(run(`return string.format("%.0f", ${expression})`)).toBe(text);
  });

  it.each([
    ['string.format("%d", 1795209961773)', 'the embedded server has only the format "%.0f"'],
    ['string.format("%s", "a")', 'the embedded server has only the format "%.0f"'],
    ["table.concat({ 1, 2 })", "the embedded server has no table.concat"],
    ["cjson.encode({})", "the embedded server has no cjson"],
    ["7 % 3", "the embedded server does not compile %"],
    ["7 // 3", "the embedded server does not compile //"],
    ['"\\x41"', 'the embedded server does not compile "\\x41"'],
    ["0x1p4", "the embedded server does not compile 0x1p4"],
    ["redis.call('GET', 0.1)", "the embedded server passes only whole numbers up to 2^53 to Redis"],
    ["redis.call('GET', 1e20)", "the embedded server passes only whole numbers up to 2^53 to Redis"],
    ["2 ^ 1024", "the embedded server answers no number beyond 64 bits"],
  ])("refuses %s, which 5.3 would answer otherwise, or another release of Redis", (expression, message) => {
    expect(() => run(`return ${expression}`)).toThrow(message);
  });

  it.each([
    ["tostring(1)", "1"],
    ['"x" .. 1', "x1"],
    ['"x" .. 1.5', "x1.5"],
  ])("%s is %s, as in 5.1", (expression, text) => {
    expect(run(`return ${expression}`)).toBe(text);
  });

  it.each([
    ['tonumber(" 12 ")', 12],
    ['tonumber("1e3")', 1000],
    ['tonumber("0x10")', 16],
    ['tonumber("ff", 16)', 255],
    ['tonumber("0A", 16)', 10],
    ['tonumber("00", 16)', 0],
    ['tonumber("fg", 16)', null],
    ['tonumber("12abc")', null],
    ['tonumber("")', null],
    ["tonumber({})", null],
    ["tonumber(7)", 7],
  ])("%s is %s", (expression, number) => {
    expect(run(`return ${expression}`)).toBe(number);
  });

  it("leaves digits alone that are no numerals", () => {
    const lua = `--[==[ 10 ]] 20 ]==] -- 30 ' "
      local a1, b = "40\\" 50", '60'
      local c = [[70 "80]]
      return { a1, b, c, 90 --[[ 100 ]] }`;
    expect(run(lua)).toEqual(['40" 50', "60", '70 "80', 90]);
  });

  it("counts in loops and indexes as 5.1 does", () => {
    const lua = `local seen = {}
      for i = 1, (#ARGV - 2) / 2 do seen[i] = ARGV[2 * i + 1] end
      for i, word in ipairs(ARGV) do seen[#seen + 1] = word end
      return { #seen, unpack(seen) }`;
    expect(run(lua, "a", "b", "c", "d")).toEqual([5, "c", "a", "b", "c", "d"]);
  });
});

describe("replies become Lua values and back, as Redis documents", () => {
  it.each([
    ["return { 1, nil, 3 }", [1]],
    ["return { 3.99, -3.99, -0.5, true, false, 'text', {} }", [3, -3, 0, 1, null, "text", []]],
    ["return nil", null],
    ["return 1795209961773", 1795209961773],
    ["return redis.status_reply('fine')", "fine"],
    ["return { ok = 'fine' }", "fine"],
    ["return redis.call('SET', KEYS[1], 'v').ok", "OK"],
    ["return redis.call('TYPE', KEYS[1])", "none"],
    ["return redis.call('GET', KEYS[1]) == false and 'false'", "false"],
    ["return redis.pcall('HGET', KEYS[1]).err", "ERR Wrong number of args calling Redis command from script"],
    ["return function() end", null],
  ])("%s", (lua, reply) => {
    expect(run(lua)).toEqual(reply);
  });

  it.each([
    ["return redis.error_reply('CODE text')", "CODE text"],
    ["return redis.error_reply('-CODE text')", "CODE text"],
    ["return { err = 'CODE text' }", "CODE text"],
    ["return redis.pcall('HSET', 'key')", "ERR Wrong number of args calling Redis command from script"],
  ])("%s answers an error", (lua, message) => {
    expect(() => run(lua)).toThrow(new ServerReplyError(message));
  });

  it("ends with an error for a table that contains itself", () => {
    expect(() => run("local t = {} t[1] = t return t")).toThrow("ERR reached lua stack limit");
  });
});
