import { readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { seededRandom } from "../../../test/support/run/seeded-random.js";
import { locksOnRedis } from "../../../test/support/servers/locks-on-redis.js";
import { FOREIGN } from "../../../test/support/worlds/foreign-holder.js";
import { holdfast, type RunOptions, type Written } from "./support/command-line.js";
import { misfits } from "./support/schemas.js";
import { typing } from "./support/typing.js";
import { raceUnlocks } from "./support/unlock-race.js";

const redis = locksOnRedis();
const random = seededRandom();
const OTHER = "4f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:58";
const log = join(tmpdir(), `holdfast-unlock-${process.pid}`);
afterEach(async () => {
  rmSync(log, { force: true });
  await redis.plain.del("a", "app:a");
});

function unlock(args: readonly string[], options: RunOptions = {}): Promise<Written> {
  return holdfast(["unlock", "--url", redis.server.url, ...args], options);
}

function holders(key = "a"): Promise<string[]> {
  return redis.plain.hkeys(key);
}

async function hold(...by: readonly string[]): Promise<void> {
  for (const holder of by) await redis.plain.hset("a", holder, 1);
}

describe("unlock", () => {
  test("says that a free lock is free", async () => {
    expect(await unlock(["a"])).toMatchObject({
      code: 0,
      out: "a: nothing was done: it was already free\n",
      err: "",
    });
  });

  test("shows a lock that is held, frees nothing by itself, and says how", async () => {
    await hold(FOREIGN);
    const { code, out } = await unlock(["a"]);
    expect([code, await holders()]).toEqual([1, [FOREIGN]]);
    expect(out).toContain("JVM 3f0c…:57");
    expect(out).toContain("a JVM is not notified");
    const line = out.split("\n").find((each) => each.startsWith("  holdfast unlock"));
    expect(line).toContain(`--holder ${FOREIGN}`);
    // The line that it gives does what it says.
    expect((await holdfast((line ?? "").trim().split(" ").slice(1))).code).toBe(0);
    expect(await holders()).toEqual([]);
  });

  test("frees the holder that is named, and writes down by which user and why", async () => {
    await hold(FOREIGN);
    const args = ["a", "--holder", FOREIGN, "--reason", "its pod is gone", "--log", log];
    const { code, out, err } = await unlock(args);
    expect([code, await holders()]).toEqual([0, []]);
    expect(out).toContain("a: freed");
    const line = readFileSync(log, "utf8");
    expect(line).toContain(`freed "a"; held by ${FOREIGN}; reason "its pod is gone"`);
    expect(err).toBe(`holdfast: ${line}`);
  });

  test.each([{ given: [OTHER] }, { given: [FOREIGN, OTHER] }, { given: ["nonsense"] }])(
    "leaves the lock alone when its holders are not exactly $given",
    async ({ given }) => {
      await hold(FOREIGN);
      const { code, out, err } = await unlock([
        "a",
        ...given.flatMap((holder) => ["--holder", holder]),
        "--log",
        log,
      ]);
      expect([code, await holders()]).toEqual([1, [FOREIGN]]);
      expect(out).toContain("nothing was done: it has other holders than --holder says");
      expect([err, readFileSync(log, "utf8")]).toEqual(["", ""]);
    },
  );

  test("frees several holders when all of them are named", async () => {
    await hold(FOREIGN, OTHER);
    expect((await unlock(["a", "--holder", OTHER, "--holder", FOREIGN])).code).toBe(0);
    expect(await holders()).toEqual([]);
  });

  test("calls a JVM never stale", async () => {
    await hold(FOREIGN);
    const { code, out } = await unlock(["a", "--stale"]);
    expect([code, await holders()]).toEqual([1, [FOREIGN]]);
    expect(out).toContain("it is not stale: JVM 3f0c…:57 has no presence, and may be running");
  });

  test.each([
    { answer: "a\n", code: 0, left: [] },
    { answer: "b\n", code: 1, left: [FOREIGN] },
    { answer: "y\n", code: 1, left: [FOREIGN] },
    { answer: "", code: 1, left: [FOREIGN] },
  ])("asks for the name with --force on a terminal: $answer", async ({ answer, code, left }) => {
    await hold(FOREIGN);
    const result = await unlock(["a", "--force"], { input: typing(answer) });
    expect([result.code, await holders()]).toEqual([code, left]);
    expect(result.err).toContain("type its name");
  });

  test("asks for nothing with --force --yes", async () => {
    await hold(FOREIGN);
    expect(await unlock(["a", "--force", "--yes"], { input: typing("b\n") })).toMatchObject({ code: 0 });
    expect(await holders()).toEqual([]);
  });

  test.each([
    [["a", "--force"], "--force without a terminal needs --yes"],
    [["a", "--yes"], "--yes needs --force"],
    [["a", "--force", "--stale"], "cannot be used with"],
    [["a", "--holder", FOREIGN, "--force"], "cannot be used with"],
    [["a", "--holder", FOREIGN, "--stale"], "cannot be used with"],
    [[], "missing required argument"],
    [[""], "name"],
    [["a", "b"], "too many arguments"],
    [["a", "--log", join(tmpdir(), "no-such-folder", "log"), "--force", "--yes"], "--log: ENOENT"],
  ])("refuses %j", async (args, says) => {
    await hold(FOREIGN);
    const { code, err } = await unlock(args);
    expect([code, await holders()]).toEqual([64, [FOREIGN]]);
    expect(err).toContain(says);
  });

  test.each([
    { type: "set", make: () => redis.plain.sadd("a", "x") },
    { type: "semaphore or a latch", make: () => redis.plain.set("a", "7") },
    { type: "string", make: () => redis.plain.set("a", "redlock") },
    { type: "another program wrote its key", make: () => redis.plain.hset("a", "colour", "red") },
  ])("answers 65 where the key holds a $type", async ({ type, make }) => {
    await make();
    const { code, err } = await unlock(["a", "--force", "--yes"]);
    expect([code, await redis.plain.exists("a")]).toEqual([65, 1]);
    expect(err).toContain(type);
  });

  test("answers one object with --json, and shows nothing else on stdout", async () => {
    await hold(FOREIGN);
    const left = await unlock(["a", "--json", "--stale"]);
    expect([left.code, JSON.parse(left.out)]).toMatchObject([
      1,
      {
        name: "a",
        key: "a",
        outcome: "left",
        kind: "lock",
        holders: [{ holder: FOREIGN, by: "jvm", client: null }],
      },
    ]);
    const freed = await unlock(["a", "--json", "--force", "--yes"]);
    const free = await unlock(["a", "--json"]);
    expect(misfits("unlock", [left.out, freed.out, free.out])).toEqual([]);
    expect([freed.code, JSON.parse(freed.out)]).toMatchObject([0, { outcome: "released" }]);
    expect(freed.err).toContain('freed "a"');
  });

  test("goes by the prefix", async () => {
    await redis.plain.hset("app:a", FOREIGN, 1);
    const { code, out } = await unlock(["a", "--prefix", "app:", "--holder", FOREIGN]);
    expect([code, await holders("app:a")]).toEqual([0, []]);
    expect(out).toContain("app:a");
  });

  test("says that presence can not be read, and frees all the same", async () => {
    await hold(FOREIGN);
    await redis.plain.acl(
      "SETUSER",
      "few",
      "on",
      ">secret",
      "~a",
      "~{a}*",
      "~redisson_*",
      "~holdfast_fair*",
      "~holdfast_waiting*",
      "&*",
      "+@all",
    );
    const { code, out } = await unlock(["a", "--force", "--yes", "--user", "few"], {
      env: { HOLDFAST_PASSWORD: "secret" },
    });
    await redis.plain.acl("DELUSER", "few");
    expect([code, await holders()]).toEqual([0, []]);
    expect(out).toContain("presence can not be read");
  });

  test("raced fifty times with hand-overs, frees only what it has shown", async () => {
    const clients = [0, 1, 2].map(() => redis.holdfast({ handOff: false }));
    const result = await raceUnlocks({ url: redis.server.url, clients, random, runs: 50 });
    expect(result).toMatchObject({ wronged: [], wrongCodes: [] });
    expect(result.outcomes["released"]).toBeGreaterThan(0);
  });
});
