import { createHash } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { type Driver, DriverClosedError, ServerReplyError } from "../../src/driver/driver.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";
import type { RawReply, ScriptSource } from "../../src/protocol/script-call.js";
import { sources } from "../support/all-scripts.js";

const HOLDER = "0b1e8e0a-7c55-8f3e-9a55-5d7f6d1c2b3a:4294967296";

let clock: FakeClock;
let server: MemoryServer;

beforeEach(() => {
  clock = new FakeClock();
  server = new MemoryServer({ clock });
});

function scriptOf(lua: string): ScriptSource {
  return { name: "example", lua, sha1: createHash("sha1").update(lua).digest("hex") };
}

function evaluate(lua: string, keys: readonly string[] = [], args: readonly string[] = []): RawReply {
  return server.evaluate(scriptOf(lua), keys, args);
}

function runOn(driver: Driver, lua: string, ...keys: readonly string[]): Promise<RawReply> {
  return driver.run({ script: scriptOf(lua), keys, args: [] }, { givenUp: false });
}

describe("keys of the embedded server", () => {
  it("expire on the wall clock of the server, seen by nobody after their last millisecond", async () => {
    server.command("SET", "key", "value", "PX", 1_000);
    await clock.advance(400);
    expect(server.command("PTTL", "key")).toBe(600);
    clock.suspend(600);
    expect([server.command("PTTL", "key"), server.command("GET", "key")]).toEqual([0, "value"]);
    await clock.advance(1);
    expect(server.dump()).toEqual({});
    expect([server.command("PTTL", "key"), server.command("EXISTS", "key")]).toEqual([-2, 0]);
  });

  it("need no timer to expire", () => {
    server.command("SET", "key", "value", "PX", 1_000);
    expect(clock.pendingTimers).toBe(0);
  });

  it("do not pile up when nobody asks for them after their time", () => {
    const unused = () => {
      for (let i = 0; i < 50_000; i++) {
        server.command("SET", `key ${clock.wallMs()}`, "v".repeat(100), "PX", 1_000);
        clock.block(1);
      }
      gc?.();
      return process.memoryUsage().heapUsed;
    };
    const before = unused();
    expect(unused() - before).toBeLessThan(3_000_000);
  });

  it("say -1 without a TTL and -2 without a key", () => {
    server.command("HSET", "hash", "field", 1);
    expect(server.command("PTTL", "hash")).toBe(-1);
    expect(server.command("PTTL", "nothing")).toBe(-2);
  });

  it("keep their TTL when a field is written, and lose it when they are set", () => {
    server.command("HSET", "hash", "field", 1);
    server.command("SET", "string", 1);
    for (const key of ["hash", "string"]) server.command("PEXPIRE", key, 5_000);
    server.command("HSET", "hash", "field", 2);
    server.command("INCR", "string");
    expect([server.command("PTTL", "hash"), server.command("PTTL", "string")]).toEqual([5_000, 5_000]);
    server.command("SET", "string", 3);
    expect(server.command("PTTL", "string")).toBe(-1);
  });

  it.each([0, -1])("end at once with a PEXPIRE of %d", (ttlMs) => {
    server.command("SET", "key", "value");
    expect(server.command("PEXPIRE", "key", ttlMs)).toBe(1);
    expect(server.command("EXISTS", "key")).toBe(0);
    expect(server.command("PEXPIRE", "key", ttlMs)).toBe(0);
  });

  it("end with their last field, item or member", () => {
    server.command("HSET", "hash", "field", 1);
    server.command("RPUSH", "list", "item", "item");
    server.command("ZADD", "set", 1, "member");
    server.command("HDEL", "hash", "field");
    server.command("LREM", "list", 0, "item");
    server.command("ZREM", "set", "member");
    expect(server.dump()).toEqual({});
  });

  it("are shown with type, TTL and value, whatever their bytes", () => {
    server.command("SET", "größe", "数");
    server.command("HSET", "hash", "a", 1, "b", 2);
    server.command("PEXPIRE", "hash", 500);
    server.command("RPUSH", "list", "x", "y");
    evaluate('redis.call("ZADD", KEYS[1], 1795209961773, string.char(255, 0, 16, 1))', ["set"]);
    expect(server.dump()).toEqual({
      größe: { type: "string", ttlMs: -1, value: "数" },
      hash: { type: "hash", ttlMs: 500, value: { a: "1", b: "2" } },
      list: { type: "list", ttlMs: -1, value: ["x", "y"] },
      set: { type: "zset", ttlMs: -1, value: { "0xff001001": 1_795_209_961_773 } },
    });
    server.flush();
    expect(server.dump()).toEqual({});
  });

  it("keep 16 raw bytes as they are, and in the order of bytes", () => {
    const ids = ["ff00112233445566778899aabbccddee", "00ffeeddccbbaa998877665544332211"];
    const lua = `for i = 1, #ARGV do
        local id = string.gsub(ARGV[i], "..", function(digits) return string.char(tonumber(digits, 16)) end)
        redis.call("ZADD", KEYS[1], 1, id)
        if not redis.call("ZSCORE", KEYS[1], id) or #id ~= 16 then return "mangled" end
      end
      local first = string.byte(redis.call("ZRANGE", KEYS[1], 0, 0)[1])
      return { first, redis.call("ZCOUNT", KEYS[1], "(0", "+inf") }`;
    expect(evaluate(lua, ["set"], ids)).toEqual([0, 2]);
    const value = Object.fromEntries(ids.map((id) => [`0x${id}`, 1]));
    expect(server.dump()).toEqual({ set: { type: "zset", ttlMs: -1, value } });
    expect(server.command("ZREMRANGEBYRANK", "set", 0, 0)).toBe(1);
    expect(Object.keys(server.dump()["set"]?.value ?? {})).toEqual([`0x${ids[0]}`]);
  });
});

