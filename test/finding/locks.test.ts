import { beforeEach, describe, expect, test, vi } from "vitest";
import { environment } from "../../src/environment.js";
import { ClientClosedError, type FindLocksOptions, type Holdfast, type Lease } from "../../src/index.js";
import type { FakeClock } from "../../src/memory/index.js";
import type { RawReply } from "../../src/protocol/script-call.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { answerLate, loseReply } from "../support/faults/call-faults.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";
import { JVM, listed } from "../support/worlds/listed.js";

const open = fakeTime();

/** By then a client with presence has told what it had in the beginning. */
const TOLD_MS = 15_000;
const HOUR_MS = 3_600_000;

/** What a search lists when time passes for it. */
async function find(
  { clock }: Pick<ReturnType<typeof open>, "clock">,
  holdfast: Holdfast,
  options?: FindLocksOptions,
) {
  return passing(clock, listed(holdfast.locks(options)));
}

/** Lets time pass until it settles. */
async function passing<T>(clock: FakeClock, promise: Promise<T>): Promise<T> {
  const settled = watched(promise);
  while (settled.outcome === undefined) await clock.advance(1);
  return promise;
}

describe("locks() by presence", () => {
  // Beats come at whole milliseconds then, to which ages are told: no age is rounded twice.
  beforeEach(() => void vi.spyOn(environment, "random").mockReturnValue(0.5));

  test("lists the permits that a client has taken and not given back, also once it is gone [P12]", async () => {
    const world = open({ presence: { app: "billing" } });
    const { clock, holdfast: one } = world;
    const [leasing, plain] = [one.getPermitExpirableSemaphore("leasing"), one.getSemaphore("plain")];
    await leasing.trySetPermits(5);
    await plain.trySetPermits(3);
    const forever = await leasing.acquire(2);
    await leasing.acquire({ leaseMs: HOUR_MS });
    await plain.acquire(2);
    await clock.advance(TOLD_MS);
    const looks = world.connect().holdfast;
    const found = await find(world, looks);
    expect(found).toMatchObject([
      {
        name: "leasing",
        kind: "permit-expirable-semaphore",
        available: 2,
        takenCount: 3,
        permanentCount: 2,
        holders: [
          { holder: one.clientId, count: 2, renewed: null, permanent: true, permitIds: { length: 2 } },
          { holder: one.clientId, count: 1, renewed: false, permitIds: { length: 1 } },
        ],
      },
      {
        name: "plain",
        kind: "semaphore",
        available: 1,
        holders: [{ count: 2, renewed: null, permanent: true }],
      },
    ]);
    expect([...(found[0]?.holders[0]?.permitIds ?? [])].sort()).toEqual([...forever.ids].sort());
    expect(found[0]?.holders[1]).not.toHaveProperty("permanent");
    expect(found[1]).not.toHaveProperty("takenCount");
    expect(found[1]?.holders[0]).not.toHaveProperty("permitIds");
    // What presence tells is older than what is stored.
    await looks.forceRelease(await looks.inspect("leasing"), { ids: forever.ids.slice(0, 1) });
    const [after] = await find(world, looks);
    expect(after).toMatchObject({
      available: 3,
      takenCount: 2,
      permanentCount: 1,
      holders: [{ count: 1 }, {}],
    });
    await leasing.delete();
    await plain.delete();
  });

  test("lists what clients hold and wait for, with who they are, ordered by key", async () => {
    const world = open({ presence: { app: "billing", labels: { region: "eu" } } });
    const { holdfast: one, clock, connect, server } = world;
    const [other, looks] = [connect({ presence: { app: "worker" } }).holdfast, connect()];
    const b = await one.getLock("b").lock();
    const a = await one.getFencedLock("a").lock({ leaseMs: HOUR_MS });
    const reading = await one.getReadWriteLock("rw").readLock().lock();
    const writing = await other.getReadWriteLock("w").writeLock().lock();
    const waiting = watched(other.getLock("b").lock());
    await clock.advance(TOLD_MS);

    const before = looks.driver.names.length;
    const locks = await find(world, looks.holdfast);
    expect(looks.driver.names.slice(before)).toEqual([
      "server-probe",
      "presence-list",
      "presence-list",
      "lock-inspect-many",
    ]);
    expect(locks.map(({ key, kind }) => [key, kind])).toEqual([
      ["a", "fenced-lock"],
      ["b", "lock"],
      ["rw", "read-write-lock"],
      ["w", "read-write-lock"],
    ]);
    const client = { id: one.clientId, app: "billing", state: "there", labels: { region: "eu" } };
    expect(locks[0]).toMatchObject({
      name: "a",
      token: 1n,
      sources: ["presence"],
      holders: [{ holder: a.holder, count: 1, by: "holdfast", client, renewed: false, note: null }],
      waiting: [],
    });
    expect(locks[0]).not.toHaveProperty("listeners");
    expect(locks[0]?.ttlMs).toBeGreaterThan(HOUR_MS - 2 * TOLD_MS);
    expect(locks[1]).toMatchObject({
      holders: [{ holder: b.holder, by: "holdfast", client, renewed: true }],
      waiting: [{ holder: other.clientId, client: { id: other.clientId, app: "worker" } }],
    });
    const [holder] = locks[1]?.holders ?? [];
    expect(holder?.sinceMs).toBeGreaterThanOrEqual(TOLD_MS);
    expect(holder?.sinceMs).toBeLessThan(TOLD_MS + 1_000);
    expect(locks[1]?.waiting[0]?.forMs).toBeGreaterThanOrEqual(TOLD_MS);
    expect(locks[2]?.holders).toMatchObject([{ holder: reading.holder, client, renewed: true }]);
    expect(locks[3]?.holders).toMatchObject([
      { holder: `${writing.holder}`, client: { id: other.clientId }, renewed: true },
    ]);
    expect(server.dump()).toHaveProperty("w");

    await Promise.all([a, b, reading, writing].map((lease) => lease.unlock()));
    await clock.advance(1_000);
    expect(waiting.outcome).toHaveProperty("value");
    await looks.holdfast.getLock("b").forceUnlock();
    server.command("DEL", "redisson_lock_token:{a}");
  });

  test("is of the group that it is told, and else of its own", async () => {
    const world = open({ presence: { group: "billing" } });
    const { holdfast, clock, connect } = world;
    const lease = await holdfast.getLock("b").lock();
    await clock.advance(TOLD_MS);
    const looks = connect().holdfast;
    const found = async (client: typeof holdfast, group?: string) =>
      (await find(world, client, group === undefined ? {} : { group })).map(({ key }) => key);
    expect(await found(holdfast)).toEqual(["b"]);
    expect(await found(looks)).toEqual([]);
    expect(await found(looks, "billing")).toEqual(["b"]);
    expect(await found(holdfast, "other")).toEqual([]);
    await lease.unlock();
  });

  test("tells the queue of a fair lock, with the age of each wait", async () => {
    const world = open({ presence: true });
    const { holdfast, clock, connect } = world;
    const next = connect({ presence: true }).holdfast;
    const lease = await holdfast.getFairLock("f").lock();
    const [one, two] = [next.getFairLock("f").lock(), next.getFairLock("f").lock()];
    await clock.advance(TOLD_MS);
    const [fair] = await find(world, connect().holdfast);
    expect(fair).toMatchObject({ kind: "fair-lock", holders: [{ holder: lease.holder, renewed: true }] });
    expect(fair?.waiting).toHaveLength(2);
    for (const { holder, client, forMs } of fair?.waiting ?? []) {
      expect(holder).toContain(next.clientId);
      expect(client?.id).toBe(next.clientId);
      expect(forMs).toBeGreaterThanOrEqual(TOLD_MS);
    }
    await lease.unlock();
    for (const waiting of [one, two]) await (await passing(clock, waiting)).unlock();
  });

  test("tells the clients that wait for a plain lock in their order, each with its longest wait, and then its other calls", async () => {
    const world = open({ presence: true });
    const { holdfast, clock, connect } = world;
    const lease = await holdfast.getLock("a").lock();
    const [told, silent] = [connect({ presence: true }).holdfast, connect().holdfast];
    const waiting = [];
    for (const [client, note] of [
      [silent, undefined],
      [told, "first"],
      [told, "second"],
    ] as const) {
      waiting.push(watched(client.getLock("a").lock({ note })));
      await clock.advance(1_000);
    }
    await clock.advance(TOLD_MS);
    const [plain, ...others] = await find(world, connect().holdfast);
    expect(others).toEqual([]);
    expect(plain).toMatchObject({
      kind: "lock",
      holders: [{ holder: lease.holder }],
      more: { holders: 0, waiting: 0 },
      waiting: [
        { holder: silent.clientId, client: null, forMs: null, note: null },
        { holder: told.clientId, client: { id: told.clientId }, note: "first" },
        { holder: null, client: { id: told.clientId }, note: "second" },
      ],
    });
    await lease.unlock();
    for (let freed = 0; freed < waiting.length; freed += 1) {
      await clock.advance(2_000);
      for (const { outcome } of waiting) {
        if (outcome !== undefined) await (outcome as { value: Lease }).value.unlock();
      }
    }
    await clock.advance(2_000);
  });

  test("leaves out what is free by then, and what presence names but is no lock", async () => {
    const world = open({ presence: true });
    const { holdfast, clock, connect, server } = world;
    const lease = await holdfast.getLock("a").lock();
    const other = await holdfast.getLock("b").lock();
    const third = await holdfast.getLock("c").lock();
    await clock.advance(TOLD_MS);
    server.command("DEL", "a", "b", "c");
    server.command("HSET", "b", "name", "x");
    server.command("SET", "c", "7");
    expect(await find(world, connect().holdfast)).toEqual([]);
    server.command("DEL", "b", "c");
    for (const each of [lease, other, third]) await each.unlock().catch(() => undefined);
  });

  test("lists semaphores and latches as they are used", async () => {
    const world = open({ presence: true });
    const { holdfast, clock, connect, server } = world;
    const pool = holdfast.getPermitExpirableSemaphore("pool");
    await pool.trySetPermits(1);
    await holdfast.getCountDownLatch("start").trySetCount(1);
    const permits = await pool.acquire({ leaseMs: HOUR_MS });
    const opened = watched(holdfast.getCountDownLatch("start").await());
    await clock.advance(TOLD_MS);
    expect(await find(world, connect().holdfast)).toMatchObject([
      {
        key: "pool",
        kind: "permit-expirable-semaphore",
        ttlMs: -1,
        token: null,
        holders: [{ holder: holdfast.clientId, count: 1, by: "holdfast", client: { id: holdfast.clientId } }],
      },
      {
        key: "start",
        kind: "count-down-latch",
        holders: [],
        waiting: [{ client: { id: holdfast.clientId } }],
      },
    ]);
    await permits.release();
    await holdfast.getCountDownLatch("start").countDown();
    await clock.advance(1_000);
    expect(opened.outcome).toHaveProperty("value");
    server.command("DEL", "pool", "start", "{pool}:timeout");
  });

  test("names keys as the program does, where the nameMapper puts a prefix before them", async () => {
    const world = open({ presence: true, nameMapper: (name) => `app:${name}` });
    const { holdfast, clock, connect } = world;
    const lease = await holdfast.getLock("order:7").lock();
    await clock.advance(TOLD_MS);
    const prefixed = connect({ nameMapper: (name) => `app:${name}` }).holdfast;
    expect(await find(world, prefixed, { match: "order:*" })).toMatchObject([
      { key: "app:order:7", name: "order:7" },
    ]);
    expect(await find(world, connect().holdfast, { match: "app:*" })).toMatchObject([
      { name: "app:order:7" },
    ]);
    expect(await find(world, connect().holdfast, { match: "order:*" })).toEqual([]);
    await lease.unlock();
  });
});

