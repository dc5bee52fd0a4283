import { createHash } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { commandHistory, lockHistory, type Step, textOf } from "../support/server-histories.js";
import { type Action, ServerPair } from "../support/server-pair.js";

const HISTORIES = 500;

/** What each script must have answered in the course of the histories, or they prove little. */
const ANSWERS = {
  "lock-acquire": ["held", "busy", "late", "lost", "wrong-type", "miscounted", "refused"],
  "lock-release": ["released", "absent", "late", "wrong-type", "miscounted"],
  "lock-renew": ["renewed", "lost"],
  "lock-force-unlock": ["released", "absent", "changed", "late", "wrong-type"],
  "fair-acquire": ["held", "busy", "queued", "late", "lost", "wrong-type", "miscounted", "refused", "free"],
  "fair-release": ["released", "absent", "late", "wrong-type", "miscounted"],
  "fair-refresh": ["queued", "granted", "gone"],
  "fair-force-unlock": ["released", "absent", "changed", "late", "wrong-type"],
  "read-acquire": ["held", "busy", "late", "lost", "wrong-type", "miscounted", "refused", "free"],
  "read-release": ["released", "absent", "late", "wrong-type", "miscounted"],
  "read-renew": ["renewed", "lost"],
  "write-acquire": ["held", "busy", "late", "lost", "wrong-type", "miscounted", "refused", "free"],
  "write-release": ["released", "absent", "late", "wrong-type", "miscounted"],
  "read-write-force-unlock": ["released", "absent", "changed", "late", "wrong-type"],
};

/** Times that differ by less may be the same: the two servers do not act at the same moment. */
const SLACK_MS = 1_500;

/** Smaller numbers are no times and have to be the same. All leases are far above. */
const SMALLEST_TIME_MS = 2_000;

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

async function runHistory(steps: readonly Step[], note: (answer: string) => void = () => undefined) {
  await pair.flush();
  for (const step of steps) {
    if ("full" in step) {
      await pair.full(step.full);
      continue;
    }
    const action = "decide" in step ? step.decide(pair.memory.dump()) : step;
    const reply = await expectSame(action);
    if (!("script" in action)) continue;
    for (const answer of [reply].flat(3)) note(`${action.script.name} ${answer}`);
  }
}

describe("the embedded server does what redis-server does", () => {
  const seed = Date.now() & 0x7fffffff;

  it("in random histories of locks", { timeout: 60_000 }, async () => {
    console.info(`differential.test.ts: seed ${seed}`);
    const answers = new Set<string>();
    const run = (steps: readonly Step[]) => runHistory(steps, (answer) => answers.add(answer));
    await fc.assert(fc.asyncProperty(lockHistory, run), { seed, numRuns: HISTORIES });
    const wanted = Object.entries(ANSWERS).flatMap(([name, all]) => all.map((answer) => `${name} ${answer}`));
    expect(wanted.filter((answer) => !answers.has(answer))).toEqual([]);
  });

  it("in random histories of commands", { timeout: 60_000 }, async () => {
    const run = (steps: readonly Step[]) => runHistory(steps);
    await fc.assert(fc.asyncProperty(commandHistory, run), { seed, numRuns: HISTORIES });
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
