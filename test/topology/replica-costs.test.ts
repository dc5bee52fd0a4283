import { isDeepStrictEqual } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import type { HoldfastOptions } from "../../src/client-options.js";
import { until } from "../support/run/until.js";
import { commandCounts, countedDuring, resetCounts } from "../support/servers/command-counts.js";
import { keepJournal } from "../support/servers/key-journal.js";
import { locksOnReplicas } from "../support/servers/locks-on-replicas.js";
import { type ScriptArrivals, watchArrivals } from "../support/servers/script-arrivals.js";

const redis = locksOnReplicas();
const NAME = "order:7";
const HOUR_MS = 3_600_000;
const MOST_TRIES = 5;
const required: HoldfastOptions = {
  commandTimeoutMs: 5_000,
  replicas: { mode: "require", timeoutMs: 1_400 },
  safetyPeriodMs: HOUR_MS,
};

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

async function arrivals(): Promise<ScriptArrivals> {
  const watch = await watchArrivals(redis.plain);
  stops.push(() => watch.stop());
  return watch;
}

/** A client that has met server and replicas, and sent all scripts of a plain lock. */
async function acquainted(options: HoldfastOptions) {
  const holdfast = redis.holdfast(options);
  await holdfast.getLock("acquaintance").using(() => undefined);
  return holdfast;
}

/** What a client sent; the commands that scripts call are left out. */
async function sent(body: () => Promise<unknown>): Promise<Record<string, number>> {
  const { eval: full = 0, evalsha = 0, wait = 0, ...others } = await countedDuring(redis.plain, body);
  return { scripts: full + evalsha, wait, info: others["info"] ?? 0 };
}

describe("lock and unlock with nobody in the way", () => {
  test("are two commands where no replica is asked", async () => {
    const lock = (await acquainted({})).getLock(NAME);
    expect(await sent(() => lock.using(() => undefined))).toEqual({ scripts: 2, wait: 0, info: 0 });
    expect(await redis.plain.client("LIST")).not.toContain("cmd=wait");
  });

  test("are two commands, each with a WAIT, where replicas are asked", async () => {
    for (const replicas of [
      { mode: "auto" },
      { mode: "require" },
      { mode: "require", min: "all" },
    ] as const) {
      const lock = (await acquainted({ replicas })).getLock(NAME);
      expect(await sent(() => lock.using(() => undefined))).toEqual({ scripts: 2, wait: 2, info: 0 });
    }
  });

  test("cost no WAIT where nobody is connected and nobody is required", async () => {
    await redis.cut();
    const lock = (await acquainted({ replicas: { mode: "auto" } })).getLock(NAME);
    expect(await sent(() => lock.using(() => undefined))).toEqual({ scripts: 2, wait: 0, info: 0 });
  });
});

describe("locks that are asked for at once", () => {
  test.each([
    { count: 2, groupCommit: true, scripts: 1 },
    { count: 100, groupCommit: true, scripts: 1 },
    { count: 100, groupCommit: false, scripts: 100 },
  ])("$count of them: $scripts scripts, and one WAIT for all", async ({ count, groupCommit, scripts }) => {
    const holdfast = await acquainted({ ...required, groupCommit });
    const locks = Array.from({ length: count }, (_, at) => holdfast.getLock(`order:${at}`));
    const costs = async () => {
      let unlock = async (): Promise<unknown> => undefined;
      const taken = await sent(async () => {
        const leases = await Promise.all(locks.map((lock) => lock.lock()));
        unlock = () => Promise.all(leases.map((lease) => lease.unlock()));
      });
      return { taken, released: await sent(unlock) };
    };
    const once = { scripts, wait: 1, info: 0 };
    const expected = { taken: once, released: once };
    let cost = await costs();
    // A replica that is kept from acknowledging for 50 ms, as on a busy machine, is asked once more.
    for (let tries = 1; tries < MOST_TRIES && !isDeepStrictEqual(cost, expected); tries += 1)
      cost = await costs();
    expect(cost).toEqual(expected);
  });

  test("while others are waited for share the next WAIT", async () => {
    const holdfast = await acquainted(required);
    await redis.freeze();
    await resetCounts(redis.plain);
    const first = holdfast.getLock("order:0").lock();
    await until(async () => (await commandCounts(redis.plain))["hset"] === 1);
    const others = Array.from({ length: 20 }, async (_, at) => {
      for (let i = 0; i < at; i++) await new Promise(setImmediate);
      return holdfast.getLock(`order:${at + 1}`).lock();
    });
    for (let i = 0; i < 20; i++) await new Promise(setImmediate);
    await redis.mend();
    const leases = await Promise.all([first, ...others]);
    const { evalsha, wait } = await commandCounts(redis.plain);
    expect([evalsha, wait]).toEqual([21, 2]);
    await Promise.all(leases.map((lease) => lease.unlock()));
  });
});