describe("locks() by channels", () => {
  test.each([
    { held: "a", stored: ["a"] },
    { held: "{a}", stored: ["{a}"] },
  ])("lists a fair lock $held once, although $held and its twin have one queue", async ({ held, stored }) => {
    const world = open();
    const { holdfast, clock, connect } = world;
    const lease = await holdfast.getFairLock(held).lock();
    const controller = new AbortController();
    const waiting = watched(connect().holdfast.getFairLock(held).lock({ signal: controller.signal }));
    await clock.advance(1);
    const locks = await find(world, connect().holdfast, { sources: ["channels"] });
    expect(locks.map(({ key, holders }) => [key, holders.length])).toEqual(stored.map((key) => [key, 1]));
    controller.abort();
    await clock.advance(1);
    expect(waiting.outcome).toHaveProperty("error");
    await lease.unlock();
  });

  test("lists a free lock for which clients stand in a queue, once, although its twin has the same queue", async () => {
    const world = open();
    const { clock, connect, server } = world;
    server.command("HSET", "a", `${JVM}:57`, 1);
    server.command("PEXPIRE", "a", 30_000);
    const client = connect().holdfast;
    const waiting = watched(client.getLock("a").tryLock({ waitMs: 5_000 }));
    await clock.advance(100);
    // Without a message: nobody hears of it.
    server.command("DEL", "a");
    const found = await listed(connect().holdfast.locks({ sources: ["channels"] }));
    expect(found).toMatchObject([
      { name: "a", kind: "lock", ttlMs: -2, holders: [], waiting: [{ holder: client.clientId }] },
    ]);
    await clock.advance(10_000);
    await (waiting.outcome as { value: Lease | null } | undefined)?.value?.unlock();
  });

  test("lists what is waited for, of JVMs too, with the number of listeners", async () => {
    const world = open();
    const { clock, connect, server } = world;
    const { holdfast } = connect();
    server.command("HSET", "order:7", `${JVM}:57`, 1);
    server.command("PEXPIRE", "order:7", 30_000);
    server.command("HSET", "idle", `${JVM}:57`, 1);
    server.command("PEXPIRE", "idle", 30_000);
    const clients = [connect().holdfast, connect().holdfast];
    const [one, two] = clients.map((each) => watched(each.getLock("order:7").tryLock({ waitMs: 5_000 })));
    await clock.advance(100);
    expect(await find(world, holdfast, { sources: ["channels"] })).toMatchObject([
      {
        key: "order:7",
        kind: "lock",
        sources: ["channels"],
        holders: [
          {
            holder: `${JVM}:57`,
            count: 1,
            by: "jvm",
            client: null,
            sinceMs: null,
            renewed: null,
            note: null,
          },
        ],
        waiting: clients.map(({ clientId }) => ({ holder: clientId, client: null, forMs: null, note: null })),
        listeners: 2,
      },
    ]);
    await clock.advance(10_000);
    expect([one?.outcome, two?.outcome]).toEqual([{ value: null }, { value: null }]);
  });

  test("looks both ways where a channel can be read in two, and lists what is there", async () => {
    const world = open();
    const { clock, connect, server } = world;
    for (const key of ["a", "{a}"]) {
      server.command("HSET", key, `${JVM}:1`, 1);
      server.command("PEXPIRE", key, 30_000);
    }
    const waiting = watched(connect().holdfast.getLock("a").tryLock({ waitMs: 5_000 }));
    await clock.advance(100);
    const locks = await find(world, connect().holdfast, { sources: ["channels"] });
    expect(locks.map(({ key }) => key)).toEqual(["a", "{a}"]);
    await clock.advance(10_000);
    expect(waiting.outcome).toEqual({ value: null });
  });

  test("merges what several sources name, and lists each lock once", async () => {
    const world = open({ presence: true });
    const { holdfast, clock, connect } = world;
    const lease = await holdfast.getLock("a").lock();
    const other = await holdfast.getLock("b").lock();
    await clock.advance(TOLD_MS);
    const waiting = watched(connect().holdfast.getLock("a").tryLock({ waitMs: 5_000 }));
    await clock.advance(100);
    const late = await connect().holdfast.getLock("c").lock();
    const locks = await find(world, connect().holdfast, { sources: ["scan", "channels", "presence"] });
    expect(locks.map(({ key, sources, listeners }) => [key, sources, listeners])).toEqual([
      ["a", ["presence", "channels"], 1],
      ["b", ["presence"], 0],
      ["c", ["scan"], 0],
    ]);
    await clock.advance(10_000);
    expect(waiting.outcome).toEqual({ value: null });
    for (const each of [lease, other, late]) await each.unlock();
  });
});

