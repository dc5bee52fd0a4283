import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Driver, DriverTraits } from "../../src/driver/driver.js";
import { ServerReplyError } from "../../src/driver/driver.js";
import { environment, replaceEnvironment } from "../../src/environment.js";
import { events, type PresenceFailedEvent } from "../../src/events.js";
import { type ClientPresence, Holdfast, type HoldfastOptions } from "../../src/index.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";
import type { RawReply, ScriptCall } from "../../src/protocol/script-call.js";
import { forgetNothing } from "../support/run/garbage.js";

const CLIENTS = "holdfast_clients:{default}";
const EVERY_MS = 5_000;
/** The wheel that beats are on is as coarse as that. */
const TICK_MS = 100;
const HOUR_MS = 3_600_000;

let clock: FakeClock;
let server: MemoryServer;
let clients: Holdfast[];
let failures: PresenceFailedEvent[];
let putBack: () => void;
const onFailure = (event: PresenceFailedEvent) => void failures.push(event);

forgetNothing();
beforeEach(() => {
  clock = new FakeClock();
  server = new MemoryServer({ clock });
  clients = [];
  failures = [];
  putBack = replaceEnvironment({ ...environment, random: () => 0 });
  events.presenceFailed.subscribe(onFailure);
});
afterEach(async () => {
  events.presenceFailed.unsubscribe(onFailure);
  await Promise.all(clients.map((each) => each.close({ releaseHeld: true })));
  putBack();
  expect(clock.pendingTimers).toBe(0);
});

function client(
  options: HoldfastOptions = { presence: true },
  driver: Driver = memoryDriver(server),
): Holdfast {
  const made = new Holdfast(driver, { clock, ...options });
  clients.push(made);
  return made;
}

const keyOf = ({ clientId }: Holdfast) => `holdfast_client:{default}:${clientId}`;
const hashOf = (of: Holdfast) => server.dump()[keyOf(of)]?.value as Readonly<Record<string, string>>;
const beats = (count: number) => clock.advance(count * EVERY_MS + TICK_MS);

async function seen(of: Holdfast, by = client({})): Promise<ClientPresence | undefined> {
  return (await by.fleet()).clients.find(({ id }) => id === of.clientId);
}

/** The embedded server, with a say in what becomes of each script call. */
class Meddler implements Driver {
  readonly traits: DriverTraits;
  readonly resets = 0;
  readonly calls: { readonly script: string; readonly args: readonly string[] }[] = [];
  meddle: (script: string, run: () => Promise<RawReply>) => Promise<RawReply> = (_, run) => run();
  readonly #own = memoryDriver(server);

  constructor() {
    this.traits = this.#own.traits;
  }

