import { describe, expect, test } from "vitest";
import { halfOpen } from "../support/faults/proxy-faults.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import type { Child } from "../support/worlds/child.js";
import { childPrograms } from "../support/worlds/child-programs.js";

const redis = locksOnRedis();
const start = childPrograms();
const LONG_MS = 240_000;
const user = (settings: object = {}) => start("recipe-user", { port: redis.server.port, ...settings });
const told = (children: readonly Child[], event: string) =>
  children.flatMap(({ events }) => events.filter((each) => each.event === event));

describe("the fires of a schedule", () => {
  const PROCESSES = 8;
  const FIRES = 1_000;
  const KILLS = 6;

  test("are run once each by eight processes whose clocks differ, but for those that a crash took", {
    timeout: LONG_MS,
  }, async () => {
    const schedule = {
      name: "nightly",
      firstMs: Math.floor(Date.now() / 1_000) * 1_000 - FIRES * 1_000,
      count: FIRES,
      runs: "runs",
      fasterBy: 100,
    };
    const all: Child[] = [];
    const join = async (nth: number, startMs: number) => {
      const aheadMs = Math.round((nth / (PROCESSES - 1)) * 4_000 - 2_000);
      const child = await user({ watchdogMs: 1_000, aheadMs });
      all.push(child);
      return { child, fired: child.ask("runFires", { ...schedule, startMs }).catch(() => undefined) };
    };
    const startMs = Date.now() + 500;
    const fleet = await Promise.all(Array.from({ length: PROCESSES }, (_, nth) => join(nth, startMs)));
    for (let kill = 1; kill <= KILLS; kill += 1) {
      await until(async () => (await redis.plain.llen("runs")) >= (kill * FIRES) / (KILLS + 2));
      await redis.plain.set("runs:hold", "1");
      await until(() => told(all, "holding").length === kill);
      const at = fleet.findIndex(({ child }) => told([child], "holding").length > 0);
      await fleet[at]?.child.stop();
      await redis.plain.del("runs:now");
      fleet[at] = await join(at, startMs);
    }
    const outcomes = await Promise.all(fleet.map(({ fired }) => fired));
    const runs = (await redis.plain.lrange("runs", 0, -1)).map(Number);
    const marked = await redis.plain.keys("holdfast_once:{nightly}:*");

    expect(new Set(runs).size).toBe(runs.length);
    // Each kill took the one that was begun.
    expect([marked.length, runs.length]).toEqual([FIRES, FIRES - KILLS]);
    expect(outcomes.map((outcome) => outcome?.["busy"])).toEqual(outcomes.map(() => 0));
    expect(outcomes.map((outcome) => outcome?.["late"])).toEqual(outcomes.map(() => 0));
    expect(told(all, "together")).toEqual([]);
    await redis.plain.flushall();
  });
});

describe("three processes that stand for leader", () => {
  const TTL_MS = 1_000;
  /** So long that only a message wakes a successor in time. */
  const LONG_TTL_MS = 24 * 3_600_000;

  async function standing(ttlMs: number, ports: readonly number[] = []): Promise<Child[]> {
    const children = await Promise.all(
      [0, 1, 2].map((nth) => user({ port: ports[nth] ?? redis.server.port })),
    );
    for (const child of children) await child.ask("stand", { name: "office", ttlMs, key: "token" });
    return children;
  }

  const tokens = (all: readonly Child[]) => told(all, "leads").map(({ token }) => Number(token));

  /** Resolves with the process that leads by a later token than any before. */
  async function nextLeader(all: readonly Child[], known: number): Promise<Child> {
    await until(() => told(all, "leads").length > known);
    const latest = Math.max(...tokens(all));
    const child = all.find(({ events }) => events.some(({ token }) => Number(token) === latest));
    if (child === undefined) throw new Error("somebody leads");
    return child;
  }

  test("follow each other at once when they are restarted one by one", { timeout: LONG_MS }, async () => {
    const all = await standing(LONG_TTL_MS);
    for (let restart = 0; restart < 6; restart += 1) {
      const leader = await nextLeader(all, restart);
      process.kill(leader.pid, "SIGTERM");
      expect(await leader.exited).toEqual({ code: 0, signal: null });
      const fresh = await user();
      await fresh.ask("stand", { name: "office", ttlMs: LONG_TTL_MS, key: "token" });
      all.push(fresh);
    }
    await nextLeader(all, 6);
    expect(tokens(all).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(told(all, "two-leaders")).toEqual([]);
    expect(told(all, "leader-error")).toEqual([]);
    await Promise.all(all.map((child) => child.ask("exit").catch(() => undefined)));
    await redis.plain.flushall();
  });

  test.each(["killed", "stopped", "cut off"])(
    "are never two that believe it, when the leader is %s",
    {
      timeout: LONG_MS,
    },
    async (how) => {
      const proxies = await Promise.all([redis.proxy(), redis.proxy(), redis.proxy()]);
      const all = await standing(
        TTL_MS,
        proxies.map(({ port }) => port),
      );
      const first = await nextLeader(all, 0);
      const proxy = proxies[all.indexOf(first)];
      if (how === "killed") await first.stop();
      if (how === "stopped") await first.freeze();
      if (how === "cut off") proxy?.inject(halfOpen());
      const second = await nextLeader(
        all.filter((child) => child !== first),
        0,
      );
      if (how === "stopped") first.thaw();
      if (how === "cut off") await proxy?.heal();
      if (how !== "killed") await first.next("ended");
      process.kill(second.pid, "SIGTERM");
      await second.exited;
      await nextLeader(all, 2);
      expect(tokens(all).toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
      expect(told(all, "two-leaders")).toEqual([]);
      await Promise.all(all.map((child) => child.ask("exit").catch(() => undefined)));
      await redis.plain.flushall();
    },
  );
});

test("a value that 1,000 callers of eight processes want is loaded once, and once more when the loader dies", {
  timeout: LONG_MS,
}, async () => {
  const all = await Promise.all(Array.from({ length: 8 }, () => user({ watchdogMs: 1_000 })));
  const wanted = { name: "user:42", callers: 125, until: "go" };
  const fetched = all.map((child) => child.ask("fetchMany", wanted).catch(() => undefined));
  await until(() => told(all, "loading").length === 1);
  const loader = all.find((child) => told([child], "loading").length > 0);
  await loader?.stop();
  await redis.plain.del("user:42:now");
  await until(() => told(all, "loading").length === 2);
  await redis.plain.set("go", "1");
  const values = (await Promise.all(fetched)).filter((answer) => answer !== undefined);
  expect(values.map((answer) => answer?.["values"])).toEqual(
    Array.from({ length: 7 }, () => ["made by load 2"]),
  );
  expect(await redis.plain.get("user:42:loads")).toBe("2");
  expect(told(all, "together")).toEqual([]);
  await Promise.all(all.map((child) => child.ask("exit").catch(() => undefined)));
  await redis.plain.flushall();
});