describe("WAIT", () => {
  test("counts what its own connection wrote, and nothing else: so it goes where the scripts go [R6]", async () => {
    // Why: the replica has nothing of this write, and another connection is told of one that acknowledges.
    const [writer, other] = [redis.servers.master.client(), redis.servers.master.client()];
    expect(await other.wait(1, 5_000)).toBe(1);
    await redis.freeze();
    await writer.set("key", "written");
    expect([await other.wait(1, 50), await writer.wait(1, 50)]).toEqual([1, 0]);
    await writer.del("key");
    await redis.mend();

    const monitor = await redis.plain.monitor();
    stops.push(() => monitor.disconnect());
    const ways: string[] = [];
    monitor.on("monitor", (_, [command = ""]: string[], source) => {
      // What a script calls comes from nowhere.
      if (source !== "lua") ways.push(`${command.toLowerCase()} ${source}`);
    });
    const holdfast = redis.holdfast({ ...required, watchdogMs: 3_000 });
    const lease = await holdfast.getLock(NAME).lock();
    const ofWait = () => ways.filter((way) => way.startsWith("wait"));
    // Acquired and renewed.
    await until(() => ofWait().length >= 3);
    await lease.unlock();
    await redis.plain.ping();
    await until(() => ofWait().length >= 4);
    const sources = (command: RegExp) =>
      new Set(ways.filter((way) => command.test(way)).map((way) => way.split(" ")[1]));
    expect(sources(/^wait/).size).toBe(1);
    const scripts = ways.filter((way) => way.startsWith("eval"));
    const [probe, ...rest] = scripts.map((way) => way.split(" ")[1]);
    expect(new Set(rest)).toEqual(sources(/^wait/));
    expect(rest).not.toContain(probe);
  });
});

describe("a fair lock that is released while another waits", () => {
  /** What happens between the release and the next holder's lock(). */
  async function handOver(options: HoldfastOptions): Promise<{ journal: string[]; acquired: number }> {
    await redis.plain.config("SET", "notify-keyspace-events", "KA");
    const [one, two] = [await acquainted(options), await acquainted(options)];
    const lease = await one.getFairLock(NAME).lock();
    const arrived = await arrivals();
    const waiting = two.getFairLock(NAME).lock();
    // It asks at once, and for its place when messages reach it.
    await until(() => arrived.of("fair-acquire") === 1 && arrived.of("fair-refresh") > 0);
    const journal = await keepJournal(redis.servers.master);
    await lease.unlock();
    const next = await waiting;
    const entries = await journal.read();
    await redis.plain.config("SET", "notify-keyspace-events", "");
    const acquired = arrived.of("fair-acquire") - 1;
    await next.unlock();
    const ofLock = entries.filter((entry) => /^(del|hset) order:7$|->/.test(entry));
    return { journal: ofLock.map((entry) => entry.replace(/:[0-9a-f-]{36}$/, ":<client>")), acquired };
  }

  test("is not given to that one while replicas are asked: who waits is told, and asks for itself [R5]", async () => {
    for (const replicas of [required.replicas, { mode: "auto" }] as const) {
      const { journal, acquired } = await handOver({ ...required, ...(replicas && { replicas }) });
      expect(journal).toEqual([
        "del order:7",
        expect.stringMatching(/^\d+:0 -> redisson_lock__channel:\{order:7\}:<client>$/),
        "hset order:7",
      ]);
      expect(acquired).toBe(1);
    }
  });

  test("is given to that one where they are not, so that the test above can fail", async () => {
    const { journal, acquired } = await handOver({ safetyPeriodMs: HOUR_MS });
    expect(journal).toEqual([
      "del order:7",
      "hset order:7",
      expect.stringMatching(/^\d+:[1-9]\d+ -> redisson_lock__channel:\{order:7\}:<client>$/),
    ]);
    expect(acquired).toBe(0);
  });
});