describe("commands of the embedded server", () => {
  it.each([
    [["HGET", "string", "field"], "WRONGTYPE Operation against a key holding the wrong kind of value"],
    [["PEXPIRE", "string", "soon"], "ERR value is not an integer or out of range"],
    [["HGET", "string"], "ERR wrong number of arguments for 'hget' command"],
    [["NOSUCH", "a"], "ERR unknown command 'NOSUCH', with args beginning with: 'a' "],
  ])("refuse %j in the words of Redis", ([name = "", ...args], message) => {
    server.command("SET", "string", "text");
    const refused = () => server.command(name, ...args);
    expect(refused).toThrow(new ServerReplyError(message));
  });

  it("tell the time of the clock in seconds and microseconds", () => {
    clock = new FakeClock({ epochMs: 1_795_209_961_773 });
    server = new MemoryServer({ clock });
    expect(server.command("TIME")).toEqual(["1795209961", "773000"]);
  });

  it("that may grow are refused by a full server, until the script has written", () => {
    server.command("HSET", "hash", "field", 1);
    server.full(true);
    const oom = "OOM command not allowed when used memory > 'maxmemory'.";
    expect(() => server.command("HSET", "hash", "field", 2)).toThrow(new ServerReplyError(oom));
    const twice = `redis.pcall("HSET", KEYS[1], "field", 2)
      return redis.pcall("HSET", KEYS[1], "field", 2).err`;
    expect(evaluate(twice, ["hash"])).toBe(oom);
    const afterRenewal = `redis.call("PEXPIRE", KEYS[1], 1000)
      return redis.call("HSET", KEYS[1], "field", 2)`;
    expect(evaluate(afterRenewal, ["hash"])).toBe(0);
    expect(() => server.command("SET", "other", 1)).toThrow(oom);
    server.full(false);
    expect(server.command("SET", "other", 1)).toBe("OK");
  });
});

describe("scripts on the embedded server", () => {
  it("fail in the words of Redis, with the place", () => {
    server.command("SET", "string", "text");
    const script = scriptOf('local key = KEYS[1]\nreturn redis.call("HGET", key, "field")');
    const message =
      "WRONGTYPE Operation against a key holding the wrong kind of value " +
      `script: ${script.sha1}, on @user_script:2.`;
    expect(() => server.evaluate(script, ["string"], [])).toThrow(new ServerReplyError(message));
  });

  it("keep what they wrote before they failed", () => {
    expect(() => evaluate('redis.call("SET", KEYS[1], 1) error("stop")', ["key"])).toThrow("stop");
    expect(server.command("GET", "key")).toBe("1");
  });

  it.each([
    ["return lock", "Script attempted to access nonexistent global variable 'lock'"],
    ["lock = 1", "Attempt to modify a readonly table"],
    ["KEYS = {}", "Attempt to modify a readonly table"],
    ["return (", "ERR Error compiling script (new function): user_script:1: unexpected symbol"],
    ["return redis.call('GET', {})", "ERR Lua redis lib command arguments must be strings or integers"],
    ["return redis.call()", "ERR Please specify at least one argument for this redis lib call"],
  ])("%s fails with: %s", (lua, message) => {
    expect(() => evaluate(lua)).toThrow(message);
  });

  it("get their own keys and arguments at each run", () => {
    const lua = "return { #KEYS, KEYS[1], #ARGV, ARGV[1] }";
    expect(evaluate(lua, ["a", "b"], ["c", "ü"])).toEqual([2, "a", 2, "c"]);
    expect(evaluate(lua, ["d"], [])).toEqual([1, "d", 0]);
  });

  it("are the same ones that a real server runs", () => {
    const notAfterMs = String(clock.wallMs());
    const take = (holder: string) =>
      server.evaluate(sources["lock-acquire"], ["lock"], [notAfterMs, "30000", "0", holder]);
    expect(take(HOLDER)).toBe(clock.wallMs());
    expect(take("somebody else")).toEqual([clock.wallMs(), ["busy", 30_000, HOLDER]]);
    expect(server.evaluate(sources["server-probe"], [], [])).toEqual([
      clock.wallMs(),
      "7.2.0",
      0,
      "noeviction",
      "master",
      "0",
    ]);
  });
});

