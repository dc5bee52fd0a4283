import { afterEach, describe, expect, test } from "vitest";
import type { HoldfastOptions } from "../../src/client-options.js";
import { type DriverTraits, ServerReplyError } from "../../src/driver/driver.js";
import { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import { FakeClock, MemoryServer } from "../../src/memory/index.js";
import type { LockOptions } from "../../src/options.js";
import { hashSlot } from "../../src/protocol/hash-slot.js";
import type { ScriptCall } from "../../src/protocol/script-call.js";
import { BusyDriver, ReplicatedBusyDriver } from "../support/drivers/busy-driver.js";
import { type Watched, watched } from "../support/run/watched.js";

/** More than a command timeout, and than what is under way at once: at a millisecond for each. */
const MANY = 2_200;
const TIMEOUT_MS = 2_000;
const MOST_UNDER_WAY = 1_000;
/** The coarse timers of commands. */
const TICK_MS = 100;
/** No lease of a test ends by itself within it. */
const LONG_MS = 600_000;

const opened: { readonly clock: FakeClock; readonly holdfast: Holdfast }[] = [];
afterEach(async () => {
  for (const { clock, holdfast } of opened.splice(0)) {
    const closed = holdfast.close();
    await clock.advance(10 * TIMEOUT_MS);
    await closed;
    expect(clock.pendingTimers).toBe(0);
  }
});

/** A client that has met its server, which answers one lock each millisecond. */
async function open(options: HoldfastOptions = {}, topology?: DriverTraits["topology"]) {
  const clock = new FakeClock();
  const server = new MemoryServer({ clock });
  const Driver = options.replicas?.mode === "require" ? ReplicatedBusyDriver : BusyDriver;
  const driver = new Driver(server, clock, topology);
  const holdfast = new Holdfast(driver, { clock, commandTimeoutMs: TIMEOUT_MS, ...options });
  opened.push({ clock, holdfast });
  const busy = driver.server();
  const met = holdfast.getLock("acquaintance").using(() => undefined);
  await clock.advance(10);
  await met;
  busy.calls.length = 0;
  return { clock, server, driver, busy, holdfast };
}

type Opened = Awaited<ReturnType<typeof open>>;

function names(count: number, prefix = "k"): readonly string[] {
  return Array.from({ length: count }, (_, at) => `${prefix}:${at}`);
}

function lockAll({ holdfast }: Opened, wanted: readonly string[], options: LockOptions = {}) {
  return wanted.map((name) => watched(holdfast.getLock(name).lock({ leaseMs: LONG_MS, ...options })));
}

/** So many locks are under way and one more acquisition has to wait. */
function fill(time: Opened, count = MOST_UNDER_WAY): readonly Watched<Lease>[] {
  return lockAll(time, names(count, "filler"));
}

function states(calls: readonly Watched<Lease | null>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { outcome } of calls) {
    const state = outcome === undefined ? "pending" : "error" in outcome ? textOf(outcome.error) : "taken";
    const key = outcome !== undefined && "value" in outcome && outcome.value === null ? "null" : state;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

function textOf(error: unknown): string {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  return code ?? message;
}

/** The scripts that have named a key. */
function about(calls: readonly ScriptCall[], key: string): readonly string[] {
  return calls.filter(({ keys }) => keys.includes(key)).map(({ script }) => script.name);
}

function scripts(calls: readonly ScriptCall[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { script } of calls) counts[script.name] = (counts[script.name] ?? 0) + 1;
  return counts;
}

describe("more locks than a server can give in a command timeout", () => {
  test("are all taken, a thousand under way at once, in full groups [own-14]", async () => {
    const time = await open();
    const calls = lockAll(time, names(MANY));
    await time.clock.advance(MANY);
    expect(states(calls)).toEqual({ taken: MANY });
    expect(time.busy.mostUnderWay).toBe(MOST_UNDER_WAY);
    expect(time.busy.calls.map(({ keys }) => keys.length)).toEqual(Array(MANY / 100).fill(100));
    expect(scripts(time.busy.calls)).toEqual({ "lock-acquire": MANY / 100 });
  });

  test("are all taken as a command each where groupCommit is false, a thousand under way at once", async () => {
    const time = await open({ groupCommit: false });
    const calls = lockAll(time, names(MANY));
    await time.clock.advance(MANY);
    expect(states(calls)).toEqual({ taken: MANY });
    expect(time.busy.mostUnderWay).toBe(MOST_UNDER_WAY);
    expect(scripts(time.busy.calls)).toEqual({ "lock-acquire": MANY });
  });

  test("are all taken by tryLock, which asks once however long its turn takes to come", async () => {
    const time = await open();
    const calls = names(MANY).map((name) =>
      watched(time.holdfast.getLock(name).tryLock({ leaseMs: LONG_MS })),
    );
    await time.clock.advance(MANY);
    expect(states(calls)).toEqual({ taken: MANY });
  });

  test("are all taken where replicas are required", async () => {
    const time = await open({ replicas: { mode: "require" } });
    const calls = lockAll(time, names(MANY));
    await time.clock.advance(MANY);
    expect(states(calls)).toEqual({ taken: MANY });
    expect(time.busy.mostUnderWay).toBe(MOST_UNDER_WAY);
  });

  test("are all taken by multi locks, whose commands count as one each", async () => {
    const time = await open();
    const pairs = names(MANY / 2).map((name) =>
      time.holdfast.getMultiLock(time.holdfast.getLock(`${name}a`), time.holdfast.getLock(`${name}b`)),
    );
    const calls = pairs.map((pair) => watched(pair.lock({ leaseMs: LONG_MS })));
    await time.clock.advance(2 * MANY);
    expect(states(calls)).toEqual({ taken: MANY / 2 });
    expect(time.busy.mostUnderWay).toBe(2 * MOST_UNDER_WAY);
  });

  test("goes for permits as well", async () => {
    const time = await open();
    // An acquisition of a permit names three keys.
    time.busy.msPerKey = 1 / 3;
    const wanted = names(MANY, "semaphore");
    for (const name of wanted) time.server.command("SET", name, "1");
    const calls = wanted.map((name) => watched(time.holdfast.getSemaphore(name).tryAcquire()));
    await time.clock.advance(2 * MANY);
    expect(calls.map(({ outcome }) => outcome)).toEqual(Array(MANY).fill({ value: true }));
    expect(time.busy.calls).toHaveLength(MANY);
  });

  test("are asked for in the order of their calls, those of one key as well", async () => {
    const time = await open();
    const twice = [...names(MANY / 2), ...names(MANY / 2)];
    const calls = twice.map((name) => watched(time.holdfast.getLock(name).tryLock({ leaseMs: LONG_MS })));
    await time.clock.advance(MANY);
    expect(states(calls.slice(0, MANY / 2))).toEqual({ taken: MANY / 2 });
    expect(states(calls.slice(MANY / 2))).toEqual({ null: MANY / 2 });
    expect(time.busy.calls.flatMap(({ keys }) => keys)).toEqual(twice);
  });

  test("are not overtaken by what is asked for later, while less than a group has room", async () => {
    const time = await open({ groupCommit: false });
    const calls = lockAll(time, names(MANY));
    await time.clock.advance(50);
    const late = watched(time.holdfast.getLock(`k:${MANY - 1}`).tryLock());
    await time.clock.advance(MANY);
    expect(states(calls)).toEqual({ taken: MANY });
    expect(late.outcome).toEqual({ value: null });
  });
});

describe("what passes the queue", () => {
  test("is a release, a question and a renewal", async () => {
    const time = await open();
    const renewed = watched(time.holdfast.getLock("renewed").lock());
    const held = watched(time.holdfast.getLock("held").lock());
    await time.clock.advance(9_000);
    expect(states([renewed, held])).toEqual({ taken: 2 });
    time.busy.calls.length = 0;
    const calls = lockAll(time, names(MANY));
    const lease = held.outcome !== undefined && "value" in held.outcome ? held.outcome.value : undefined;
    const released = watched(Promise.resolve(lease?.unlock()));
    const asked = watched(time.holdfast.getLock("renewed").isLocked());
    await time.clock.advance(MOST_UNDER_WAY + 10);
    expect([released.outcome, asked.outcome]).toEqual([{ value: undefined }, { value: true }]);
    await time.clock.advance(MANY);
    expect(states(calls)).toEqual({ taken: MANY });
    const sent = time.busy.calls.map(({ script }) => script.name);
    // Before the first answer: the thousand, the release and the question. The beat of the watchdog comes a second later.
    expect(sent.slice(0, 12).toSorted()).toEqual([
      ...Array(10).fill("lock-acquire"),
      "lock-inspect",
      "lock-release",
    ]);
    expect(sent.indexOf("lock-renew")).toBeGreaterThan(0);
    expect(sent.indexOf("lock-renew")).toBeLessThan(30);
  });

  test("is a member of a red lock, which has little time to be answered", async () => {
    const time = await open();
    fill(time);
    const other = await open();
    const lock = time.holdfast.getLock("red");
    void watched(time.holdfast.getRedLock(lock, other.holdfast.getLock("red")).tryLock({ leaseMs: LONG_MS }));
    await time.clock.advance(0);
    expect(about(time.busy.calls, "red")).toEqual(["lock-acquire"]);
    await Promise.all([time.clock.advance(5_000), other.clock.advance(5_000)]);
  });
});

describe("a call in the queue", () => {
  test("whose signal aborts ends at once, and was never sent", async () => {
    const time = await open();
    fill(time);
    const leaving = new AbortController();
    const { signal } = leaving;
    const gone = [
      watched(time.holdfast.getLock("gone").lock({ signal })),
      watched(time.holdfast.getLock("gone").tryLock({ signal })),
      watched(time.holdfast.getLock("gone").lock({ threadId: 7, signal })),
      watched(time.holdfast.getFairLock("gone").lock({ signal })),
      watched(time.holdfast.getReadWriteLock("gone").writeLock().lock({ signal })),
      watched(
        time.holdfast
          .getMultiLock(time.holdfast.getLock("gone"), time.holdfast.getLock("away"))
          .lock({ signal }),
      ),
    ];
    const permits = watched(time.holdfast.getPermitExpirableSemaphore("gone").acquire({ signal }));
    await time.clock.advance(1);
    leaving.abort(new Error("left"));
    await time.clock.advance(0);
    expect(states(gone)).toEqual({ left: gone.length });
    expect(permits.outcome).toMatchObject({ error: { message: "left" } });
    await time.clock.advance(10 * TIMEOUT_MS);
    // No clean-up either: what was never sent has left nothing.
    expect(scripts(time.busy.calls)).toEqual({ "lock-acquire": 10 });
    expect(time.driver.server().calls.flatMap(({ keys }) => keys)).toHaveLength(MOST_UNDER_WAY);
  });

  test("whose waitMs runs out ends at that moment, and was never sent", async () => {
    const time = await open();
    fill(time, 2 * MOST_UNDER_WAY);
    const { holdfast, clock } = time;
    const waiting = { waitMs: 500 };
    const calls = [
      watched(holdfast.getLock("late").tryLock(waiting)),
      watched(holdfast.getLock("late:2").tryLock({ ...waiting, threadId: 7 })),
      watched(holdfast.getFairLock("late:3").tryLock(waiting)),
      watched(holdfast.getMultiLock(holdfast.getLock("late:4"), holdfast.getLock("late:5")).tryLock(waiting)),
    ];
    const thrown = watched(holdfast.getLock("late").lock(waiting));
    const permit = watched(holdfast.getSemaphore("late").tryAcquire(waiting));
    await clock.advance(499);
    expect(states([...calls, thrown])).toEqual({ pending: calls.length + 1 });
    await clock.advance(1);
    // Nothing has told them that others have what they want.
    const unsent = { error: { code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: false } };
    for (const call of [...calls, thrown, permit]) expect(call.outcome).toMatchObject(unsent);
    await clock.advance(10 * TIMEOUT_MS);
    expect(scripts(time.busy.calls)).toEqual({ "lock-acquire": 20 });
  });

  test("whose waitMs runs out leaves the message that has woken it to the next in line [own-69]", async () => {
    const time = await open({ safetyPeriodMs: LONG_MS });
    const { holdfast, clock, server, busy } = time;
    server.command("SET", "s", 0);
    const first = watched(holdfast.getSemaphore("s").tryAcquire({ waitMs: 1_000 }));
    const second = watched(holdfast.getSemaphore("s").acquire());
    await clock.advance(50);
    fill(time, 2 * MOST_UNDER_WAY);
    busy.calls.length = 0;
    server.command("INCRBY", "s", 1);
    server.command("PUBLISH", "redisson_sc:{s}", "1");
    await clock.advance(950);
    expect(first.outcome).toEqual({ value: false });
    expect(about(busy.calls, "s")).toEqual([]);
    await clock.advance(2 * TIMEOUT_MS);
    expect(second.outcome).toEqual({ value: undefined });
    expect(about(busy.calls, "s")).toEqual(["semaphore-acquire"]);
  });
  test("whose waitMs runs out leaves the message that has woken it to the next in line, for locks as well [own-69]", async () => {
    const time = await open({ safetyPeriodMs: LONG_MS });
    const { holdfast, clock, server, busy } = time;
    server.command("HSET", "s", "mode", "write", "another:1:write", 1);
    // The lock of a kind that has no queue in Redis: who stands in one goes first.
    const lock = holdfast.getReadWriteLock("s").readLock();
    const first = watched(lock.tryLock({ waitMs: 1_000 }));
    const second = watched(lock.lock());
    await clock.advance(50);
    fill(time, 2 * MOST_UNDER_WAY);
    busy.calls.length = 0;
    server.command("DEL", "s");
    server.command("PUBLISH", "redisson_rwlock:{s}", "1");
    await clock.advance(950);
    expect(first.outcome).toEqual({ value: null });
    expect(about(busy.calls, "s")).toEqual([]);
    await clock.advance(2 * TIMEOUT_MS);
    expect(second.outcome).toEqual({ value: expect.objectContaining({ state: "held" }) });
    expect(about(busy.calls, "s")).toEqual(["read-acquire"]);
  });

  test("is over when the client is closed, and was never sent", async () => {
    const time = await open();
    const calls = lockAll(time, names(MANY));
    await time.clock.advance(50);
    const closed = watched(time.holdfast.close());
    await time.clock.advance(0);
    expect(states(calls)).toEqual({ ERR_HOLDFAST_CLOSED: MANY });
    await time.clock.advance(10 * TIMEOUT_MS);
    expect(closed.outcome).toEqual({ value: undefined });
    const asked = time.busy.calls.filter(({ script }) => script.name === "lock-acquire");
    expect(asked.flatMap(({ keys }) => keys)).toEqual(names(MOST_UNDER_WAY));
    // What was under way is given back, and nothing else.
    expect(new Set(time.busy.calls.flatMap(({ keys }) => keys)).size).toBe(MOST_UNDER_WAY);
  });

  test("has a lease from when it is sent, be it shorter than the time in the queue", async () => {
    const time = await open();
    fill(time);
    const call = watched(time.holdfast.getLock("short").lock({ leaseMs: 2_000 }));
    await time.clock.advance(200);
    time.busy.msPerKey = 2;
    await time.clock.advance(MOST_UNDER_WAY - 150);
    expect(states([call])).toEqual({ taken: 1 });
    expect(about(time.busy.calls, "short")).toEqual(["lock-acquire"]);
    expect(Number(time.server.command("PTTL", "short"))).toBeGreaterThan(1_900);
  });

  test("of a thread that has the lock already goes first, and holds up no release once it has left", async () => {
    const time = await open();
    const { holdfast, clock, busy } = time;
    const outer = watched(holdfast.getLock("mine").lock({ leaseMs: LONG_MS, threadId: 7 }));
    await clock.advance(10);
    lockAll(time, names(MANY));
    const leaving = new AbortController();
    const inner = watched(
      holdfast.getLock("mine").lock({ leaseMs: LONG_MS, threadId: 7, signal: leaving.signal }),
    );
    const again = watched(holdfast.getLock("mine").lock({ leaseMs: LONG_MS, threadId: 7 }));
    await clock.advance(0);
    busy.calls.length = 0;
    leaving.abort(new Error("left"));
    await clock.advance(101);
    expect(states([outer, inner])).toEqual({ taken: 1, left: 1 });
    expect(busy.calls.slice(0, 2).flatMap(({ keys }) => keys)).toContain("mine");
    await clock.advance(2 * MOST_UNDER_WAY);
    expect(states([again])).toEqual({ taken: 1 });
    const releases = watched(
      holdfast
        .getLock("mine")
        .unlock(7)
        .then(() => holdfast.getLock("mine").unlock(7)),
    );
    await clock.advance(2 * MANY);
    expect(releases.outcome).toEqual({ value: undefined });
    expect(time.server.dump()["mine"]).toBeUndefined();
  });
});

test("of a client that stands in the queue of a lock goes first, as the lock may have been given to it", async () => {
  const time = await open();
  const { clock, server, busy } = time;
  const holdfast = new Holdfast(new BusyDriver(server, clock), { clock, commandTimeoutMs: TIMEOUT_MS });
  opened.push({ clock, holdfast });
  const other = watched(holdfast.getLock("hot").lock({ leaseMs: LONG_MS }));
  await clock.advance(10);
  const call = watched(time.holdfast.getLock("hot").lock({ leaseMs: LONG_MS }));
  await clock.advance(50);
  lockAll(time, names(MANY));
  await clock.advance(0);
  busy.calls.length = 0;
  expect(other.outcome).toHaveProperty("value");
  if (other.outcome !== undefined && "value" in other.outcome) watched(other.outcome.value.unlock());
  await clock.advance(301);
  expect(busy.calls.slice(0, 3).flatMap(({ keys }) => keys)).toContain("hot");
  await clock.advance(2 * MOST_UNDER_WAY);
  expect(states([call])).toEqual({ taken: 1 });
});

describe("while the server answers nothing", () => {
  test("all have failed within two command timeouts, and only what was sent is cleaned up behind", async () => {
    const time = await open();
    time.busy.isGone = true;
    const calls = lockAll(time, names(MANY));
    await time.clock.advance(TIMEOUT_MS - 1_000);
    const later = lockAll(time, names(MANY, "later"));
    const tries = names(10, "try").map((name) => watched(time.holdfast.getLock(name).tryLock()));
    const permits = watched(time.holdfast.getSemaphore("permits").acquire());
    await time.clock.advance(1_000 + TICK_MS);
    expect(states(calls)).toEqual({ ERR_HOLDFAST_UNAVAILABLE: MANY });
    await time.clock.advance(2 * TIMEOUT_MS - 1_000);
    expect(states([...later, ...tries])).toEqual({ ERR_HOLDFAST_UNAVAILABLE: MANY + 10 });
    expect(permits.outcome).toMatchObject({
      error: { code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: false },
    });
    const sent = new Set(
      time.busy.calls.filter(({ script }) => script.name === "lock-acquire").flatMap(({ keys }) => keys),
    );
    expect(sent.size).toBeLessThanOrEqual(2 * MOST_UNDER_WAY);
    for (const [at, call] of calls.entries()) {
      expect(call.outcome).toMatchObject({ error: { outcomeUnknown: sent.has(`k:${at}`) } });
    }
    await time.clock.advance(10 * TIMEOUT_MS);
    expect(time.busy.calls.flatMap(({ keys }) => keys).filter((key) => !sent.has(key))).toEqual([]);
  });

  test("to some, but others are answered, all others wait on", async () => {
    const time = await open();
    const calls = lockAll(time, names(2 * MANY));
    time.busy.isGone = true;
    await time.clock.advance(350);
    time.busy.isGone = false;
    await time.clock.advance(2 * MANY + TIMEOUT_MS);
    expect(states(calls)).toEqual({ ERR_HOLDFAST_UNAVAILABLE: 300, taken: 2 * MANY - 300 });
  });

  test("but refusals that may pass, all have failed within two command timeouts", async () => {
    const time = await open();
    time.busy.msPerKey = 0.01;
    time.busy.refusal = new ServerReplyError("BUSY Redis is busy running a script");
    const calls = lockAll(time, names(MANY));
    await time.clock.advance(2 * TIMEOUT_MS);
    expect(states(calls)).toEqual({ ERR_HOLDFAST_UNAVAILABLE: MANY });
  });

  test("for nearly as long, and then refuses for good, only what was sent fails", async () => {
    const time = await open();
    time.busy.freeMs = time.clock.monotonicMs() + TIMEOUT_MS - 300;
    time.busy.msPerKey = 0.05;
    time.busy.refusal = new ServerReplyError("OOM command not allowed");
    const calls = lockAll(time, names(2 * MANY));
    await time.clock.advance(TIMEOUT_MS + 20);
    expect(states(calls)["ERR_HOLDFAST_UNAVAILABLE"]).toBeGreaterThan(MOST_UNDER_WAY);
    time.busy.refusal = undefined;
    await time.clock.advance(MANY);
    expect(states(calls)["taken"]).toBeGreaterThan(MOST_UNDER_WAY);
  });
});

describe("in a cluster", () => {
  const inCluster = () => open({ pubSub: "classic", replicas: { mode: "off" } }, "cluster");

  test("each master has room of its own: one that is gone keeps nobody from another", async () => {
    const time = await inCluster();
    const { driver, clock } = time;
    driver.placeOf = (key) => (hashSlot(key) === hashSlot("{dead}") ? "dead" : "alive");
    driver.server("dead").isGone = true;
    const dead = lockAll(time, names(MANY, "{dead}"));
    const alive = lockAll(time, names(MANY, "{alive}"));
    await clock.advance(MANY + 200);
    expect(states(dead)).toEqual({ ERR_HOLDFAST_UNAVAILABLE: MANY });
    expect(states(alive)).toEqual({ taken: MANY });
    expect(driver.server("alive").mostUnderWay).toBe(MOST_UNDER_WAY);
  });

  test("what waits is sent in groups of a slot, each slot in its turn", async () => {
    const time = await inCluster();
    time.driver.placeOf = () => "one";
    const slots = names(20, "slot").map((tag) => names(200, `{${tag}}`));
    const mixed = Array.from({ length: 200 }, (_, at) => slots.map((keys) => keys[at] ?? "")).flat();
    const calls = lockAll(time, mixed);
    await time.clock.advance(mixed.length + 100);
    expect(states(calls)).toEqual({ taken: mixed.length });
    expect(time.driver.server("one").mostUnderWay).toBe(MOST_UNDER_WAY);
    expect(time.driver.server("one").calls.length).toBeLessThanOrEqual(20 * 4);
  });

  test("a slot that moves takes its queue along, in its order, and waits for room where it comes to", async () => {
    const time = await inCluster();
    const { driver, clock } = time;
    let place = "old";
    driver.placeOf = (key) => (hashSlot(key) === hashSlot("{moved}") ? place : "new");
    const first = lockAll(time, names(MANY, "{moved}"));
    const others = lockAll(time, names(MANY, "{other}"));
    await clock.advance(10);
    place = "new";
    const second = names(MANY, "{moved}").map((name) => watched(time.holdfast.getLock(name).tryLock()));
    await clock.advance(4 * MANY);
    expect(states([...first, ...others])).toEqual({ taken: 2 * MANY });
    expect(states(second)).toEqual({ null: MANY });
    const acquired = ({ calls }: { readonly calls: readonly ScriptCall[] }) =>
      calls.filter(({ script }) => script.name === "lock-acquire").flatMap(({ keys }) => keys);
    expect(acquired(driver.server("old"))).toHaveLength(MOST_UNDER_WAY);
    expect(acquired(driver.server("new"))).toHaveLength(3 * MANY - MOST_UNDER_WAY);
    expect(driver.server("new").mostUnderWay).toBe(MOST_UNDER_WAY);
  });
});
