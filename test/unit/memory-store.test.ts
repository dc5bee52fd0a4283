import { expect, test } from "vitest";
import { MemoryStore, SharedInterpreter } from "../../src/memory/memory-store.js";
import { scriptSource } from "../../src/protocol/script-call.js";

const setAndTell = scriptSource(
  "set-and-tell",
  "redis.call('SET', KEYS[1], ARGV[1])\nreturn redis.call('PUBLISH', 'c', ARGV[1])\n",
);
const read = scriptSource("read", "return redis.call('GET', KEYS[1])\n");

function stores() {
  const world = { wallMs: 1_000, published: [] as string[] };
  const interpreter = new SharedInterpreter();
  const newStore = (name: string) =>
    new MemoryStore(
      {
        wallMs: () => world.wallMs,
        publish: (channel, message) => world.published.push(`${name} ${channel} ${message}`),
        listeners: () => 3,
        channels: () => [],
      },
      interpreter,
    );
  return { world, one: newStore("one"), other: newStore("other") };
}

test("stores that share an interpreter keep their keys and channels apart", () => {
  const { world, one, other } = stores();
  one.evaluate(setAndTell, ["k"], ["1"]);
  other.evaluate(setAndTell, ["k"], ["2"]);
  expect([one.evaluate(read, ["k"], []), other.evaluate(read, ["k"], [])]).toEqual(["1", "2"]);
  expect(world.published).toEqual(["one c 1", "other c 2"]);
  expect(one.command("PUBSUB", ["NUMSUB", "c"])).toEqual(["c", 3]);
});

test("a store counts what may write, and nothing else", () => {
  const { one } = stores();
  one.evaluate(read, ["k"], []);
  one.command("GET", ["k"]);
  expect(one.writes).toBe(0);
  one.evaluate(setAndTell, ["k"], ["1"]);
  expect(one.writes).toBe(1);
});

test("a copy has the values and deadlines of its moment, and neither store changes it later", () => {
  const { world, one, other } = stores();
  one.command("HSET", ["h", "f", 1]);
  one.command("PEXPIRE", ["h", 500]);
  one.command("RPUSH", ["l", "a"]);
  one.command("ZADD", ["z", 1, "m"]);
  one.command("SET", ["s", "text"]);
  const then = one.dump();
  const copy = one.copy();
  one.command("HSET", ["h", "f", 2]);
  one.command("RPUSH", ["l", "b"]);
  one.command("ZADD", ["z", 2, "m"]);
  one.command("SET", ["s", "other"]);
  other.command("SET", ["gone", 1]);
  other.become(copy);
  expect(other.dump()).toEqual(then);
  other.command("HSET", ["h", "f", 3]);
  one.become(copy);
  expect(one.dump()).toEqual(then);
  world.wallMs += 501;
  expect(Object.keys(other.dump())).toEqual(["l", "z", "s"]);
});

test("some of the keys move alone", () => {
  const { one, other } = stores();
  const isA = (key: string) => key.startsWith("a");
  for (const key of ["a1", "a2", "b1"]) one.command("SET", [key, "one"]);
  for (const key of ["a3", "b1"]) other.command("SET", [key, "other"]);
  other.become(one.copy(isA), isA);
  one.become(new Map(), isA);
  expect(Object.keys(one.dump())).toEqual(["b1"]);
  expect(Object.keys(other.dump()).sort()).toEqual(["a1", "a2", "b1"]);
  expect(other.command("GET", ["b1"])).toBe("other");
});