describe("channels of the embedded server", () => {
  it("deliver in a later turn, in order, as often as there are listeners", async () => {
    const heard: string[] = [];
    server.subscribe("kanal ü", (message) => heard.push(`one: ${message}`));
    server.subscribe("kanal ü", (message) => heard.push(`two: ${message}`));
    expect(server.command("PUBLISH", "kanal ü", "ä")).toBe(2);
    evaluate('redis.call("PUBLISH", ARGV[1], "b")', [], ["kanal ü"]);
    expect(heard).toEqual([]);
    await clock.advance(0);
    expect(heard).toEqual(["one: ä", "two: ä", "one: b", "two: b"]);
  });

  it("deliver nothing once the listening has ended, not even what is on its way", async () => {
    const heard: string[] = [];
    const end = server.subscribe("channel", (message) => heard.push(message));
    server.command("PUBLISH", "channel", "too late");
    end();
    end();
    expect(server.command("PUBLISH", "channel", "nobody there")).toBe(0);
    await clock.advance(0);
    expect(heard).toEqual([]);
  });
});

describe("memoryDriver", () => {
  it("answers without advancing a fake clock, in a later turn, in the order of the calls", async () => {
    const driver = memoryDriver(server);
    const events: string[] = [];
    const add = async (name: string) => {
      await runOn(driver, `return redis.call("RPUSH", KEYS[1], "${name}")`, "list");
      events.push(name);
    };
    const answers = Promise.all([add("a"), add("b"), add("c")]);
    expect(server.dump()).toEqual({});
    await answers;
    expect(events).toEqual(["a", "b", "c"]);
    expect(server.command("LRANGE", "list", 0, -1)).toEqual(["a", "b", "c"]);
    expect(clock.pendingTimers).toBe(0);
  });

  it("answers the publisher first and delivers after that", async () => {
    const [publisher, subscriber] = [memoryDriver(server), memoryDriver(server)];
    const events: string[] = [];
    const unsubscribe = await subscriber.subscribe("channel", {
      onReady: () => events.push("ready"),
      onMessage: (message) => events.push(message),
    });
    void runOn(publisher, 'redis.call("PUBLISH", "channel", "1") redis.call("PUBLISH", "channel", "2")').then(
      () => events.push("answered"),
    );
    await clock.advance(0);
    expect(events).toEqual(["ready", "answered", "1", "2"]);
    await unsubscribe();
    await unsubscribe();
    expect(server.command("PUBLISH", "channel", "3")).toBe(0);
  });

  it("rejects with the server's error", async () => {
    const failed = runOn(memoryDriver(server), "return redis.error_reply('NOPE not here')");
    await expect(failed).rejects.toThrow(new ServerReplyError("NOPE not here"));
    await expect(failed).rejects.toMatchObject({ code: "NOPE" });
  });

  it("answers what was sent before it was closed, and refuses what comes after", async () => {
    const [driver, other] = [memoryDriver(server), memoryDriver(server)];
    const heard: string[] = [];
    await driver.subscribe("channel", { onReady: () => undefined, onMessage: (text) => heard.push(text) });
    server.command("PUBLISH", "channel", "on its way");
    const sent = runOn(driver, "return 1");
    const tooLate = driver.subscribe("other", { onReady: () => undefined, onMessage: () => undefined });
    await Promise.all([driver.close(), expect(tooLate).rejects.toThrow(DriverClosedError)]);
    await driver.close();
    await expect(sent).resolves.toBe(1);
    await expect(runOn(driver, "return 1")).rejects.toThrow(DriverClosedError);
    expect({ heard, listeners: server.command("PUBLISH", "channel", "x") }).toEqual({
      heard: [],
      listeners: 0,
    });
    await expect(runOn(other, "return 1")).resolves.toBe(1);
  });

  it("has a server of its own unless one is given, and names it", async () => {
    const [one, two] = [memoryDriver(), memoryDriver()];
    await runOn(one, 'return redis.call("SET", KEYS[1], 1)', "key");
    expect(await runOn(two, 'return redis.call("EXISTS", KEYS[1])', "key")).toBe(0);
    expect(one.traits.topology).toBe("memory");
    expect(one.traits.server).not.toBe(two.traits.server);
    expect(memoryDriver(server).traits).toEqual(memoryDriver(server).traits);
  });
});