  run(call: ScriptCall): Promise<RawReply> {
    this.calls.push({ script: call.script.name, args: call.args });
    return this.meddle(call.script.name, () => this.#own.run(call, { givenUp: false }));
  }

  subscribe: Driver["subscribe"] = (...args) => this.#own.subscribe(...args);
  close = () => this.#own.close();

  times(script: string): number {
    return this.calls.filter((call) => call.script === script).length;
  }
}

describe("a client with presence", () => {
  test("sends nothing before its first beat, and then exactly two keys, with TTLs of an hour", async () => {
    const one = client({ presence: { app: "billing", labels: { pod: "b-1" } } });
    await clock.advance(EVERY_MS - 1);
    expect(server.dump()).toEqual({});
    await clock.advance(TICK_MS);
    const { [CLIENTS]: set, [keyOf(one)]: hash, ...others } = server.dump();
    expect(others).toEqual({});
    const atMs = Number(hashOf(one)["at"]);
    const agoMs = clock.wallMs() - atMs;
    expect(set).toMatchObject({ ttlMs: HOUR_MS + 3 * EVERY_MS - agoMs });
    expect(JSON.stringify(set?.value)).toContain(String(atMs + 3 * EVERY_MS));
    expect(hash?.ttlMs).toBe(HOUR_MS + 3 * EVERY_MS - agoMs);
    const { meta = "", live = "", ...fields } = hashOf(one);
    expect(fields).toEqual({
      v: "1",
      at: String(atMs),
      liveAt: String(atMs),
      every: String(EVERY_MS),
      beat: "1",
    });
    expect(JSON.parse(meta)).toMatchObject({ app: "billing", pid: process.pid, labels: { pod: "b-1" } });
    const none = { holds: [], waits: [], stats: [], lost: [] };
    expect(JSON.parse(live)).toEqual({ acquired: 0, ...none, more: { holds: 0, waits: 0, stats: 0 } });
  });

  test("is read with what it has held and waits for since before the last beat, and counts what it acquired", async () => {
    const [one, other] = [client(), client()];
    const lease = await one.getLock("order:7").lock({ maxHoldMs: HOUR_MS });
    const waiting = other.getLock("order:7").lock();
    const permits = one.getPermitExpirableSemaphore("permits");
    await permits.trySetPermits(3);
    await permits.acquire(2, { leaseMs: HOUR_MS });
    await beats(1);
    expect(await seen(one)).toMatchObject({ acquired: 2, more: { holds: 0 } });
    await (await one.getLock("order:8").lock()).unlock();
    await beats(1);
    expect(await seen(one)).toMatchObject({
      acquired: 1,
      holds: [
        { key: "order:7", kind: "lock", count: 1, renewed: true, capped: true, handedOff: false, note: null },
        { key: "permits", kind: "permit-expirable-semaphore", count: 2, renewed: false, threadId: 0 },
      ],
      waits: [],
    });
    expect((await seen(one))?.holds[0]?.ageMs).toBe(2 * EVERY_MS + 2 * TICK_MS);
    expect(lease.holder).toBe(`${one.clientId}:${(await seen(one))?.holds[0]?.threadId}`);
    expect(await seen(other)).toMatchObject({ holds: [], waits: [{ key: "order:7", kind: "lock" }] });
    await lease.unlock();
    await (await waiting).unlock();
  });

  test("tells which leased permits are whose, and which never return by themselves [P12]", async () => {
    const one = client();
    const permits = one.getPermitExpirableSemaphore("permits");
    await permits.trySetPermits(200);
    const forever = await permits.acquire(2, { note: "import" });
    await permits.acquire(100, { leaseMs: HOUR_MS });
    await beats(1);
    const [endless, leased] = (await seen(one))?.holds ?? [];
    const starts = forever.ids.map((id) => id.slice(0, 16));
    expect(endless).toMatchObject({ count: 2, permanent: true, note: "import", ids: starts });
    expect(leased).toMatchObject({ count: 100, permanent: false, note: null, ids: { length: 64 } });
    await permits.release(forever.ids.slice(0, 1));
    await beats(1);
    expect((await seen(one))?.holds[0]).toMatchObject({ count: 1, ids: starts.slice(1) });
    await permits.delete();
  });

  test("tells how many permits of a plain semaphore were taken and not given back, by whichever call [P12]", async () => {
    const one = client();
    const plain = one.getSemaphore("plain");
    await plain.trySetPermits(9);
    const told = async () => {
      await beats(1);
      return (await seen(one))?.holds.map(({ kind, count, permanent, ids }) => ({
        kind,
        count,
        permanent,
        ids,
      }));
    };
    const of = (count: number) => [{ kind: "semaphore", count, permanent: true, ids: [] }];
    await plain.acquire(2);
    await plain.tryAcquire(3);
    expect(await told()).toEqual(of(5));
    await plain.release();
    await plain.releaseIfExists(2);
    await plain.using(1, async () => expect(await told()).toEqual(of(3)));
    expect(await told()).toEqual(of(2));
    await plain.drainPermits();
    expect(await told()).toEqual(of(9));
    // Permits of others, or new ones.
    await plain.release(20);
    expect(await told()).toEqual([]);
    await plain.acquire(1);
    await plain.delete();
    expect(await told()).toEqual([]);
  });

  test("tells the notes of those that wait", async () => {
    const [one, other] = [client({}), client()];
    const lease = await one.getLock("a").lock();
    const semaphore = one.getPermitExpirableSemaphore("b");
    await semaphore.trySetPermits(0);
    const waiting = [
      other.getLock("a").lock({ note: "nightly" }),
      other.getMultiLock(other.getLock("a"), other.getLock("c")).lock({ note: "both" }),
    ];
    const permits = other.getPermitExpirableSemaphore("b").tryAcquire(1, { note: "mail", waitMs: HOUR_MS });
    await beats(1);
    const waits = (await seen(other))?.waits.map(({ key, note }) => `${key}: ${note}`);
    expect(waits?.sort()).toEqual(["a: both", "a: nightly", "b: mail", "c: both"]);
    await lease.unlock();
    for (const each of waiting) await (await each).unlock();
    await semaphore.addPermits(1);
    await permits;
    await semaphore.delete();
  });

  test("tells waits for the members of a multi lock, and for a latch", async () => {
    const [one, other] = [client({}), client()];
    const lease = await one.getLock("a").lock();
    await one.getCountDownLatch("latch").trySetCount(1);
    const waiting = other.getMultiLock(other.getLock("a"), other.getFairLock("b")).lock();
    const latch = other.getCountDownLatch("latch").await();
    await beats(2);
    expect((await seen(other))?.waits.map(({ key, kind }) => [key, kind])).toEqual([
      ["a", "lock"],
      ["b", "fair-lock"],
      ["latch", "count-down-latch"],
    ]);
    await one.getCountDownLatch("latch").countDown();
    await lease.unlock();
    await latch;
    await (await waiting).unlock();
  });

  test("counts waits, refusals and losses by name, and each once", async () => {
    const [one, other] = [client(), client({})];
    const lease = await other.getLock("a").lock();
    expect(await one.getLock("a").tryLock()).toBeNull();
    const waiting = one.getLock("a").lock();
    await clock.advance(400);
    await lease.unlock();
    const own = await waiting;
    await other.getLock("a").forceUnlock();
    await expect(own.unlock()).rejects.toThrow();
    await clock.advance(EVERY_MS);
    const told = { key: "a", kind: "lock", waited: 1, notAcquired: 1, losses: 1 };
    expect(await seen(one)).toMatchObject({ stats: [told], lost: [{ key: "a", reason: "stolen" }] });
    const [stats] = (await seen(one))?.stats ?? [];
    expect(stats?.waitMsSum).toBe(400);
    expect(stats?.waitMsMax).toBe(400);
    await beats(1);
    expect(await seen(one)).toMatchObject({ stats: [], lost: [{ key: "a", reason: "stolen" }] });
  });

  test("counts again in the next beat what it could not tell", async () => {
    const driver = new Meddler();
    const one = client({ presence: true }, driver);
    const other = client({});
    await other.getLock("a").lock();
    expect(await one.getLock("a").tryLock()).toBeNull();
    driver.meddle = (script, run) =>
      script === "presence-tell" ? Promise.reject(new Error("cut off")) : run();
    await beats(1);
    expect(failures).toMatchObject([{ clientId: one.clientId, group: "default", final: false }]);
    driver.meddle = (_, run) => run();
    await beats(1);
    expect(await seen(one)).toMatchObject({ stats: [{ key: "a", notAcquired: 1 }] });
  });

  test("sends what it has only when it has changed, and ages go on", async () => {
    const driver = new Meddler();
    const one = client({ presence: true }, driver);
    const lease = await one.getLock("a").lock();
    await beats(5);
    const told = driver.calls.filter(({ script }) => script === "presence-tell");
    const [meta, live] = [6, 7].map((at) => told.map(({ args }) => (args[at] ?? "") !== ""));
    expect(meta).toEqual([true, false, false, false, false]);
    // With the first beat it is told how many locks were acquired, with the second one that there were none.
    expect(live).toEqual([true, true, false, false, false]);
    const [hold] = (await seen(one))?.holds ?? [];
    expect(hold?.ageMs).toBe(5 * EVERY_MS + TICK_MS);
    await lease.unlock();
  });

  test("tells all of itself again when the server has lost it", async () => {
    const one = client();
    await one.getLock("a").lock();
    await beats(2);
    server.flush();
    expect(await seen(one)).toBeUndefined();
    await beats(2);
    expect(await seen(one)).toMatchObject({ pid: process.pid, holds: [{ key: "a" }] });
  });

  test("tells what redact makes of keys, and no host where that is not wanted", async () => {
    const redact = (key: string) => key.replace(/\d+/g, "#");
    const one = client({ presence: { redact, host: false } });
    await one.getLock("order:7").lock();
    await beats(2);
    expect(await seen(one)).toMatchObject({ host: null, holds: [{ key: "order:#" }] });
    expect(JSON.stringify(hashOf(one))).not.toContain("order:7");
  });

  test("fails beats, and no lock, while redact throws", async () => {
    const redact = () => {
      throw new Error("no such name");
    };
    const one = client({ presence: { redact } });
    const lease = await one.getLock("order:7").lock();
    await beats(3);
    expect(failures.map(({ error }) => (error as Error).message)).toEqual([
      "no such name",
      "no such name",
      "no such name",
    ]);
    await lease.unlock();
  });

  test.each([
    ["a promise that rejects", () => Promise.reject(new Error("no such name")), "a Promise"],
    ["a promise", () => Promise.resolve("order"), "a Promise"],
    ["nothing", () => undefined, "undefined"],
    ["an empty text", () => "", '""'],
  ])(
    "fails beats, ends no process and leaves no hold out where redact answers %s [own-108]",
    async (_, answer, shown) => {
      const unhandled: unknown[] = [];
      const note = (error: unknown) => void unhandled.push(error);
      process.on("unhandledRejection", note);
      try {
        const one = client({ presence: { redact: answer as unknown as () => string } });
        const lease = await one.getLock("order:7").lock();
        await beats(3);
        await new Promise((resolve) => setImmediate(resolve));
        const message = `presence.redact must return a non-empty string, not a promise, got ${shown}`;
        expect(failures.map(({ error }) => (error as Error).message)).toEqual([message, message, message]);
        expect(await seen(one)).toBeUndefined();
        await lease.unlock();
      } finally {
        process.off("unhandledRejection", note);
      }
      expect(unhandled).toEqual([]);
    },
  );

  test("declares no hold lost by looking at it", async () => {
    const one = client();
    const lease = await one.getLock("a").lock({ leaseMs: 7_000 });
    await beats(2);
    expect(await seen(one)).toMatchObject({ holds: [], lost: [] });
    expect(lease.signal.aborted).toBe(true);
  });

  test("holds 200 at most, the oldest first, and counts the rest", async () => {
    const one = client();
    for (let nth = 0; nth < 230; nth += 1) await one.getLock(`order:${nth}`).lock({ leaseMs: HOUR_MS });
    await beats(2);
    const { holds, more } = (await seen(one)) ?? {};
    expect(holds?.length).toBe(200);
    expect(holds?.[0]?.key).toBe("order:0");
    expect(more).toMatchObject({ holds: 30 });
  });

  test("takes 16 KiB at most, however long the names are", async () => {
    const one = client();
    const long = "ü".repeat(1_000);
    for (let nth = 0; nth < 20; nth += 1) await one.getLock(`${nth}${long}`).lock({ leaseMs: HOUR_MS });
    await one.getLock("x".repeat(20_000)).lock({ leaseMs: HOUR_MS });
    await beats(2);
    expect(Buffer.byteLength(hashOf(one)["live"] ?? "")).toBeLessThanOrEqual(16_384);
    const { holds = [], more } = (await seen(one)) ?? {};
    expect(holds.length).toBeGreaterThanOrEqual(7);
    expect(holds.length + (more?.holds ?? 0)).toBe(21);
  });
});

describe("a late or repeated beat", () => {
  test("changes nothing after a later one, and nothing after its deadline [P1]", async () => {
    const driver = new Meddler();
    const one = client({ presence: { everyMs: 1_000 } }, driver);
    let copy = () => Promise.resolve<RawReply>(null);
    driver.meddle = (script, run) => {
      if (script === "presence-tell" && driver.times("presence-tell") === 1) copy = run;
      return run();
    };
    await clock.advance(1_100);
    await one.getLock("a").lock();
    // As the first answer tells that it is alone, and the beat before it was three seconds long.
    await clock.advance(3_000);
    const before = hashOf(one);
    expect((await seen(one))?.holds).toMatchObject([{ key: "a", kind: "lock" }]);
    expect(await copy()).toEqual([expect.any(Number), "late", 2]);
    expect(hashOf(one)).toEqual(before);
    server.flush();
    await clock.advance(60_000);
    server.flush();
    expect(await copy()).toEqual([expect.any(Number), "late", 1]);
    expect(server.dump()).toEqual({});
  });
});

describe("a beat that the server does not let through", () => {
  test("is the last one for a user without the right to it, told once, and locks go on", async () => {
    const driver = new Meddler();
    const one = client({ presence: true }, driver);
    driver.meddle = (script, run) =>
      script === "presence-tell"
        ? Promise.reject(new ServerReplyError("NOPERM No permissions to access a key"))
        : run();
    await beats(10);
    expect(driver.times("presence-tell")).toBe(1);
    expect(failures).toMatchObject([
      { clientId: one.clientId, server: driver.traits.server, group: "default", final: true },
    ]);
    await (await one.getLock("a").lock()).unlock();
    await one.close();
    expect(driver.times("presence-leave")).toBe(0);
  });

  test("is tried again with the next one otherwise", async () => {
    const driver = new Meddler();
    client({ presence: true }, driver);
    driver.meddle = (script, run) =>
      script === "presence-tell" ? Promise.reject(new ServerReplyError("OOM full")) : run();
    await beats(3);
    expect(driver.times("presence-tell")).toBe(3);
    expect(failures.map(({ final }) => final)).toEqual([false, false, false]);
  });
});

describe("close", () => {
  test("takes away what the client has told, twice as well, and others see it no more", async () => {
    const one = client();
    await beats(1);
    expect(await seen(one)).toBeDefined();
    await Promise.all([one.close(), one.close()]);
    expect(server.dump()).toEqual({});
    await beats(3);
    expect(server.dump()).toEqual({});
  });

  test("sends nothing for a client that has told nothing yet", async () => {
    const driver = new Meddler();
    await client({ presence: true }, driver).close();
    expect(driver.calls).toEqual([]);
  });

  test("is not held up by a beat that is not answered", async () => {
    const driver = new Meddler();
    const one = client({ presence: true, commandTimeoutMs: 60_000 }, driver);
    await one.getLock("a").isLocked();
    driver.meddle = (script, run) => (script === "presence-tell" ? new Promise(() => undefined) : run());
    await beats(1);
    expect(driver.times("presence-tell")).toBe(1);
    await one.close();
    expect(driver.times("presence-leave")).toBe(1);
  });

  test("is not held up by a server that it could not meet for its first beat", async () => {
    const driver = new Meddler();
    driver.meddle = () => new Promise(() => undefined);
    const one = client({ presence: true, commandTimeoutMs: 60_000 }, driver);
    await beats(1);
    expect(driver.times("server-probe")).toBe(1);
    await one.close();
    expect(driver.times("presence-leave")).toBe(0);
  });

  test("takes one command timeout where the slot of presence is silent, and no longer", async () => {
    const driver = new Meddler();
    const commandTimeoutMs = 2_000;
    const one = client({ presence: true, commandTimeoutMs }, driver);
    await beats(1);
    driver.meddle = (script, run) => (script.startsWith("presence-") ? new Promise(() => undefined) : run());
    let isClosed = false;
    const closing = one.close().then(() => {
      isClosed = true;
    });
    await clock.advance(commandTimeoutMs - 1);
    expect(isClosed).toBe(false);
    await clock.advance(2);
    expect(isClosed).toBe(true);
    await closing;
  });
});

describe("how often is told", () => {
  test("300 clients write less than a hundred times in each second, from the first on", async () => {
    putBack();
    putBack = replaceEnvironment(environment);
    const driver = new Meddler();
    for (let nth = 0; nth < 300; nth += 1) client({ presence: true }, driver);
    const bySecond: number[] = [];
    for (let second = 0; second < 60; second += 1) {
      const before = driver.times("presence-tell");
      await clock.advance(1_000);
      bySecond.push(driver.times("presence-tell") - before);
    }
    expect(Math.max(...bySecond)).toBeLessThan(100);
    expect((await client({}).fleet()).clients.length).toBe(300);
    // All in a beat and a fifth.
    expect(bySecond.reduce((a, b) => a + b, 0)).toBeGreaterThan((300 * 50) / 6);
  });

  test("in a group of a thousand each waits longer, for those who are there and not for the dead of the last hour", async () => {
    const dead = 5_000;
    for (let nth = 0; nth < dead; nth += 1)
      server.command("ZADD", CLIENTS, clock.wallMs() - 1, `dead ${nth}`);
    for (let nth = 0; nth < 999; nth += 1) {
      server.command("ZADD", CLIENTS, clock.wallMs() + HOUR_MS, `there ${nth}`);
    }
    const one = client();
    await beats(1);
    // Those that were there before it.
    expect(hashOf(one)["every"]).toBe("9990");
    await beats(2);
    expect(hashOf(one)).toMatchObject({ every: "10000", beat: "2" });
    await clock.advance(10_000);
    expect((await seen(one))?.state).toBe("there");
    expect(hashOf(one)["beat"]).toBe("3");
  });

  test("those that have been gone for an hour are forgotten by whichever client tells next", async () => {
    const dead = client();
    await beats(1);
    const { [CLIENTS]: set, ...keys } = server.dump();
    expect([set, ...Object.keys(keys)].length).toBe(2);
    // The process is killed: nothing takes its keys away.
    await dead.close();
    server.command("ZADD", CLIENTS, clock.wallMs(), dead.clientId);
    await clock.advance(HOUR_MS - 2 * EVERY_MS);
    const one = client();
    await beats(1);
    expect(server.command("ZCARD", CLIENTS)).toBe(2);
    await beats(2);
    expect(server.command("ZRANGE", CLIENTS, 0, -1)).toEqual([one.clientId]);
  });
});

describe("times", () => {
  test("are the server's: a client whose clock is a year off changes nothing", async () => {
    const YEAR_MS = 365 * 24 * HOUR_MS;
    const off = { ...clock, wallMs: () => clock.wallMs() - YEAR_MS };
    const skewed = {
      ...off,
      monotonicMs: () => clock.monotonicMs() + 12_345,
      schedule: (delayMs: number, callback: () => void) => clock.schedule(delayMs, callback),
    };
    const madeMs = clock.wallMs();
    const [one, right] = [client({ presence: true, clock: skewed }), client()];
    await one.getLock("a").lock();
    await beats(2);
    const [told, usual] = [await seen(one), await seen(right)];
    expect(told).toMatchObject({
      state: "there",
      startedMs: madeMs,
      holds: [{ ageMs: 2 * EVERY_MS + TICK_MS }],
    });
    expect(told?.lastSeenMs).toBe(usual?.lastSeenMs);
    const { clients: asSeenByOne } = await one.fleet();
    expect(asSeenByOne.map(({ state }) => state)).toEqual(["there", "there"]);
  });
});