describe("locks() by a scan", () => {
  /** So many hashes of others, and a lock each hundred of them. */
  function fill({ server }: Pick<ReturnType<typeof open>, "server">, hashes: number): void {
    for (let at = 0; at < hashes; at += 1) {
      server.command("HSET", `user:${at}`, "name", "x");
      server.command("PEXPIRE", `user:${at}`, 60_000);
      if (at % 100 > 0) continue;
      server.command("HSET", `lock:${at}`, `${JVM}:${at}`, 1);
      server.command("PEXPIRE", `lock:${at}`, 60_000);
    }
  }

  test("goes through all keys, 50 steps a second at most, and lists the locks", async () => {
    const world = open();
    fill(world, 3_000);
    const { holdfast, driver } = world;
    const locks = await find(world, holdfast, { sources: ["scan"] });
    expect(locks).toHaveLength(30);
    expect(new Set(locks.map(({ key }) => key)).size).toBe(30);
    const times = driver.timesOf("find-hashes");
    expect(times.length).toBeGreaterThanOrEqual(3_030 / 200);
    for (const [at, ms] of times.entries()) {
      if (at > 0) expect(ms - (times[at - 1] ?? 0)).toBeGreaterThanOrEqual(20);
    }
  });

  test("ends after maxKeys", async () => {
    const world = open();
    fill(world, 3_000);
    const { holdfast, driver } = world;
    const locks = await find(world, holdfast, { sources: ["scan"], maxKeys: 1_000 });
    expect(driver.timesOf("find-hashes")).toHaveLength(5);
    expect(locks.map(({ key }) => key).sort()).toEqual(
      [0, 100, 200, 300, 400, 500, 600, 700, 800, 900].map((at) => `lock:${at}`),
    );
  });

  test("is asked again with the same place when its answer is lost", async () => {
    const world = open();
    fill(world, 1_000);
    const { holdfast, driver } = world;
    void driver.next(loseReply, "find-hashes");
    expect(await find(world, holdfast, { sources: ["scan"] })).toHaveLength(10);
  });

  test("fails when the server restarts or another takes over in its midst, rather than list a part [P2-1]", async () => {
    const world = open();
    fill(world, 1_000);
    const { holdfast, driver } = world;
    const otherServer: CallFault = {
      name: "answered by another server",
      meet: async (deliver) => {
        const [, ...rest] = (await deliver()) as readonly RawReply[];
        return ["other", ...rest];
      },
    };
    void driver.next(otherServer, ({ script, args }) => script.name === "find-hashes" && args.length > 1);
    await expect(find(world, holdfast, { sources: ["scan"] })).rejects.toMatchObject({
      code: "ERR_HOLDFAST_UNAVAILABLE",
      message: expect.stringContaining("was replaced during the scan"),
    });
  });

  test("sends nothing while its server is met once the signal aborts", async () => {
    const { clock, holdfast, driver } = open();
    const met = answerLate();
    void driver.next(met, "server-probe");
    const controller = new AbortController();
    const search = expect(
      listed(holdfast.locks({ sources: ["presence"], signal: controller.signal })),
    ).rejects.toThrow("enough");
    await clock.advance(1);
    controller.abort(new Error("enough"));
    met.arrive();
    await search;
    await clock.advance(10_000);
    expect(driver.names).toEqual(["server-probe"]);
  });

  test("sends nothing any more once the loop is left, the signal aborts or the client closes", async () => {
    const world = open();
    fill(world, 3_000);
    const { clock, connect } = world;
    const ends: readonly ((holdfast: Holdfast, controller: AbortController) => void)[] = [
      () => undefined,
      (_, controller) => controller.abort(new Error("enough")),
      (holdfast) => void holdfast.close(),
    ];
    for (const [way, end] of ends.entries()) {
      const { holdfast, driver } = connect();
      const controller = new AbortController();
      let seen = 0;
      const loop = async () => {
        for await (const _ of holdfast.locks({ sources: ["scan"], signal: controller.signal })) {
          seen += 1;
          if (seen < 5) continue;
          if (way === 0) break;
          end(holdfast, controller);
        }
      };
      const search = passing(clock, loop());
      if (way === 0) await search;
      else await expect(search).rejects.toThrow(way === 1 ? "enough" : ClientClosedError);
      expect(seen).toBe(5);
      const sent = driver.names.length;
      await clock.advance(1_000);
      expect(driver.names.length).toBe(sent);
    }
  });

  test("is interrupted while it waits for an answer, or between two steps", async () => {
    const world = open();
    fill(world, 3_000);
    const { clock, holdfast, driver, connect } = world;
    const controller = new AbortController();
    void driver.next(loseReply, "find-hashes");
    const search = listed(holdfast.locks({ sources: ["scan"], signal: controller.signal }));
    const cancelled = expect(search).rejects.toThrow("enough");
    await clock.advance(100);
    controller.abort(new Error("enough"));
    await cancelled;
    const sent = driver.names.length;
    await clock.advance(10_000);
    expect(driver.names.length).toBe(sent);

    const other = connect().holdfast;
    const closed = expect(listed(other.locks({ sources: ["scan"] }))).rejects.toThrow(ClientClosedError);
    await clock.advance(30);
    void other.close();
    // Nothing has to pass for it.
    await closed;
  });
});

