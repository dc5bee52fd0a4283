import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { watchLeaks } from "../support/run/leaks.js";
import { until } from "../support/run/until.js";
import type { RedisServer } from "../support/servers/redis-server.js";
import { workerServer } from "../support/servers/worker-server.js";
import { childPrograms } from "../support/worlds/child-programs.js";

let server: RedisServer;
let admin: Redis;

beforeAll(async () => {
  server = await workerServer();
  admin = server.client();
});
afterAll(() => server.stop());
watchLeaks({ keys: () => admin });
afterEach(() => admin.flushall());
const start = childPrograms();

const lock = "a lock";

describe("the lock taker", () => {
  it("takes, re-asks and releases the lock as it is told", async () => {
    const [one, two] = await Promise.all([
      start("lock-taker", { port: server.port, lock }),
      start("lock-taker", { port: server.port, lock }),
    ]);
    const held = await one.ask("lock");
    expect(held).toMatchObject({ event: "held", holdCount: 1 });
    expect(await admin.hgetall(lock)).toEqual({ [String(held["holder"])]: "1" });
    expect(await one.ask("state")).toMatchObject({ state: "held", aborted: false });
    expect(await two.ask("tryLock")).toMatchObject({ event: "busy" });
    const waiting = two.ask("lock");
    expect(await one.ask("unlock")).toMatchObject({ event: "released" });
    expect(await waiting).toMatchObject({ event: "held" });
    expect(await two.ask("no such thing")).toMatchObject({ event: "failed", error: { name: "TypeError" } });
    expect(await two.ask("exit", { releaseHeld: true })).toMatchObject({ event: "closed" });
    expect(await two.exited).toEqual({ code: 0, signal: null });
    expect(await admin.exists(lock)).toBe(0);
  });

  it("can be killed while it holds the lock, which stays", async () => {
    const taker = await start("lock-taker", { port: server.port, lock });
    await taker.ask("lock");
    const pending = taker.ask("block", { ms: 60_000 });
    const failed = expect(pending).rejects.toThrow("the child ended (SIGKILL)");
    expect(await taker.stop()).toEqual({ code: null, signal: "SIGKILL" });
    await failed;
    expect(await admin.pttl(lock)).toBeGreaterThan(0);
    await expect(taker.ask("state")).rejects.toThrow("the child has ended");
  });

  it("can be stopped past its lease, and sees the loss in its very next line", async () => {
    const taker = await start("lock-taker", { port: server.port, lock });
    await taker.ask("lock", { leaseMs: 200 });
    const state = taker.ask("awaitStop", { ms: 500 });
    await taker.next("awaiting-stop");
    await taker.freeze();
    // The program takes a shorter stop for none.
    const thawMs = performance.now() + 700;
    await until(async () => performance.now() > thawMs && (await admin.exists(lock)) === 0);
    taker.thaw();
    expect(await state).toMatchObject({ state: "lost", aborted: true, remainingMs: 0 });
    expect(await taker.next("lost")).toMatchObject({ error: { code: "ERR_HOLDFAST_LEASE_LOST" } });
  });

  it("ends by itself after it forgot its lock", async () => {
    const taker = await start("lock-taker", { port: server.port, lock, watchdogMs: 1_000 });
    await taker.ask("lock");
    await taker.ask("forget");
    expect(await taker.exited).toEqual({ code: 0, signal: null });
    expect(taker.errors).toBe("");
    expect(await admin.pttl(lock)).toBeLessThanOrEqual(1_000);
  });
});

describe("the counter worker", () => {
  const counter = "a counter";

  async function count(locked: boolean): Promise<number> {
    const times = locked ? 300 : 2_000;
    const workers = await Promise.all(
      [1, 2].map(() => start("counter-worker", { port: server.port, lock, counter, times, locked })),
    );
    const answers = await Promise.all(workers.map((worker) => worker.ask("count")));
    expect(answers.map(({ event }) => event)).toEqual(["counted", "counted"]);
    await Promise.all(workers.map((worker) => worker.ask("exit")));
    await Promise.all(workers.map((worker) => worker.exited));
    return 2 * times - Number(await admin.get(counter));
  }

  it("loses counts without the lock", async () => {
    expect(await count(false)).toBeGreaterThan(0);
  });

  it("loses none with it", async () => {
    expect(await count(true)).toBe(0);
  });
});