describe("locks() and what it is given", () => {
  test("lists no more than limit, and only what fits match, of any case of glob", async () => {
    const world = open();
    const { holdfast, server } = world;
    for (const key of ["order:1", "order:2", "order:12", "user:1", "*"]) {
      server.command("HSET", key, `${JVM}:1`, 1);
      server.command("PEXPIRE", key, 30_000);
    }
    const keys = async (options: FindLocksOptions) =>
      (await find(world, holdfast, { sources: ["scan"], ...options })).map(({ key }) => key);
    expect(await keys({ match: "order:*" })).toEqual(["order:1", "order:12", "order:2"]);
    expect(await keys({ match: "order:?" })).toEqual(["order:1", "order:2"]);
    expect(await keys({ match: "\\*" })).toEqual(["*"]);
    expect(await keys({ match: "[ou]*:1" })).toEqual(["order:1", "user:1"]);
    expect(await keys({ limit: 2 })).toEqual(["*", "order:1"]);
  });

  test("can be looped over again: each loop is a search of its own", async () => {
    const world = open();
    const { holdfast, server } = world;
    const search = holdfast.locks({ sources: ["scan"] });
    const count = async () => (await passing(world.clock, listed(search))).length;
    expect(await count()).toBe(0);
    server.command("HSET", "a", `${JVM}:1`, 1);
    server.command("PEXPIRE", "a", 30_000);
    expect(await count()).toBe(1);
  });

  test("refuses bad input at once, and sends nothing", () => {
    const { holdfast, driver } = open();
    const bad: readonly (readonly [unknown, RegExp, typeof TypeError | typeof RangeError])[] = [
      [null, /options must be an object/, TypeError],
      [{ source: ["scan"] }, /there is no option "source" of locks.*Did you mean sources/, TypeError],
      [
        { sources: "scan" },
        /sources must be a list of "presence", "channels", "scan", got "scan"/,
        TypeError,
      ],
      [{ sources: [] }, /sources must name at least one/, RangeError],
      [{ sources: ["keys"] }, /there is no source "keys"; the sources of locks are /, TypeError],
      [{ group: "a b" }, /group must be 1 to 64 letters/, RangeError],
      [{ match: /order/ }, /match must be a string/, TypeError],
      [{ match: "*".repeat(1_001) }, /match must have at most 1000 characters, got 1001/, RangeError],
      [{ limit: 0 }, /limit must be a whole number from 1/, RangeError],
      [{ limit: "7" }, /limit must be a number/, TypeError],
      [{ maxKeys: 0.5 }, /maxKeys must be a whole number/, RangeError],
      [{ signal: {} }, /signal must be an AbortSignal/, TypeError],
    ];
    for (const [options, message, type] of bad) {
      const act = () => holdfast.locks(options as FindLocksOptions);
      expect(act).toThrow(type);
      expect(act).toThrow(message);
    }
    expect(driver.names).toEqual([]);
  });

  test("rejects with the reason of a signal that has aborted, and once the client is closed", async () => {
    const { clock, holdfast, driver, connect } = open();
    const reason = new Error("too late");
    await expect(listed(holdfast.locks({ signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
    expect(driver.names).toEqual([]);
    const closed = connect().holdfast;
    const before = closed.locks();
    await passing(clock, closed.close());
    await expect(listed(before)).rejects.toThrow(ClientClosedError);
    expect(() => closed.locks()).toThrow(ClientClosedError);
  });
});
